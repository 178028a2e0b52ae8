"""Handwritten digits with a small convolutional network: a Sequential list and one-hot labels."""

import os

import keras
from keras.layers import Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential
from keras.utils import to_categorical
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

seed = int(os.environ.get("SEED", "0"))
keras.utils.set_random_seed(seed)

num_classes = 10
input_shape = (8, 8, 1)

#SKYNNET:BEGIN_MULTICLASS_ACC_LOSS
# the data, scaled to [0, 1] and with a channel axis
digits = load_digits()
images = digits.images.reshape((-1, *input_shape)).astype("float32") / 16
(x_train, x_test, y_train, y_test) = train_test_split(images, digits.target, test_size=0.25, random_state=seed)
y_train = to_categorical(y_train, num_classes)
y_test = to_categorical(y_test, num_classes)

# the network
model = Sequential(
    [
        Input(shape=input_shape),
        Conv2D(32, kernel_size=(3, 3), padding="same", activation="relu"),
        MaxPooling2D(pool_size=(2, 2)),
        Conv2D(64, kernel_size=(3, 3), padding="same", activation="relu"),
        MaxPooling2D(pool_size=(2, 2)),
        Flatten(),
        Dense(128, activation="relu"),
        Dropout(0.5),
        Dense(num_classes, activation="softmax"),
    ]
)
model.summary()
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])

# training and test
model.fit(x_train, y_train, batch_size=32, epochs=15, validation_split=0.1, verbose=2)
score = model.evaluate(x_test, y_test, verbose=0)
#SKYNNET:END

print("Test loss:", round(score[0], 4))
print("Test accuracy:", round(score[1], 4))
