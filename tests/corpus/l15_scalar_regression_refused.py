# split: -m 6
# refused: Dense(1)|BEGIN_REGRESSION : one output value cannot be cut in parts
import keras
from keras import layers
from sklearn.datasets import load_diabetes

X, y = load_diabetes(return_X_y=True)
#SKYNNET:BEGIN_REGRESSION_LOSS
model = keras.Sequential([layers.Dense(64, activation='relu'), layers.Dense(64, activation='relu'), layers.Dense(1)])
model.compile(optimizer='rmsprop', loss='mse', metrics=['mae'])
model.fit(X, y, epochs=1, batch_size=16, verbose=0)
test_mse_score, test_mae_score = model.evaluate(X, y)
#SKYNNET:END
