# split: -m 6
# refused: BEGIN_MULTICLASS|for train : the block is executed once a fold
import keras
from keras.layers import Dense, Input
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

X, Y = load_digits(return_X_y=True)
kfold = StratifiedKFold(n_splits=3, shuffle=True, random_state=7)
cvscores = []
for train, test in kfold.split(X, Y):
    #SKYNNET:BEGIN_MULTICLASS_ACC
    model = keras.Sequential([Input((64,)), Dense(12, activation='relu'), Dense(10, activation='softmax')])
    model.compile(loss='sparse_categorical_crossentropy', optimizer='adam', metrics=['accuracy'])
    model.fit(X[train], Y[train], epochs=2, batch_size=10, verbose=0)
    scores = model.evaluate(X[test], Y[test], verbose=0)
    #SKYNNET:END
    cvscores.append(scores[1] * 100)
print(cvscores)
