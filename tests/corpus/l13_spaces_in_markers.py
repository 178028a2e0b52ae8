# split: -m 6
# widths: 64->32 expr
# note: '#  SKYNNET:BEGIN' and trailing blanks are tolerated; the block is under the main guard, with keys
import numpy as np
import keras

SAMPLE = "#SKYNNET:BEGIN_MULTICLASS"

if __name__ == "__main__":
    x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)
    n = len(np.unique(y))
    #  SKYNNET:BEGIN_MULTICLASS_ACC_LOSS classes=10 compose=product epochs=keep   
    model = keras.Sequential([keras.layers.Dense(64, "relu"), keras.layers.Dense(n, "softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, epochs=3)
    predicted = model.predict(x)
    # SKYNNET:END   
    print(predicted.shape)
