# split: -m 6
# widths: 80->40 40->20 10->n
# note: the block stands in a method; sizes in class attributes; model and data on self
import numpy as np
from tensorflow import keras


class Trainer:
    hidden = 80
    lr = 1e-3

    def __init__(self, x, y):
        self.x, self.y = x, y
        self.model = None

    def run(self):
        #SKYNNET:BEGIN_MULTICLASS_ACC
        self.model = keras.Sequential()
        self.model.add(keras.layers.Dense(80, activation="relu"))
        self.model.add(keras.layers.Dense(40, activation="relu"))
        self.model.add(keras.layers.Dense(10, activation="softmax"))
        self.model.compile(keras.optimizers.Adam(self.lr), "sparse_categorical_crossentropy", metrics=["accuracy"])
        self.model.fit(self.x, self.y, epochs=1)
        predicted = self.model.predict(self.x)
        #SKYNNET:END
        return predicted


if __name__ == "__main__":
    print(Trainer(np.random.rand(100, 6), np.random.randint(0, 10, 100)).run().shape)
