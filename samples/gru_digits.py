"""A digit is read row by row, as a sequence of eight rows, by a recurrent network."""

import os

import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow.keras import layers

tf.keras.utils.set_random_seed(int(os.environ.get("SEED", "0")))

X, y = load_digits(return_X_y=True)
X = X.reshape(-1, 8, 8).astype("float32") / 16.0
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42, stratify=y)

#SKYNNET:BEGIN_MULTICLASS_ACC_LOSS
model = tf.keras.Sequential()
model.add(layers.Input(shape=(8, 8)))
model.add(layers.GRU(64, return_sequences=True))
model.add(layers.GRU(64))
model.add(layers.BatchNormalization())
model.add(layers.Dense(32, activation="relu"))
model.add(layers.Dense(10))

model.compile(
    optimizer=tf.keras.optimizers.Adam(learning_rate=2e-3),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(X_train, y_train, validation_data=(X_test, y_test), epochs=20, batch_size=32, verbose=2)

test_loss, test_acc = model.evaluate(X_test, y_test, verbose=2)
probabilities = tf.nn.softmax(model.predict(X_test)).numpy()
#SKYNNET:END

print("\nTest accuracy:", round(test_acc, 4), "loss:", round(test_loss, 4))
sure = probabilities.max(axis=1) > 0.9
right = (probabilities.argmax(axis=1) == y_test)[sure]
print(f"surer than 90% of {sure.mean():.1%} of the digits, and right in {right.mean():.1%} of these")
