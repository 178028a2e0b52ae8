# split: -m 6
# widths: 64->32 128->64 64->32 10->n
# note: attention over features without an embedding: dense layers are narrowed, and residual sums keep together
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

s = np.random.rand(20, 16, 24); t = np.random.randint(0, 10, 20)
#SKYNNET:BEGIN_MULTICLASS_ACC
i = keras.Input((16, 24))
h = layers.Dense(64)(i)
a = layers.MultiHeadAttention(num_heads=4, key_dim=16)(h, h)
h = layers.LayerNormalization()(h + a)
f = layers.Dense(128, 'gelu')(h)
h = layers.LayerNormalization()(h + layers.Dense(64)(f))
h = layers.GlobalAveragePooling1D()(h)
model = keras.Model(i, layers.Dense(10, 'softmax')(h))
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(s, t)
#SKYNNET:END
