# split: -m 6
# widths: 64->32 64->32 10->n
# note: a Lambda layer of the user's code, and one that keeps the width
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import BatchNormalization, Dense, Input, Lambda

x, y = np.random.rand(100, 16).astype("float32"), np.random.randint(0, 10, 100)
#SKYNNET:BEGIN_MULTICLASS
i = Input((16,))
h = Lambda(lambda t: tf.math.log1p(tf.abs(t)))(i)
h = Dense(64)(h)
h = BatchNormalization()(h)
h = Lambda(tf.nn.swish)(h)
h = Dense(64, activation=lambda t: tf.maximum(t, 0.1 * t))(h)
model = tf.keras.Model(i, Dense(10, activation="softmax")(h))
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, y, epochs=1, verbose=2)
print(model.predict(x, verbose=0).shape)
#SKYNNET:END
