# split: -m 6
# widths: 16->8 64->32 16->8 64->32 24->12 96->48 24->12 10->n
# note: inverted residual blocks: an expansion follows from the width of what comes in, as does the branch that is taken
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

im = np.random.rand(8, 16, 16, 3); t = np.arange(8)
def inverted(x, expand, out, stride):
    cin = x.shape[-1]
    h = layers.Conv2D(cin * expand, 1, use_bias=False)(x)
    h = layers.ReLU(6.)(h)
    h = layers.DepthwiseConv2D(3, strides=stride, padding='same')(h)
    h = layers.Conv2D(out, 1)(h)
    if stride == 1 and cin == out:
        return layers.Add()([x, h])
    return h
#SKYNNET:BEGIN_MULTICLASS
i = keras.Input((16, 16, 3))
h = layers.Conv2D(16, 3, strides=2)(i)
h = inverted(h, 4, 16, 1)
h = inverted(h, 4, 24, 2)
h = inverted(h, 4, 24, 1)
h = layers.GlobalAveragePooling2D()(h)
model = keras.Model(i, layers.Dense(10, 'softmax')(h))
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(im, t)
#SKYNNET:END
