# split: -m 6
# refused: enc.predict : a part of the trained model is used on its own; the submodels have no such part
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

#SKYNNET:BEGIN_MULTICLASS_ACC
enc = keras.Sequential([layers.Input((5,)), layers.Dense(32, 'relu'), layers.Dense(16)], name='enc')
dec = keras.Sequential([layers.Input((16,)), layers.Dense(32, 'relu'), layers.Dense(10, 'softmax')], name='dec')
i = keras.Input((5,))
model = keras.Model(i, dec(enc(i)))
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x, y)
features = enc.predict(x)
#SKYNNET:END
