# split: -m 2
# widths: 30->15 30->15 1->1
import numpy as np
import keras
from keras import layers
x_wide, x_deep, y = np.random.rand(99, 5), np.random.rand(99, 6), np.random.randint(0, 2, 99)
#SKYNNET:BEGIN_BINARYCLASS
class WideAndDeepModel(keras.Model):
    def __init__(self, units=30, activation="relu", **kwargs):
        super().__init__(**kwargs)
        self.norm_layer_wide = keras.layers.Normalization()
        self.norm_layer_deep = keras.layers.Normalization()
        self.hidden1 = keras.layers.Dense(units, activation=activation)
        self.hidden2 = keras.layers.Dense(units, activation=activation)
        self.main_output = keras.layers.Dense(1, activation="sigmoid")

    def call(self, inputs):
        input_wide, input_deep = inputs
        norm_wide = self.norm_layer_wide(input_wide)
        norm_deep = self.norm_layer_deep(input_deep)
        hidden1 = self.hidden1(norm_deep)
        hidden2 = self.hidden2(hidden1)
        concat = keras.layers.concatenate([norm_wide, hidden2])
        return self.main_output(concat)


model = WideAndDeepModel(30, activation="relu", name="my_cool_model")
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
model.norm_layer_wide.adapt(x_wide)
model.norm_layer_deep.adapt(x_deep)
history = model.fit((x_wide, x_deep), y, epochs=10)
#SKYNNET:END
