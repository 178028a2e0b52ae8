# split: -m 6
# widths: 64->32 64->64 32->32 10->n
# note: with an embedding the dense layers keep their size; the LSTM's 64 units are tied to nothing
import numpy as np
from tensorflow.keras.layers import LSTM, Bidirectional, Dense, Dropout, Embedding
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import pad_sequences

max_features, maxlen = 2000, 30
texts = [list(np.random.randint(1, max_features, np.random.randint(5, 50))) for _ in range(100)]
x = pad_sequences(texts, maxlen=maxlen)
y = np.random.randint(0, 10, 100)

#SKYNNET:BEGIN_MULTICLASS
model = Sequential()
model.add(Embedding(max_features, 64))
model.add(Bidirectional(LSTM(64)))
model.add(Dropout(0.5))
model.add(Dense(32, activation='relu'))
model.add(Dense(10, activation='softmax'))
model.compile('adam', 'sparse_categorical_crossentropy', metrics=['accuracy'])
model.fit(x, y, batch_size=32, epochs=1, validation_split=0.1)
#SKYNNET:END
