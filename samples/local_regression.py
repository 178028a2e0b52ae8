"""Noise removed from pieces of photographs: every part of the result depends on the same part of the input."""

import os

import keras
import numpy as np
from keras import layers
from skimage import data
from sklearn.feature_extraction.image import extract_patches_2d

SEED = int(os.environ.get("SEED", "0"))
SIZE = 32
keras.utils.set_random_seed(SEED)

photographs = [data.camera() / 255, data.coins() / 255, data.page() / 255]
clean = np.concatenate([extract_patches_2d(p, (SIZE, SIZE), max_patches=300, random_state=SEED) for p in photographs])
clean = clean[..., np.newaxis].astype("float32")
rng = np.random.default_rng(SEED)
clean = clean[rng.permutation(len(clean))]
noisy = np.clip(clean + rng.normal(0, 0.1, clean.shape), 0, 1).astype("float32")

#SKYNNET:BEGIN_LOCAL_REGRESSION_LOSS
inputs = keras.Input(shape=(32, 32, 1))
x = layers.Conv2D(24, 3, padding="same", activation="relu")(inputs)
x = layers.MaxPooling2D(2)(x)
x = layers.Conv2D(48, 3, padding="same", activation="relu")(x)
x = layers.UpSampling2D(2)(x)
x = layers.Conv2D(24, 3, padding="same", activation="relu")(x)
outputs = layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x)
denoiser = keras.Model(inputs, outputs, name="denoiser")

denoiser.compile(optimizer="adam", loss="mse")
denoiser.fit(noisy[:750], clean[:750], epochs=10, batch_size=16, validation_data=(noisy[750:], clean[750:]), verbose=2)
restored = denoiser.predict(noisy[750:], verbose=0)
#SKYNNET:END

before = np.mean((noisy[750:] - clean[750:]) ** 2)
after = np.mean((restored - clean[750:]) ** 2)
print(f"mean squared error {before:.5f} with the noise, {after:.5f} without it")
