# split: -m 6
# widths: 32->16 64->32 10->5
import numpy as np
import tensorflow as tf
x, y = np.random.rand(99, 28, 28, 1), np.random.randint(0, 10, 99)
strategy = tf.distribute.MirroredStrategy()
BATCH = 64 * strategy.num_replicas_in_sync
#SKYNNET:BEGIN_MULTICLASS
with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.layers.Conv2D(32, 3, activation='relu', input_shape=(28, 28, 1)),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(64, activation='relu'),
        tf.keras.layers.Dense(10)
    ])
    model.compile(loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), optimizer=tf.keras.optimizers.Adam(), metrics=['accuracy'])
model.fit(x, y, epochs=12, batch_size=BATCH)
#SKYNNET:END
