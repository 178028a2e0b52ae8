# split: -m 6
# widths: 3136->1568 64->32 32->16 10->n
# note: Dense(7*7*64) and Reshape((7, 7, 64)) change together: 7*7*32 and (7, 7, 32)
import numpy as np
from keras.models import Sequential
from keras.layers import Conv2DTranspose, Dense, GlobalAveragePooling2D, Input, LeakyReLU, Reshape

z = np.random.normal(size=(64, 100))
y = np.random.randint(0, 10, 64)
#SKYNNET:BEGIN_MULTICLASS
model = Sequential()
model.add(Input((100,)))
model.add(Dense(7 * 7 * 64))
model.add(LeakyReLU())
model.add(Reshape((7, 7, 64)))
model.add(Conv2DTranspose(32, (5, 5), strides=(2, 2), padding='same'))
model.add(GlobalAveragePooling2D())
model.add(Dense(10, activation='softmax'))
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(z, y)
#SKYNNET:END
