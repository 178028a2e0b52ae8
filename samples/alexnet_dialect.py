"""AlexNet in the dialect of the original Skynnet: all filters hang on one base width.

As alexnet.py, it trains on random pictures only where the environment variable IMAGES says how many.
"""

import os

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential

keras.utils.set_random_seed(int(os.environ.get("SEED", "0")))
IMAGES = int(os.environ.get("IMAGES", "0"))

rng = np.random.default_rng(0)

#SKYNNET:BEGIN_MULTICLASS
_DATA_TRAIN_X = rng.random((IMAGES, 227, 227, 3), dtype="float32")
_DATA_TRAIN_Y = np.arange(IMAGES) % 102

_FILTERS_1 = 384
_NEURON_1 = 4096
_NEURON_2 = 4096
_NEURON_3 = 102
_EPOCHS = 1

model = Sequential()
model.add(Input(shape=(227, 227, 3)))
model.add(Conv2D(int(_FILTERS_1 / 4), (11, 11), strides=(4, 4), activation="relu"))
model.add(MaxPooling2D(pool_size=(3, 3), strides=(2, 2)))
model.add(Conv2D(int(_FILTERS_1 / 1.5), (5, 5), padding="same", activation="relu"))
model.add(MaxPooling2D(pool_size=(3, 3), strides=(2, 2)))
model.add(Conv2D(_FILTERS_1, (3, 3), padding="same", activation="relu"))
model.add(Conv2D(_FILTERS_1, (3, 3), padding="same", activation="relu"))
model.add(Conv2D(int(_FILTERS_1 / 1.5), (3, 3), padding="same", activation="relu"))
model.add(MaxPooling2D(pool_size=(3, 3), strides=(2, 2)))
model.add(Flatten())
model.add(Dense(_NEURON_1, activation="relu"))
model.add(Dropout(0.5))
model.add(Dense(_NEURON_2, activation="relu"))
model.add(Dropout(0.5))
model.add(Dense(_NEURON_3, activation="softmax"))

model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
print(f"{model.count_params():,} parameters")
if IMAGES:
    model.fit(_DATA_TRAIN_X, _DATA_TRAIN_Y, batch_size=32, epochs=_EPOCHS)
#SKYNNET:END
