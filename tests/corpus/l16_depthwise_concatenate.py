# split: -m 6
# widths: 32->16 64->32 16->8 24->12 24->12 32->16 8->4 10->n
# note: depthwise convolutions have no width of their own; an inception block's branches are concatenated
import numpy as np
import keras
from keras.layers import (Concatenate, Conv2D, Dense, DepthwiseConv2D, GlobalAveragePooling2D, Input, MaxPooling2D,
                          SeparableConv2D)

x, y = np.random.rand(32, 20, 20, 3), np.random.randint(0, 10, 32)


def inception(x):
    a = Conv2D(16, 1, activation="relu", padding="same")(x)
    b = Conv2D(24, 1, activation="relu", padding="same")(x)
    b = Conv2D(24, 3, activation="relu", padding="same")(b)
    c = Conv2D(32, 5, activation="relu", padding="same")(x)
    d = MaxPooling2D(3, strides=1, padding="same")(x)
    d = Conv2D(8, 1, activation="relu", padding="same")(d)
    return Concatenate(axis=-1)([a, b, c, d])


#SKYNNET:BEGIN_MULTICLASS
i = Input((20, 20, 3))
t = Conv2D(32, 3, strides=2, activation="relu")(i)
t = DepthwiseConv2D(3, padding="same", depth_multiplier=1)(t)
t = SeparableConv2D(64, 3, padding="same")(t)
t = inception(t)
t = GlobalAveragePooling2D()(t)
o = Dense(10, activation="softmax")(t)
model = keras.Model(i, o)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, y)
#SKYNNET:END
