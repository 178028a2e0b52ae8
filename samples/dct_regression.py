"""From a 64x64 grey image to its 32x32 low frequencies: a network learns the discrete cosine transform."""

import os

import keras
import numpy as np
from scipy.fft import dctn
from sklearn.datasets import load_sample_images

# The paper's network (Figure 7) has the full widths: DIVIDE = 1, 500 images, 25 epochs, batches of 2. On two
# cores that takes about an hour; with these values it stays under a minute.
DIVIDE = 4
IMAGES = 400
EPOCHS = 8
BATCH = 8

SEED = int(os.environ.get("SEED", "0"))
keras.utils.set_random_seed(SEED)


def crops(count, size, seed):
    """Square pieces of the sample photographs, grey, between -0.5 and 0.5."""
    rng = np.random.default_rng(seed)
    photographs = [image.mean(axis=2) / 255 - 0.5 for image in load_sample_images().images]
    pieces = []
    for i in range(count):
        photograph = photographs[i % len(photographs)]
        top = rng.integers(photograph.shape[0] - size)
        left = rng.integers(photograph.shape[1] - size)
        pieces.append(photograph[top : top + size, left : left + size])
    return np.stack(pieces).astype("float32")


def low_frequencies(images, size):
    """The first size x size coefficients of each image's DCT, flattened and scaled into (0, 1)."""
    coefficients = dctn(images, axes=(1, 2), norm="ortho")[:, :size, :size]
    return coefficients.reshape(len(images), size * size) / 100 + 0.5


#SKYNNET:BEGIN_REGRESSION_LOSS
x_train = crops(IMAGES, 64, SEED)[..., np.newaxis]
y_train = low_frequencies(x_train[..., 0], 32)
x_test = crops(100, 64, SEED + 1000)[..., np.newaxis]
y_test = low_frequencies(x_test[..., 0], 32)

model = keras.Sequential(
    [
        keras.layers.Input(shape=(64, 64, 1)),
        keras.layers.Conv2D(64 // DIVIDE, (16, 16), padding="same", activation="relu"),
        keras.layers.MaxPooling2D((2, 2)),
        keras.layers.Conv2D(64 // DIVIDE, (4, 4), padding="same", activation="relu"),
        keras.layers.MaxPooling2D((2, 2)),
        keras.layers.Flatten(),
        keras.layers.Dense(4096 // DIVIDE, activation="relu"),
        keras.layers.Dense(1024, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="mse")
model.fit(x_train, y_train, batch_size=BATCH, epochs=EPOCHS, verbose=2)

predicted = model.predict(x_test, verbose=0)
#SKYNNET:END

print(f"mean squared error {np.mean((predicted - y_test) ** 2):.3e}")
print(f"of always answering 0.5: {np.mean((0.5 - y_test) ** 2):.3e}")
