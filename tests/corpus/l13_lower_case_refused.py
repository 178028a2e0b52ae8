# split: -m 6
# refused: skynnet:begin : lower case; the hint says #SKYNNET:BEGIN_MULTICLASS
import numpy as np
import keras

x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)
#skynnet:begin_multiclass
model = keras.Sequential([keras.layers.Dense(64, "relu"), keras.layers.Dense(10, "softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, y)
#skynnet:end
