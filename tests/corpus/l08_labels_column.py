# split: -m 6
# widths: 48->24 10->n
# note: labels of shape (n, 1), whole floats, as the CIFAR loader gives them (and then float)
import numpy as np
import keras

x_train = np.random.rand(300, 12)
y_train = np.random.randint(0, 10, (300, 1)).astype("float32")

#SKYNNET:BEGIN_MULTICLASS_ACC
model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(48, "relu"), keras.layers.Dense(10, "softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, validation_split=0.2, epochs=1)
#SKYNNET:END
print(model.predict(x_train).shape)
