# split: -m 6
# refused: SKYNNET:BEGIN|SKYNNET:END : the block begins in a function and ends outside of it
import numpy as np
import keras


def train(x, y):
    #SKYNNET:BEGIN_MULTICLASS
    model = keras.Sequential([keras.layers.Dense(64, "relu"), keras.layers.Dense(10, "softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(x, y)
    return model


model = train(np.random.rand(100, 5), np.random.randint(0, 10, 100))
#SKYNNET:END
