"""Seven or not seven: a binary problem with two softmax outputs."""

import os

import keras
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import classification_report
from sklearn.model_selection import train_test_split

seed = int(os.environ.get("SEED", "0"))
keras.utils.set_random_seed(seed)

digits = load_digits()
is_seven = (digits.target == 7).astype(int)
x_train, x_test, y_train, y_test = train_test_split(
    digits.data / 16, is_seven, test_size=0.3, stratify=is_seven, random_state=seed
)

#SKYNNET:BEGIN_BINARYCLASS_ACC_LOSS
model = keras.models.Sequential()
model.add(keras.layers.Input(shape=(64,)))
model.add(keras.layers.Dense(32, activation="relu"))
model.add(keras.layers.Dense(16, activation="relu"))
model.add(keras.layers.Dense(2, activation="softmax"))

model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=40, verbose=0)
predicted = model.predict(x_test, verbose=0)
#SKYNNET:END

answers = np.argmax(predicted, axis=-1)
print(f"test accuracy {np.mean(answers == y_test):.4f}")
print(classification_report(y_test, answers, target_names=["not seven", "seven"], digits=3))
