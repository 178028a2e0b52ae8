# split: -m 6
# widths: 100->100 128->128*2 10->5
import numpy as np
import keras
from keras import layers
num_tokens, embedding_dim, class_names = 1000, 100, ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
embedding_matrix = np.zeros((num_tokens, embedding_dim))
x_train, y_train = np.random.randint(0, 1000, (50, 30)), np.random.randint(0, 10, 50)
#SKYNNET:BEGIN_MULTICLASS
embedding_layer = layers.Embedding(num_tokens, embedding_dim, trainable=False)
embedding_layer.build((1,))
embedding_layer.set_weights([embedding_matrix])
int_sequences_input = keras.Input(shape=(None,), dtype="int32")
embedded_sequences = embedding_layer(int_sequences_input)
x = layers.Conv1D(128, 5, activation="relu")(embedded_sequences)
x = layers.MaxPooling1D(5)(x)
x = layers.GlobalMaxPooling1D()(x)
x = layers.Dense(128, activation="relu")(x)
preds = layers.Dense(len(class_names), activation="softmax")(x)
model = keras.Model(int_sequences_input, preds)
model.compile(loss="sparse_categorical_crossentropy", optimizer="rmsprop", metrics=["acc"])
model.fit(x_train, y_train, batch_size=128, epochs=2)
#SKYNNET:END
