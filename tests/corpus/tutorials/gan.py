# split: -m 4
# refused: SKN203 #SKYNNET:BEGIN_REGRESSION
import numpy as np
from keras.models import Sequential
from keras.layers import Dense
#SKYNNET:BEGIN_REGRESSION
g = Sequential([Dense(128, activation='relu', input_dim=100), Dense(784, activation='tanh')])
d = Sequential([Dense(128, activation='relu', input_dim=784), Dense(1, activation='sigmoid')])
d.compile('adam', 'binary_crossentropy')
gan = Sequential([g, d])
gan.compile('adam', 'binary_crossentropy')
for e in range(10):
    d.train_on_batch(np.random.rand(10, 784), np.ones(10))
    gan.train_on_batch(np.random.rand(10, 100), np.ones(10))
#SKYNNET:END
