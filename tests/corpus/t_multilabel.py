# split: -m 4
# widths: 64->16 32->8 8->2
# note: several of eight labels at once: the outputs are sliced as those of a regression
import numpy as np
import keras

x = np.random.rand(200, 40)
tags = (np.random.rand(200, 8) > 0.7).astype("float32")
#SKYNNET:BEGIN_REGRESSION
model = keras.Sequential([
    keras.Input((40,)),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dense(8, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["binary_accuracy"])
model.fit(x, tags, epochs=2, verbose=0)
print((model.predict(x, verbose=0) > 0.5).sum(axis=0))
#SKYNNET:END
