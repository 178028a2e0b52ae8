# split: -m 6
# widths: 64->32 64->32 64->32 10->n
# note: layers from a list comprehension, and a layer kept in a variable before it is called
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

x, y = np.random.rand(100, 16), np.random.randint(0, 10, (100,))

#SKYNNET:BEGIN_MULTICLASS
inputs = keras.Input((16,))
hidden = [layers.Dense(64, activation="relu") for _ in range(3)]
head = layers.Dense(10, activation="softmax")
h = inputs
for layer in hidden:
    h = layer(h)
model = keras.Model(inputs, head(h))
model.compile("adam", loss="sparse_categorical_crossentropy")
model.fit(x, y)
#SKYNNET:END
