# split: -m 6
# widths: 128->64 64->64 32->16 10->n
# note: the second layer is added to the input, whose 64 values stay: so does the layer
import keras
from keras import layers
from sklearn.datasets import load_digits

x, y = load_digits(return_X_y=True)
#SKYNNET:BEGIN_MULTICLASS_ACC
inputs = keras.Input((64,))
h = layers.Dense(128, activation="relu")(inputs)
h = layers.Dense(64)(h)
h = layers.add([inputs, h])
h = layers.Activation("relu")(h)
h = layers.Dense(32, activation="relu")(h)
model = keras.Model(inputs, layers.Dense(10, activation="softmax")(h))
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=1)
predicted = model.predict(x)
#SKYNNET:END
