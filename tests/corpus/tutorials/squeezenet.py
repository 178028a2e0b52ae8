# split: -m 6
# widths: 32->16 24->12*3 48->24*3 10->5
import numpy as np
import tensorflow as tf
from tensorflow import keras as K
L = K.layers
x_train, y_train = np.random.rand(8, 64, 64, 3), np.random.randint(0, 10, 8)
#SKYNNET:BEGIN_MULTICLASS
def fire(x, squeeze, expand):
    y = L.Conv2D(filters=squeeze, kernel_size=1, activation='relu', padding='same')(x)
    y1 = L.Conv2D(filters=expand // 2, kernel_size=1, activation='relu', padding='same')(y)
    y3 = L.Conv2D(filters=expand // 2, kernel_size=3, activation='relu', padding='same')(y)
    return tf.keras.layers.concatenate([y1, y3])

def fire_module(squeeze, expand):
    return lambda x: fire(x, squeeze, expand)

x = L.Input(shape=[64, 64, 3])
y = L.Conv2D(kernel_size=3, filters=32, padding='same', use_bias=True, activation='relu')(x)
y = L.BatchNormalization()(y)
y = fire_module(24, 48)(y)
y = L.MaxPooling2D(pool_size=2)(y)
y = fire_module(48, 96)(y)
y = L.GlobalAveragePooling2D()(y)
y = L.Dense(10, activation='softmax')(y)
model = K.Model(x, y)
model.compile(optimizer='adam', loss='sparse_categorical_crossentropy', metrics=['accuracy'])
model.fit(x_train, y_train, epochs=2)
#SKYNNET:END
