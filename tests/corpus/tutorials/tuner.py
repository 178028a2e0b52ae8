# split: -m 6
# refused: SKN216 def build_model(hp):
import numpy as np
import keras
import keras_tuner
from keras import layers
x, y = np.random.rand(99, 28, 28), np.random.randint(0, 10, 99)


def build_model(hp):
    model = keras.Sequential()
    model.add(layers.Flatten())
    model.add(layers.Dense(units=hp.Int("units", min_value=32, max_value=512, step=32), activation=hp.Choice("activation", ["relu", "tanh"])))
    if hp.Boolean("dropout"):
        model.add(layers.Dropout(rate=0.25))
    model.add(layers.Dense(10, activation="softmax"))
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


#SKYNNET:BEGIN_MULTICLASS
tuner = keras_tuner.RandomSearch(hypermodel=build_model, objective="val_accuracy", max_trials=3)
tuner.search(x, y, epochs=2, validation_split=0.1)
models = tuner.get_best_models(num_models=2)
best_hps = tuner.get_best_hyperparameters(5)
model = build_model(best_hps[0])
model.fit(x=x, y=y, epochs=1)
#SKYNNET:END
