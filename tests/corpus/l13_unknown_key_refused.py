# split: -m 6
# refused: clases=10 : an unknown key; the hint says classes
import numpy as np
import keras

x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)
#SKYNNET:BEGIN_MULTICLASS clases=10
model = keras.Sequential([keras.layers.Dense(64, "relu"), keras.layers.Dense(10, "softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, y)
#SKYNNET:END
