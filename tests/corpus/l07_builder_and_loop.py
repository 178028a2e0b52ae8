# split: -m 6
# widths: 16->8 32->16 64->32 128->64 10->n
# note: a builder outside the block; filters double in a loop (an expression at run time)
import numpy as np
import keras
from keras.layers import BatchNormalization, Conv2D, Dense, GlobalAveragePooling2D, Input, ReLU


def conv_block(x, filters, stride):
    x = Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
    x = BatchNormalization()(x)
    return ReLU()(x)


def make_net(shape=(32, 32, 3), base=16, classes=10):
    inputs = Input(shape)
    x = inputs
    for i in range(3):
        x = conv_block(x, base * 2**i, 2)
    x = GlobalAveragePooling2D()(x)
    x = Dense(128, activation="relu")(x)
    return keras.Model(inputs, Dense(classes, activation="softmax")(x))


images = np.random.rand(64, 32, 32, 3)
labels = np.random.randint(10, size=64)

#SKYNNET:BEGIN_MULTICLASS_ACC
net = make_net()
net.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
net.fit(images, labels, epochs=1)
out = net.predict(images)
#SKYNNET:END
