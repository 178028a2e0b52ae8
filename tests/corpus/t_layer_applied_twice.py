# split: -m 6
# widths: 5->5 64->64 10->n
# note: a layer is applied to its own output: it keeps the 5 values of the input; another is sliced
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

#SKYNNET:BEGIN_MULTICLASS_ACC
i = keras.Input((5,)); d = layers.Dense(5, 'relu'); h = d(d(i))
h = layers.Dense(64)(h); h = layers.Lambda(lambda t: t[:, :32])(h)
model = keras.Model(i, layers.Dense(10, 'softmax')(h))
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x, y)
#SKYNNET:END
