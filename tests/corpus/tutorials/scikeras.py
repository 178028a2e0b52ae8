# split: -m 6
# refused: SKN204 clf.fit(X, y)
import numpy as np
import keras
from scikeras.wrappers import KerasClassifier
X, y = np.random.rand(99, 20), np.random.randint(0, 10, 99)
#SKYNNET:BEGIN_MULTICLASS
def get_model(hidden_layer_dim, meta):
    model = keras.models.Sequential()
    model.add(keras.layers.Input(shape=(20,)))
    model.add(keras.layers.Dense(hidden_layer_dim))
    model.add(keras.layers.Dense(10, activation="softmax"))
    return model

clf = KerasClassifier(get_model, loss="sparse_categorical_crossentropy", hidden_layer_dim=100)
clf.fit(X, y)
y_proba = clf.predict_proba(X)
#SKYNNET:END
