# split: -m 2
# widths: 32->16 16->8 1->1
# note: one encoder, applied to both inputs
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

a = np.random.rand(30, 8)
#SKYNNET:BEGIN_BINARY
shared = keras.Sequential([layers.Input((8,)), layers.Dense(32, 'relu'), layers.Dense(16)])
l, r = keras.Input((8,)), keras.Input((8,))
d = layers.Subtract()([shared(l), shared(r)])
d = keras.ops.abs(d)
model = keras.Model([l, r], layers.Dense(1, 'sigmoid')(d))
model.compile('adam', 'binary_crossentropy')
model.fit([a, a], np.random.randint(0, 2, 30))
#SKYNNET:END
