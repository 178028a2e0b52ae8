# split: -m 6
# refused: Dense(4|BEGIN_REGRESSION : four outputs do not make six parts; the hint says -m 4 or less
import numpy as np
from keras import Sequential, layers

X, Y = np.random.rand(100, 8), np.random.rand(100, 4)
#SKYNNET:BEGIN_REGRESSION
model = Sequential([layers.Dense(60, 'relu'), layers.Dense(4)])
model.compile('adam', 'mae')
model.fit(X, Y)
#SKYNNET:END
