# split: -m 4
# refused: SKN302 h = layers.Conv3D(filters=1, kernel_size=(3, 3, 3), activati
import numpy as np
import keras
from keras import layers
x, y = np.random.rand(9, 10, 64, 64, 1), np.random.rand(9, 10, 64, 64, 1)
#SKYNNET:BEGIN_REGRESSION
inp = layers.Input(shape=(None, *x.shape[2:]))
h = layers.ConvLSTM2D(filters=64, kernel_size=(5, 5), padding="same", return_sequences=True, activation="relu")(inp)
h = layers.BatchNormalization()(h)
h = layers.ConvLSTM2D(filters=64, kernel_size=(3, 3), padding="same", return_sequences=True, activation="relu")(h)
h = layers.Conv3D(filters=1, kernel_size=(3, 3, 3), activation="sigmoid", padding="same")(h)
model = keras.models.Model(inp, h)
model.compile(loss=keras.losses.binary_crossentropy, optimizer=keras.optimizers.Adam())
model.fit(x, y, batch_size=5, epochs=2)
#SKYNNET:END
