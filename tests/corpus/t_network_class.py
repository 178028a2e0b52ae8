# split: -m 6
# widths: 96->48 48->24 10->n
# note: a class of the script builds the network; sizes are its attributes
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

class Net:
    def __init__(self, hidden=64, out=10):
        self.hidden, self.out = hidden, out
    def build(self):
        i = keras.Input((5,))
        h = self._dense(i, self.hidden)
        h = self._dense(h, self.hidden // 2)
        return keras.Model(i, layers.Dense(self.out, 'softmax')(h))
    @staticmethod
    def _dense(h, n):
        return layers.Activation('relu')(layers.Dense(n)(h))
#SKYNNET:BEGIN_MULTICLASS
model = Net(96).build()
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x, y)
#SKYNNET:END
