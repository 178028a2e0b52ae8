"""AlexNet for the 102 classes of Caltech 101, with arithmetic on its widths.

The pictures do not come with a package. IMAGES=16 python alexnet.py trains on that many random ones, which shows
that the network fits into memory and how long a step takes; without IMAGES, it is built only.
"""

import os

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(int(os.environ.get("SEED", "0")))
IMAGES = int(os.environ.get("IMAGES", "0"))

CLASSES = 102
WIDTH = 384

rng = np.random.default_rng(0)
x_train = rng.random((IMAGES, 227, 227, 3), dtype="float32")
y_train = np.arange(IMAGES) % CLASSES

#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential(
    [
        layers.Input(shape=(227, 227, 3)),
        layers.Conv2D(WIDTH // 4, 11, strides=4, activation="relu"),  # 96
        layers.MaxPooling2D(3, strides=2),
        layers.Conv2D(int(WIDTH / 1.5), 5, padding="same", activation="relu"),  # 256
        layers.MaxPooling2D(3, strides=2),
        layers.Conv2D(WIDTH, 3, padding="same", activation="relu"),
        layers.Conv2D(WIDTH, 3, padding="same", activation="relu"),
        layers.Conv2D(2 * WIDTH // 3, 3, padding="same", activation="relu"),  # 256
        layers.MaxPooling2D(3, strides=2),
        layers.Flatten(),
        layers.Dense(2**12, activation="relu"),
        layers.Dropout(0.5),
        layers.Dense(4 * 1024, activation="relu"),
        layers.Dropout(0.5),
        layers.Dense(CLASSES, activation="softmax"),
    ],
    name="alexnet",
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
print(f"{model.count_params():,} parameters")
if IMAGES:
    model.fit(x_train, y_train, batch_size=32, epochs=1)
#SKYNNET:END
