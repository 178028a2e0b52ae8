"""A small transformer encoder: a digit is a text of 64 words, its grey levels, in a vocabulary of 17."""

import os

import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

seed = int(os.environ.get("SEED", "0"))
keras.utils.set_random_seed(seed)

vocab_size = 17
maxlen = 64
num_classes = 10

#SKYNNET:BEGIN_MULTICLASS_ACC_LOSS
digits = load_digits()
x_train, x_test, y_train, y_test = train_test_split(
    digits.data.astype("int32"), digits.target, test_size=0.25, stratify=digits.target, random_state=seed
)

embed_dim = 32
num_heads = 2
ff_dim = 64

# words and their places
tokens = layers.Input(shape=(maxlen,), dtype="int32")
places = ops.cumsum(ops.ones_like(tokens), axis=1) - 1
x = layers.Add()(
    [
        layers.Embedding(vocab_size, embed_dim, name="token_embedding")(tokens),
        layers.Embedding(maxlen, embed_dim, name="position_embedding")(places),
    ]
)

# one encoder block
attention = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim // num_heads)(x, x)
x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, attention]))
forward = layers.Dense(ff_dim, activation="relu")(x)
forward = layers.Dense(embed_dim)(forward)
x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, forward]))

# the head
x = layers.GlobalAveragePooling1D()(x)
x = layers.Dropout(0.1)(x)
x = layers.Dense(32, activation="relu")(x)
outputs = layers.Dense(num_classes, activation="softmax")(x)

model = keras.Model(inputs=tokens, outputs=outputs)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, batch_size=32, epochs=20, validation_data=(x_test, y_test), verbose=2)
test_loss, test_accuracy = model.evaluate(x_test, y_test, verbose=0)
#SKYNNET:END

print(f"test accuracy {test_accuracy:.4f}, loss {test_loss:.4f}")
