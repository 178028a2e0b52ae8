# split: -m 6
# widths: 32->16 10->n
# note: an endless Python generator with steps_per_epoch
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential
from keras.utils import to_categorical

x, y = np.random.rand(200, 12), np.random.randint(0, 10, 200)


def batches(x, y, size):
    while True:
        rows = np.random.choice(len(x), size)
        yield x[rows], to_categorical(y[rows], 10)


#SKYNNET:BEGIN_MULTICLASS
model = Sequential([Input(shape=(12,)), Dense(32, activation='relu'), Dense(10, activation='softmax')])
model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['accuracy'])
model.fit(batches(x, y, 20), steps_per_epoch=10, epochs=2, validation_data=(x, to_categorical(y)), verbose=2)
#SKYNNET:END
