# split: -m 6
# refused: TimeDistributed|Dense(9|BEGIN_MULTICLASS|model.fit : a class for each token
import numpy as np
import keras
from keras.layers import LSTM, Bidirectional, Dense, Embedding, Input, TimeDistributed

x = np.random.randint(0, 1000, (64, 25))
tags = np.random.randint(0, 9, (64, 25))
#SKYNNET:BEGIN_MULTICLASS_ACC
words = Input(shape=(25,))
h = Embedding(1000, 50)(words)
h = Bidirectional(LSTM(100, return_sequences=True, recurrent_dropout=0.1))(h)
out = TimeDistributed(Dense(9, activation="softmax"))(h)
model = keras.Model(words, out)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, tags, batch_size=32, epochs=1)
#SKYNNET:END
