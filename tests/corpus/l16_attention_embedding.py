# split: -m 6
# widths: 32->16 32->16 32->16 64->64 20->20 10->n
# note: both embeddings shrink; the dense layer that is added to them follows; the others keep their size
import numpy as np
import keras
from keras import layers, ops

vocab, maxlen, embed_dim = 500, 40, 32
x = np.random.randint(0, vocab, (64, maxlen))
y = np.random.randint(0, 10, 64)


class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim):
        super().__init__()
        self.token_emb = layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.pos_emb = layers.Embedding(input_dim=maxlen, output_dim=embed_dim)

    def call(self, x):
        positions = ops.arange(0, ops.shape(x)[-1])
        return self.token_emb(x) + self.pos_emb(positions)


class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.1):
        super().__init__()
        self.att = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.ffn = keras.Sequential([layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)])
        self.norm1 = layers.LayerNormalization(epsilon=1e-6)
        self.norm2 = layers.LayerNormalization(epsilon=1e-6)
        self.drop = layers.Dropout(rate)

    def call(self, inputs, training=False):
        out1 = self.norm1(inputs + self.drop(self.att(inputs, inputs), training=training))
        return self.norm2(out1 + self.ffn(out1))


#SKYNNET:BEGIN_MULTICLASS_ACC
inputs = layers.Input(shape=(maxlen,))
h = TokenAndPositionEmbedding(maxlen, vocab, embed_dim)(inputs)
h = TransformerBlock(embed_dim, 2, 64)(h)
h = layers.GlobalAveragePooling1D()(h)
h = layers.Dense(20, activation="relu")(h)
outputs = layers.Dense(10, activation="softmax")(h)
model = keras.Model(inputs=inputs, outputs=outputs)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=32, epochs=1)
#SKYNNET:END
