# split: -m 6
# widths: 64->32 8->4 64->32 64->32 10->n
# note: a squeeze-and-excitation block reads its width from x.shape[-1], and follows it
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

im = np.random.rand(20, 16, 16, 3); t = np.random.randint(0, 10, 20)
def se(x, ratio=8):
    c = x.shape[-1]
    s = layers.GlobalAveragePooling2D()(x)
    s = layers.Dense(c // ratio, 'relu')(s)
    s = layers.Dense(c, 'sigmoid')(s)
    return layers.Multiply()([x, layers.Reshape((1, 1, c))(s)])
#SKYNNET:BEGIN_MULTICLASS_ACC
i = keras.Input((16, 16, 3))
h = layers.Conv2D(64, 3, activation='relu')(i)
h = se(h)
h = layers.GlobalAveragePooling2D()(h)
model = keras.Model(i, layers.Dense(10, 'softmax')(h))
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(im, t)
#SKYNNET:END
