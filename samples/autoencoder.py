"""A dense autoencoder for 8x8 patches of two photographs: 64 grey values through a bottleneck of 24."""

import os

import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Model
from sklearn.datasets import load_sample_images
from sklearn.feature_extraction.image import extract_patches_2d

SEED = int(os.environ.get("SEED", "0"))
EPOCHS = int(os.environ.get("EPOCHS", "12"))
PATCH = 8
keras.utils.set_random_seed(SEED)

photographs = [image.mean(axis=2) / 255 for image in load_sample_images().images]
patches = np.concatenate(
    [extract_patches_2d(image, (PATCH, PATCH), max_patches=4000, random_state=SEED) for image in photographs]
)
patches = patches.reshape(len(patches), PATCH * PATCH).astype("float32")
np.random.default_rng(SEED).shuffle(patches)
train, test = patches[:7000], patches[7000:]

#SKYNNET:BEGIN_REGRESSION_LOSS
input_patch = Input(shape=(PATCH * PATCH,))
encoded = Dense(128, activation="relu")(input_patch)
encoded = Dense(24, activation="relu", name="code")(encoded)
decoded = Dense(128, activation="relu")(encoded)
decoded = Dense(PATCH * PATCH, activation="sigmoid")(decoded)

autoencoder = Model(input_patch, decoded)
autoencoder.compile(optimizer="adam", loss="mse")
autoencoder.fit(train, train, epochs=EPOCHS, batch_size=64, validation_data=(test, test), verbose=2)

restored = autoencoder.predict(test, verbose=0)
#SKYNNET:END

error = np.mean((restored - test) ** 2)
print(f"mean squared error {error:.5f}, signal to noise {10 * np.log10(1 / error):.1f} dB")
