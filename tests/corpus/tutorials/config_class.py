# split: -m 6
# widths: 64->32 128->64 48->24 64->32 10->5
import numpy as np
import keras


class Config:
    UNITS = 64
    CLASSES = 10
    FILTERS = {"first": 32, "second": 64}


cfg = {"units": 128, "net": {"hidden": [96, 48]}, "epochs": 4}
x, y = np.random.rand(99, 20), np.random.randint(0, 10, 99)
#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential([
    keras.Input((20,)),
    keras.layers.Dense(Config.UNITS, activation="relu"),
    keras.layers.Dense(cfg["units"], activation="relu"),
    keras.layers.Dense(cfg["net"]["hidden"][1], activation="relu"),
    keras.layers.Dense(Config.FILTERS["second"], activation="relu"),
    keras.layers.Dense(Config.CLASSES, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, y, epochs=cfg["epochs"])
#SKYNNET:END
