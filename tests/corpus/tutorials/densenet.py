# split: -m 6
# widths: 64->32 128->64 32->16 128->64 32->16 128->64 32->16 80->40 128->64 32->16 128->64 32->16 128->64 32->16 128->64 32->16 104->52 10->5
import numpy as np
import keras
from keras import layers
from keras import backend
x_train, y_train = np.random.rand(8, 32, 32, 3), np.random.randint(0, 10, 8)


def conv_block(x, growth_rate, name):
    x1 = layers.BatchNormalization(epsilon=1.001e-5, name=name + "_0_bn")(x)
    x1 = layers.Activation("relu", name=name + "_0_relu")(x1)
    x1 = layers.Conv2D(4 * growth_rate, 1, use_bias=False, name=name + "_1_conv")(x1)
    x1 = layers.BatchNormalization(epsilon=1.001e-5, name=name + "_1_bn")(x1)
    x1 = layers.Activation("relu", name=name + "_1_relu")(x1)
    x1 = layers.Conv2D(growth_rate, 3, padding="same", use_bias=False, name=name + "_2_conv")(x1)
    x = layers.Concatenate(axis=-1, name=name + "_concat")([x, x1])
    return x


def dense_block(x, blocks, name):
    for i in range(blocks):
        x = conv_block(x, 32, name=name + "_block" + str(i + 1))
    return x


def transition_block(x, reduction, name):
    x = layers.BatchNormalization(name=name + "_bn")(x)
    x = layers.Activation("relu", name=name + "_relu")(x)
    x = layers.Conv2D(int(x.shape[-1] * reduction), 1, use_bias=False, name=name + "_conv")(x)
    x = layers.AveragePooling2D(2, strides=2, name=name + "_pool")(x)
    return x


#SKYNNET:BEGIN_MULTICLASS
img_input = keras.Input((32, 32, 3))
x = layers.Conv2D(64, 7, strides=2, use_bias=False, name="conv1_conv", padding="same")(img_input)
x = layers.BatchNormalization()(x)
for i, blocks in enumerate([3, 4]):
    x = dense_block(x, blocks, name=f"conv{i + 2}")
    x = transition_block(x, 0.5, name=f"pool{i + 2}")
x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
model = keras.Model(img_input, layers.Dense(10, activation="softmax")(x))
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x_train, y_train)
#SKYNNET:END
