# split: -m 6
# widths: 64->32 32->16 10->n
# note: the output layer is the last round of a loop over a list of sizes
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

#SKYNNET:BEGIN_MULTICLASS
dims = [5, 64, 32, 10]
model = keras.Sequential()
for i in range(1, len(dims)):
    last = i == len(dims) - 1
    model.add(layers.Dense(dims[i], activation='softmax' if last else 'relu'))
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x, y)
#SKYNNET:END
