# split: -m 45
# widths: 100->34 6->2 2->2 64->64 10->n
# note: F = 5, capped at 3 by the layer of 6 units; the layer of 2 stays and does not count; KEEP keeps 64
import numpy as np
import keras
from keras.layers import Dense

x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)
#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential()
model.add(Dense(100, "relu"))
model.add(Dense(6, "relu"))
model.add(Dense(2, "linear"))
model.add(Dense(64, "relu"))  #SKYNNET:KEEP
model.add(Dense(10, "softmax"))
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, y)
#SKYNNET:END
