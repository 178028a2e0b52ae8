"""Two networks in one script, under the same names: wines told apart, and blood values estimated."""

import os

import keras
import numpy as np
from keras.layers import Dense, Input
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

seed = int(os.environ.get("SEED", "0"))
epochs = int(os.environ.get("EPOCHS", "60"))
keras.utils.set_random_seed(seed)

# --- 1. which of three growers does a wine come from? ---
X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
x_train, x_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)

#SKYNNET:BEGIN_MULTICLASS_ACC
model = keras.Sequential([Input(shape=(13,)), Dense(32, activation="relu"), Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=epochs, batch_size=16, verbose=0)
predicted = model.predict(x_test, verbose=0)
#SKYNNET:END

wine_accuracy = np.mean(predicted.argmax(axis=1) == y_test)

# --- 2. six blood serum values from age, sex, body mass index, blood pressure and the progression of diabetes ---
data, progression = load_diabetes(return_X_y=True, scaled=False)
X = StandardScaler().fit_transform(np.column_stack([data[:, :4], progression]))
Y = StandardScaler().fit_transform(data[:, 4:])
x_train, x_test, y_train, y_test = train_test_split(X, Y, test_size=0.3, random_state=seed)

#SKYNNET:BEGIN_REGRESSION_LOSS
inputs = Input(shape=(5,))
x = Dense(48, activation="relu")(inputs)
x = Dense(24, activation="relu")(x)
outputs = Dense(6)(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer="adam", loss="mse")
model.fit(x_train, y_train, epochs=epochs, batch_size=16, verbose=0)
predicted = model.predict(x_test, verbose=0)
#SKYNNET:END

print(f"wine: test accuracy {wine_accuracy:.4f}")
print(f"diabetes: mean squared error {np.mean((predicted - y_test) ** 2):.4f} (1 would be guessing the mean)")
