# split: -m 6
# widths: 32->16 16->8 2->2
# note: binary is always two submodels; M = 6 is told as 2; both outputs stay
import numpy as np
from tensorflow import keras

x = np.random.rand(200, 64)
y = (x.sum(axis=1) > 32).astype(int)

#SKYNNET:BEGIN_BINARYCLASS_ACC
model = keras.Sequential([
    keras.layers.Dense(32, activation='relu', input_shape=(64,)),
    keras.layers.Dense(16, activation='relu'),
    keras.layers.Dense(2, activation='softmax')
])
model.compile(optimizer='adam', loss='sparse_categorical_crossentropy', metrics=['accuracy'])
model.fit(x, y, epochs=1)
predicted = model.predict(x)
#SKYNNET:END
print(predicted.shape)
