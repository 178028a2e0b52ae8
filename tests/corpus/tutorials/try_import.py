# split: -m 6
# widths: 64->32 10->5
import numpy as np
try:
    from tensorflow.keras.models import Sequential
    from tensorflow.keras.layers import Dense, Dropout
except ImportError:
    from keras.models import Sequential
    from keras.layers import Dense, Dropout
x, y = np.random.rand(99, 20), np.random.randint(0, 10, 99)
#SKYNNET:BEGIN_MULTICLASS
model = Sequential()
model.add(Dense(64, activation='relu', input_dim=20))
model.add(Dropout(0.5))
model.add(Dense(10, activation='softmax'))
model.compile(loss='sparse_categorical_crossentropy', optimizer='sgd')
model.fit(x, y, epochs=20)
#SKYNNET:END
