# split: -m 6
# refused: BEGIN_BINARY : a block inside a block
import numpy as np
import keras

x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)
#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential([keras.layers.Dense(64, "relu"), keras.layers.Dense(10, "softmax")])
#SKYNNET:BEGIN_BINARY
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, y)
#SKYNNET:END
#SKYNNET:END
