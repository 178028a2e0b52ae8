# split: -m 6
# refused: Conv2D(12|BEGIN_MULTICLASS|model.fit : a class for each pixel
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

x, masks = np.random.rand(16, 32, 32, 3), np.random.randint(0, 12, (16, 32, 32))
#SKYNNET:BEGIN_MULTICLASS
inputs = keras.Input((32, 32, 3))
h = layers.Conv2D(32, 3, padding="same", activation="relu")(inputs)
h = layers.Conv2D(32, 3, padding="same", activation="relu")(h)
outputs = layers.Conv2D(12, 1, activation="softmax")(h)
model = keras.Model(inputs, outputs)
model.compile("rmsprop", "sparse_categorical_crossentropy")
model.fit(x, masks, epochs=1)
#SKYNNET:END
