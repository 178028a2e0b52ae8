# split: -m 6
# widths: 64->32 10->n
# note: one epoch at a time, with an evaluation after each
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

#SKYNNET:BEGIN_MULTICLASS_ACC
model = keras.Sequential([layers.Dense(64, 'relu'), layers.Dense(10, 'softmax')])
model.compile('adam', 'sparse_categorical_crossentropy')
for epoch in range(3):
    model.fit(x, y, epochs=1)
    print(model.evaluate(x, y))
#SKYNNET:END
