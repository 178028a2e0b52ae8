# split: -m 6
# widths: 512->256 10->n
# note: TensorBoard with a folder named by the time (the package tensorboard is needed to run this one)
import datetime

import numpy as np
import tensorflow as tf

x_train, y_train = np.random.rand(100, 28, 28), np.random.randint(0, 10, 100)


def create_model():
    return tf.keras.models.Sequential([
        tf.keras.layers.Input(shape=(28, 28), name="layers_input"),
        tf.keras.layers.Flatten(name="layers_flatten"),
        tf.keras.layers.Dense(512, activation="relu", name="layers_dense"),
        tf.keras.layers.Dropout(0.2, name="layers_dropout"),
        tf.keras.layers.Dense(10, activation="softmax", name="layers_dense_2"),
    ])


#SKYNNET:BEGIN_MULTICLASS_ACC
model = create_model()
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
log_dir = "logs/fit/" + datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
tensorboard_callback = tf.keras.callbacks.TensorBoard(log_dir=log_dir, histogram_freq=1)
model.fit(x=x_train, y=y_train, epochs=2, callbacks=[tensorboard_callback])
#SKYNNET:END
