# split: -m 4
# refused: model.fit : a new network is trained in each round of a loop
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

#SKYNNET:BEGIN_MULTICLASS_ACC
def make():
    model = keras.Sequential([layers.Dense(64, 'relu'), layers.Dense(10, 'softmax')])
    model.compile('adam', 'sparse_categorical_crossentropy')
    return model
for lr in (1e-3, 1e-4):
    model = make()
    model.fit(x, y)
#SKYNNET:END
