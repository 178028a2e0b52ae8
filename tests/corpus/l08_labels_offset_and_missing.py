# split: -m 3
# widths: 40->27 5->n
# note: labels 1..5 shifted before the fit; class 4 is missing from the validation set, 0 from the test set
import numpy as np
from keras import Sequential
from keras.layers import Dense, Input

rng = np.random.default_rng(0)
stars = rng.integers(1, 6, 400)
X = rng.normal(stars[:, None], 1.0, (400, 6))
y = stars - 1
train, val, test = np.arange(0, 240), np.arange(240, 320), np.arange(320, 400)
val = val[y[val] != 4]
test = test[y[test] != 0]

#SKYNNET:BEGIN_MULTICLASS_ACC_LOSS
model = Sequential([Input((6,)), Dense(40, activation="tanh"), Dense(5, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["sparse_categorical_accuracy"])
model.fit(X[train], y[train], validation_data=(X[val], y[val]), epochs=2)
p = model.predict(X[test])
#SKYNNET:END
print("rating", 1 + p.argmax(-1)[:10], "really", stars[test][:10])
