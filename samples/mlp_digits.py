"""Handwritten digits with a multilayer perceptron: the functional way."""

import os

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

SEED = int(os.environ.get("SEED", "0"))
EPOCHS = int(os.environ.get("EPOCHS", "60"))
keras.utils.set_random_seed(SEED)

digits = load_digits()
x_train, x_test, y_train, y_test = train_test_split(
    (digits.data / 16).astype("float32"), digits.target, test_size=0.25, stratify=digits.target, random_state=SEED
)
print(f"{len(x_train)} digits to learn from, {len(x_test)} to test with")

#SKYNNET:BEGIN_MULTICLASS_ACC_LOSS
inputs = keras.Input(shape=(64,), name="pixels")
x = layers.Dense(128, activation="relu", name="hidden_1")(inputs)
x = layers.Dropout(0.2)(x)
x = layers.Dense(64, activation="relu", name="hidden_2")(x)
outputs = layers.Dense(10, activation="softmax", name="digit")(x)
model = keras.Model(inputs, outputs, name="mlp")

model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, epochs=EPOCHS, batch_size=32, validation_data=(x_test, y_test), verbose=0)

predicted = model.predict(x_test, verbose=0)
loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
#SKYNNET:END

print(f"test accuracy {accuracy:.4f}, loss {loss:.4f}")
answers = predicted.argmax(axis=1)
wrong = np.flatnonzero(answers != y_test)
print(f"{len(wrong)} digits read wrongly, the first of them:")
for i in wrong[:5]:
    print(f"  a {y_test[i]} read as {answers[i]} with {predicted[i].max():.0%}")
print(confusion_matrix(y_test, answers))
