# split: -m 6
# widths: 128->64 64->32 32->16 10->n
# note: import aliases of every kind, an annotated size, 2*64, a size by keyword and one in a dict
from keras import Input
from keras import layers as L
import keras.models as km
import tensorflow as tf
from tensorflow.keras.layers import Dense as FullyConnected
import numpy as np

units: int = 2 * 64
cfg = {'hidden': 64, 'last': 32}
xs = np.random.rand(100, 7)
ys = np.random.randint(0, 10, 100)

#SKYNNET:BEGIN_MULTICLASS
a = Input(shape=(7,))
b = L.Dense(units, activation='relu')(a)
c = FullyConnected(units=cfg['hidden'], activation=tf.nn.relu)(b)
d = tf.keras.layers.Dense(cfg['last'])(c)
e = tf.keras.layers.Activation('relu')(d)
f: tf.Tensor = L.Dense(10, activation='softmax')(e)
m = km.Model(inputs=a, outputs=f)
m.compile(loss='sparse_categorical_crossentropy', optimizer='sgd')
m.fit(x=xs, y=ys, epochs=1)
#SKYNNET:END
