# split: -m 6
# widths: 64->32 128->64 128->64 64->32 10->n
# note: layers by functools.partial
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

from functools import partial
DefaultConv = partial(layers.Conv2D, kernel_size=3, activation='relu', padding='same')
im = np.random.rand(8, 16, 16, 3); t = np.arange(8)
#SKYNNET:BEGIN_MULTICLASS
model = keras.models.Sequential([DefaultConv(filters=64, kernel_size=7, input_shape=[16, 16, 3]), layers.MaxPooling2D(2), DefaultConv(filters=128), DefaultConv(128), layers.Flatten(), layers.Dense(units=64, activation='relu'), layers.Dropout(0.5), layers.Dense(units=10, activation='softmax')])
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(im, t)
#SKYNNET:END
