# split: -m 6
# widths: 32->16 32->16 32->16 64->32 64->32 64->32 10->n
# note: residual blocks with a projection where the width changes; one builder, called with constants
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

x_train = np.random.rand(32, 16, 16, 3)
y_train = np.random.randint(0, 10, 32)


def residual_block(x, filters, stride=1):
    shortcut = x
    x = layers.Conv2D(filters, 3, strides=stride, padding="same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Conv2D(filters, 3, padding="same")(x)
    x = layers.BatchNormalization()(x)
    if stride != 1:
        shortcut = layers.Conv2D(filters, 1, strides=stride)(shortcut)
    return layers.ReLU()(x + shortcut)


#SKYNNET:BEGIN_MULTICLASS
inputs = keras.Input(shape=(16, 16, 3))
x = layers.Conv2D(32, 3, padding="same", activation="relu")(inputs)
x = residual_block(x, 32)
x = residual_block(x, 64, stride=2)
x = layers.GlobalAveragePooling2D()(x)
outputs = layers.Dense(10, activation="softmax")(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(x_train, y_train, epochs=1)
#SKYNNET:END
