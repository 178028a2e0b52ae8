# split: -m 6
# widths: 64->32 32->16 16->8 10->n
# note: one name stands for three sizes, and is printed
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

n = 64
#SKYNNET:BEGIN_MULTICLASS_ACC
model = keras.Sequential()
model.add(layers.Dense(n, 'relu'))
n = n // 2
model.add(layers.Dense(n, 'relu'))
n //= 2
model.add(layers.Dense(n, 'relu'))
print('last width', n)
model.add(layers.Dense(10, 'softmax'))
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x, y)
#SKYNNET:END
