"""Train once, load afterwards: the second start of this script finds the saved network."""

import os

import keras
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

MODEL_FILE = "wine_v1.0.keras"

seed = int(os.environ.get("SEED", "0"))
keras.utils.set_random_seed(seed)

wine = load_wine()
x_train, x_test, y_train, y_test = train_test_split(
    wine.data, wine.target, test_size=0.3, stratify=wine.target, random_state=seed
)
scaler = StandardScaler()
scaler.fit(x_train)
x_train = scaler.transform(x_train)
x_test = scaler.transform(x_test)

#SKYNNET:BEGIN_MULTICLASS_ACC_LOSS
if os.path.exists(MODEL_FILE):
    print("loading", MODEL_FILE)
    model = keras.models.load_model(MODEL_FILE)
else:
    model = keras.Sequential(
        [
            keras.Input(shape=(x_train.shape[1],)),
            keras.layers.Dense(32, activation="relu"),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x_train, y_train, epochs=100, batch_size=16, verbose=0)
    model.save(MODEL_FILE)

predicted = model.predict(x_test, verbose=0)
#SKYNNET:END

correct = predicted.argmax(axis=1) == y_test
print(f"{correct.sum()} of {len(correct)} wines recognised, test accuracy {correct.mean():.4f}")
