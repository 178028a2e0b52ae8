# split: -m 6
# widths: 32->16 10->n
# note: batches from a PyDataset of the user's; a submodel sees its rows of each batch
import math

import keras
import numpy as np
from keras.layers import Dense, Flatten, Input


class Batches(keras.utils.PyDataset):
    def __init__(self, x, y, size=25, **kwargs):
        super().__init__(**kwargs)
        self.x, self.y, self.size = x, y, size

    def __len__(self):
        return math.ceil(len(self.x) / self.size)

    def __getitem__(self, index):
        part = slice(index * self.size, (index + 1) * self.size)
        return self.x[part] / 255, self.y[part]


x = np.random.randint(0, 256, (200, 8, 8))
y = np.random.randint(0, 10, 200)

#SKYNNET:BEGIN_MULTICLASS_ACC
train_gen = Batches(x[:150], y[:150])
val_gen = Batches(x[150:], y[150:], workers=1)
model = keras.Sequential([Input((8, 8)), Flatten(), Dense(32, "relu"), Dense(10, "softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train_gen, validation_data=val_gen, epochs=2)
print(model.evaluate(val_gen))
#SKYNNET:END
