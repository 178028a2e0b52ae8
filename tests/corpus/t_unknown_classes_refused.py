# split: -m 6
# refused: Dense(n_classes|BEGIN_MULTICLASS : the number of classes is not a constant; the hint says --classes
import numpy as np
import keras

x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)
n_classes = len(np.unique(y))
#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential([keras.layers.Dense(64, "relu"), keras.layers.Dense(n_classes, "softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, y)
#SKYNNET:END
