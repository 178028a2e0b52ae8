# split: -m 4
# widths: 16->4 32->8 64->16 32->8 32->8 16->4 16->4 3->3
# note: a U-Net that restores a 32x32x3 picture in a 2x2 grid of patches, local: input patch i -> output patch i
import numpy as np
import keras
from keras import layers

x = np.random.rand(24, 32, 32, 3)
y = np.random.rand(24, 32, 32, 3)

#SKYNNET:BEGIN_LOCAL_REGRESSION_LOSS
inputs = keras.Input((32, 32, 3))
c1 = layers.Conv2D(16, 3, activation="relu", padding="same")(inputs)
p1 = layers.MaxPooling2D()(c1)
c2 = layers.Conv2D(32, 3, activation="relu", padding="same")(p1)
p2 = layers.MaxPooling2D()(c2)
c3 = layers.Conv2D(64, 3, activation="relu", padding="same")(p2)
u2 = layers.Conv2DTranspose(32, 2, strides=2, padding="same")(c3)
u2 = layers.concatenate([u2, c2])
c4 = layers.Conv2D(32, 3, activation="relu", padding="same")(u2)
u1 = layers.Conv2DTranspose(16, 2, strides=2, padding="same")(c4)
u1 = layers.concatenate([u1, c1])
c5 = layers.Conv2D(16, 3, activation="relu", padding="same")(u1)
outputs = layers.Conv2D(3, 1, activation="sigmoid")(c5)
unet = keras.Model(inputs, outputs)
unet.compile(optimizer="adam", loss="mse")
unet.fit(x, y, batch_size=8, epochs=1)
restored = unet.predict(x)
#SKYNNET:END
