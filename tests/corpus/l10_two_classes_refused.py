# split: -m 6
# refused: BEGIN_MULTICLASS|Dense(2 : two classes under MULTICLASS; the hint says BINARYCLASS
import numpy as np
from keras import Sequential
from keras.layers import Dense

x, y = np.random.rand(50, 4), np.random.randint(0, 2, 50)
#SKYNNET:BEGIN_MULTICLASS
model = Sequential([Dense(16, activation='relu'), Dense(2, activation='softmax')])
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x, y)
#SKYNNET:END
