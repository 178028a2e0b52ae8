# split: -m 6
# widths: 64->32 10->n 60->10 12->2
# note: M = 6 and F = 2 in the first block, F = 6 in the second
import numpy as np
from keras import Input, Model
from keras.layers import Dense

x = np.random.rand(200, 20)
y = np.random.randint(0, 10, 200)

#SKYNNET:BEGIN_MULTICLASS_ACC
i = Input((20,))
o = Dense(10, activation='softmax')(Dense(64, activation='relu')(i))
model = Model(i, o)
model.compile(optimizer='adam', loss='sparse_categorical_crossentropy', metrics=['accuracy'])
model.fit(x, y, epochs=2)
predicted = model.predict(x)
#SKYNNET:END

print(predicted.argmax(1)[:3])
y = np.random.rand(200, 12)
#SKYNNET:BEGIN_REGRESSION_LOSS
i = Input((20,))
o = Dense(12)(Dense(60, activation='relu')(i))
model = Model(i, o)
model.compile(optimizer='adam', loss='mean_squared_error')
model.fit(x, y, epochs=2)
predicted = model.predict(x)
#SKYNNET:END
print(predicted.shape)
