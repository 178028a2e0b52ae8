# split: -m 2
# widths: 128->64 64->64*2 1->1
import numpy as np
import keras
from keras import layers
max_features, maxlen = 20000, 200
(x_train, y_train), (x_val, y_val) = keras.datasets.imdb.load_data(num_words=max_features)
#SKYNNET:BEGIN_BINARYCLASS
inputs = keras.Input(shape=(None,), dtype="int32")
x = layers.Embedding(max_features, 128)(inputs)
x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
x = layers.Bidirectional(layers.LSTM(64))(x)
outputs = layers.Dense(1, activation="sigmoid")(x)
model = keras.Model(inputs, outputs)
model.summary()
x_train = keras.utils.pad_sequences(x_train, maxlen=maxlen)
x_val = keras.utils.pad_sequences(x_val, maxlen=maxlen)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=2, validation_data=(x_val, y_val))
#SKYNNET:END
