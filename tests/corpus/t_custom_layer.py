# split: -m 6
# widths: 64->32 48->24 10->n
# note: a layer class of the user's with add_weight; its own units argument is no rule's, and stays
import keras
import numpy as np
from keras import layers, ops


class Scale(layers.Layer):
    """Multiplies each feature with a learned factor."""

    def build(self, input_shape):
        self.factor = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="factor")

    def call(self, inputs):
        return ops.multiply(inputs, self.factor)


x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)
#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential(
    [layers.Dense(64, "relu"), Scale(), layers.Dense(48, "relu"), Scale(name="second"), layers.Dense(10, "softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, y, epochs=1)
print(model.predict(x).shape)
#SKYNNET:END
