# split: -m 6
# widths: 24->12 48->24 12->6 48->24 12->6 48->24 12->6 30->15 48->24 12->6 48->24 12->6 10->n
# note: dense blocks: concatenated widths, and a transition that halves what it is given
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

im = np.random.rand(8, 16, 16, 3); t = np.arange(8)
#SKYNNET:BEGIN_MULTICLASS
growth = 12
def dense_block(x, n):
    for i in range(n):
        b = layers.BatchNormalization()(x)
        b = layers.ReLU()(b)
        b = layers.Conv2D(4 * growth, 1)(b)
        b = layers.Conv2D(growth, 3, padding='same')(b)
        x = layers.Concatenate()([x, b])
    return x
def transition(x):
    c = int(x.shape[-1] * 0.5)
    x = layers.Conv2D(c, 1)(x)
    return layers.AveragePooling2D(2)(x)
i = keras.Input((16, 16, 3))
h = layers.Conv2D(24, 3, padding='same')(i)
h = transition(dense_block(h, 3))
h = dense_block(h, 2)
h = layers.GlobalAveragePooling2D()(h)
model = keras.Model(i, layers.Dense(10, 'softmax')(h))
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(im, t)
#SKYNNET:END
