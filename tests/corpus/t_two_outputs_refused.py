# split: -m 4
# refused: keras.Model : two outputs
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(100, 5), np.random.randint(0, 10, 100)

#SKYNNET:BEGIN_MULTICLASS
i = keras.Input((5,)); h = layers.Dense(64, 'relu')(i)
a = layers.Dense(10, 'softmax', name='a')(h); b = layers.Dense(1, name='b')(h)
model = keras.Model(i, [a, b])
model.compile('adam', {'a': 'sparse_categorical_crossentropy', 'b': 'mse'})
model.fit(x, {'a': y, 'b': y})
#SKYNNET:END
