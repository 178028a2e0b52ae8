# split: -m 2
# widths: none
# note: two submodels cannot be had (C(G,2) is 1, 3, 6, ...): one is taken, the original, and that is told
import numpy as np
import keras

x = np.random.rand(100, 20, 20, 1)
y = np.random.randint(0, 1623, 100)
#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential([
    keras.Input((20, 20, 1)),
    keras.layers.Conv2D(64, 3, strides=2),
    keras.layers.GlobalAveragePooling2D(),
    keras.layers.Dense(1623, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, y)
#SKYNNET:END
