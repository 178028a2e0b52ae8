# split: -m 4
# widths: 32->8 64->16*2 128->32*2 256->64*4 128->32*2 64->16*2 32->8*2 1->1
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(4, 64, 64, 3), np.random.randint(0, 3, (4, 64, 64, 1))
#SKYNNET:BEGIN_REGRESSION
def get_model(img_size, num_classes):
    inputs = keras.Input(shape=img_size + (3,))
    x = layers.Conv2D(32, 3, strides=2, padding="same")(inputs)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    previous_block_activation = x
    for filters in [64, 128, 256]:
        x = layers.Activation("relu")(x)
        x = layers.SeparableConv2D(filters, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        residual = layers.Conv2D(filters, 1, strides=2, padding="same")(previous_block_activation)
        x = layers.add([x, residual])
        previous_block_activation = x
    for filters in [256, 128, 64, 32]:
        x = layers.Conv2DTranspose(filters, 3, padding="same")(x)
        x = layers.UpSampling2D(2)(x)
        residual = layers.UpSampling2D(2)(previous_block_activation)
        residual = layers.Conv2D(filters, 1, padding="same")(residual)
        x = layers.add([x, residual])
        previous_block_activation = x
    outputs = layers.Conv2D(num_classes, 3, activation="sigmoid", padding="same")(x)
    return keras.Model(inputs, outputs)

model = get_model((64, 64), 1)
model.compile(optimizer="adam", loss="mse")
model.fit(x, y)
#SKYNNET:END
