"""The network of cnn_digits.py in the dialect of the original Skynnet: reserved names say what is reduced."""

import os

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

seed = int(os.environ.get("SEED", "0"))
keras.utils.set_random_seed(seed)

digits = load_digits()
images = digits.images.reshape(-1, 8, 8, 1).astype("float32") / 16
train_x, test_x, train_y, test_y = train_test_split(images, digits.target, test_size=0.25, random_state=seed)

#SKYNNET:BEGIN_MULTICLASS_ACC_LOSS
_DATA_TRAIN_X = train_x[:1200]
_DATA_TRAIN_Y = train_y[:1200]
_DATA_VAL_X = train_x[1200:]
_DATA_VAL_Y = train_y[1200:]
_DATA_TEST_X = test_x
_DATA_TEST_Y = test_y

_FILTERS_1 = 32
_NEURON_1 = 128
_NEURON_2 = 10
_EPOCHS = int(os.environ.get("EPOCHS", "15"))

model = Sequential()
model.add(Input(shape=(8, 8, 1)))
model.add(Conv2D(_FILTERS_1, (3, 3), padding="same", activation="relu"))
model.add(MaxPooling2D((2, 2)))
model.add(Conv2D(2 * _FILTERS_1, (3, 3), padding="same", activation="relu"))
model.add(MaxPooling2D((2, 2)))
model.add(Flatten())
model.add(Dense(_NEURON_1, activation="relu"))
model.add(Dropout(0.5))
model.add(Dense(_NEURON_2, activation="softmax"))

model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(
    _DATA_TRAIN_X,
    _DATA_TRAIN_Y,
    validation_data=(_DATA_VAL_X, _DATA_VAL_Y),
    epochs=_EPOCHS,
    batch_size=32,
    verbose=2,
)

predicted = model.predict(_DATA_TEST_X)
#SKYNNET:END

correct = np.argmax(predicted, axis=1) == test_y
print(f"{correct.sum()} of {len(correct)} digits read correctly, test accuracy {correct.mean():.4f}")


def main():
    pass


if __name__ == "__main__":
    main()
