# split: -m 6
# widths: 24->4 48->8 576->96
# note: a target of shape (24, 24, 1) in a 2x3 grid of patches; the whole image is each submodel's input
import numpy as np
from keras import Input, Model
from keras.layers import Conv2D, Dense, Flatten, Reshape

x = np.random.rand(40, 12, 12, 1)
y = np.random.rand(40, 24, 24, 1)
#SKYNNET:BEGIN_REGRESSION_LOSS
inp = Input((12, 12, 1))
h = Conv2D(24, 3, activation='relu', padding='same')(inp)
h = Flatten()(h)
h = Dense(48, activation='relu')(h)
h = Dense(24 * 24)(h)
out = Reshape((24, 24, 1))(h)
model = Model(inp, out)
model.compile('adam', 'mse')
model.fit(x, y, epochs=1)
print(model.predict(x).shape)
#SKYNNET:END
