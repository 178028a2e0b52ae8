# split: -m 6
# widths: 64->32 32->16 10->n
# note: layers under an if, a star in a list, a walrus; a helper that returns a layer
import os
import numpy as np
from keras import Sequential
from keras.layers import BatchNormalization, Dense, Dropout, Input

DEEP = bool(os.environ.get("DEEP"))
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)


def hidden(units):
    return Dense(units, activation="relu")


#SKYNNET:BEGIN_MULTICLASS
extra = [BatchNormalization(), Dropout(0.1)]
model = Sequential([Input((5,)), hidden(64), *extra])
if DEEP:
    model.add(Dense(32, activation="relu"))
model.add(Dense(10, activation="softmax"))
model.compile("adam", "sparse_categorical_crossentropy")
if (history := model.fit(x, y)).history["loss"]:
    print("trained")
#SKYNNET:END
