# split: -m 2
# widths: 20->10 1->1
# note: rows come sorted by label: each half must still have both classes
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

spam = np.random.normal(1.0, 1.0, (150, 12))
ham = np.random.normal(-1.0, 1.0, (50, 12))
x_train = np.concatenate([spam, ham])
y_train = np.array([1] * 150 + [0] * 50)

#SKYNNET:BEGIN_BINARY_ACC
model = Sequential()
model.add(Dense(20, input_dim=12, activation='relu'))
model.add(Dense(1, activation='sigmoid'))
model.compile(loss='binary_crossentropy', optimizer='rmsprop', metrics=['accuracy'])
model.fit(x_train, y_train, epochs=3, batch_size=10, verbose=0)
scores = model.evaluate(x_train, y_train, verbose=0)
#SKYNNET:END
print("%s: %.2f%%" % (model.metrics_names[1], scores[1] * 100))
