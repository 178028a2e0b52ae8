# split: -m 6
# widths: 64->32 10->n 30->15 1->1
# note: the second network (binary) learns from the first one's predictions: it gets the composed ones
import numpy as np
import keras
from keras.layers import Dense, Input

x = np.random.rand(200, 20)
y = np.random.randint(0, 10, 200)
odd = y % 2

#SKYNNET:BEGIN_MULTICLASS
first = keras.Sequential([Input((20,)), Dense(64, 'relu'), Dense(10, 'softmax')])
first.compile('adam', 'sparse_categorical_crossentropy')
first.fit(x, y, epochs=1)
probabilities = first.predict(x)
#SKYNNET:END
#SKYNNET:BEGIN_BINARY_ACC
second = keras.Sequential([Input((10,)), Dense(30, 'relu'), Dense(1, 'sigmoid')])
second.compile('adam', 'binary_crossentropy', metrics=['accuracy'])
second.fit(probabilities, odd, epochs=1)
#SKYNNET:END
