# split: -m 2
# widths: 50->25 50->25 4->2
# note: recurrent layers by keyword, input_shape from the data
import numpy as np
from keras.models import Sequential
from keras.layers import LSTM, Dense, RepeatVector, TimeDistributed

X_train = np.random.rand(80, 10, 3)
y_train = np.random.rand(80, 4)
#SKYNNET:BEGIN_REGRESSION
regressor = Sequential()
regressor.add(LSTM(units=50, return_sequences=True, input_shape=(X_train.shape[1], X_train.shape[2])))
regressor.add(LSTM(units=50))
regressor.add(Dense(units=4))
regressor.compile(optimizer='adam', loss='mean_squared_error')
regressor.fit(X_train, y_train, epochs=1, batch_size=32)
#SKYNNET:END
print(regressor.predict(X_train[:2]))
