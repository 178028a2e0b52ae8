# split: -m 6
# widths: 16->8 32->16 10->n
# note: tf.data with shuffle, map, batch, prefetch; a submodel's rows are chosen inside the pipeline
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, losses, optimizers

AUTOTUNE = tf.data.AUTOTUNE
BATCH_SIZE = 32
images = np.random.randint(0, 256, (320, 28, 28, 1)).astype("uint8")
labels = np.random.randint(0, 10, 320)


def normalize_img(image, label):
    return tf.cast(image, tf.float32) / 255.0, label


#SKYNNET:BEGIN_MULTICLASS_ACC_LOSS
ds_train = tf.data.Dataset.from_tensor_slices((images[:256], labels[:256]))
ds_train = ds_train.map(normalize_img, num_parallel_calls=AUTOTUNE).cache()
ds_train = ds_train.shuffle(256).batch(BATCH_SIZE).prefetch(AUTOTUNE)
ds_test = tf.data.Dataset.from_tensor_slices((images[256:], labels[256:])).map(normalize_img).batch(BATCH_SIZE)

model = tf.keras.models.Sequential([
    layers.Conv2D(16, 3, padding="same", activation="relu", input_shape=(28, 28, 1)),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.GlobalAveragePooling2D(),
    layers.Dense(10),
])
model.compile(
    optimizer=optimizers.Adam(0.001),
    loss=losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=[tf.keras.metrics.SparseCategoricalAccuracy()],
)
model.fit(ds_train, epochs=2, validation_data=ds_test)
loss, acc = model.evaluate(ds_test)
#SKYNNET:END
print(f"{acc:.3f} {loss:.3f}")
