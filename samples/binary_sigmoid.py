"""Breast cancer: benign or malignant, with a single sigmoid output."""

import os

import keras
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = int(os.environ.get("SEED", "0"))
EPOCHS = int(os.environ.get("EPOCHS", "40"))
keras.utils.set_random_seed(SEED)

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=SEED)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

#SKYNNET:BEGIN_BINARYCLASS_ACC_LOSS
model = keras.Sequential(name="tumour")
model.add(layers.Input(shape=(30,)))
model.add(layers.Dense(32, activation="relu"))
model.add(layers.Dropout(0.2))
model.add(layers.Dense(16, activation="relu"))
model.add(layers.Dense(1, activation="sigmoid"))

model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=EPOCHS, batch_size=16, validation_data=(X_test, y_test), verbose=0)

loss, accuracy = model.evaluate(X_test, y_test, verbose=0)
y_score = model.predict(X_test, verbose=0).ravel()
#SKYNNET:END

print(f"test accuracy {accuracy:.4f}, loss {loss:.4f}, area under the ROC curve {roc_auc_score(y_test, y_score):.4f}")
