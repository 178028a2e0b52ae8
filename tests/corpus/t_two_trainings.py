# split: -m 6
# widths: 64->32 10->n
# note: two trainings of one model, the second goes on at initial_epoch
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

#SKYNNET:BEGIN_MULTICLASS_ACC
model = keras.Sequential([layers.Dense(64, 'relu'), layers.Dense(10, 'softmax')])
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x, y, epochs=2)
model.optimizer.learning_rate = 1e-4
h2 = model.fit(x, y, epochs=4, initial_epoch=2)
#SKYNNET:END
