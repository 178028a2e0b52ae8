# split: -m 6
# refused: GradientTape|train_on_batch|BEGIN_MULTICLASS : a training loop of the user's own
import numpy as np
import tensorflow as tf
from tensorflow import keras

x, y = np.random.rand(64, 5).astype("float32"), np.random.randint(0, 10, 64)
#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential([keras.layers.Dense(64, "relu"), keras.layers.Dense(10, "softmax")])
optimizer = keras.optimizers.Adam()
loss_fn = keras.losses.SparseCategoricalCrossentropy()
for epoch in range(2):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    grads = tape.gradient(loss, model.trainable_weights)
    optimizer.apply_gradients(zip(grads, model.trainable_weights))
#SKYNNET:END
