# split: -m 2
# widths: 64->32 1->1
# note: no kind at the marker; one sigmoid output with binary_crossentropy is binary
import numpy as np
import keras

rng = np.random.default_rng(1)
X = rng.normal(size=(300, 8))
y = (X[:, 0] * X[:, 1] > 0).astype('float32')

#SKYNNET:BEGIN
model = keras.Sequential()
model.add(keras.Input((8,)))
model.add(keras.layers.Dense(64, activation='relu'))
model.add(keras.layers.Dense(1, activation='sigmoid'))
model.compile('adam', 'binary_crossentropy', metrics=['accuracy'])
model.fit(X, y, epochs=2, verbose=0)
print(model.evaluate(X, y, verbose=0))
#SKYNNET:END
