# split: -m 6
# widths: 64->32 10->5
import numpy as np
import tensorflow as tf
import keras
from keras import layers
x, y = np.random.rand(99, 20), np.random.randint(0, 10, 99)


class CustomModel(keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, y_pred)
        return {m.name: m.result() for m in self.metrics}


#SKYNNET:BEGIN_MULTICLASS
inputs = keras.Input(shape=(20,))
h = layers.Dense(64, activation="relu")(inputs)
outputs = layers.Dense(10, activation="softmax")(h)
model = CustomModel(inputs, outputs)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["mae"])
model.fit(x, y, epochs=3)
#SKYNNET:END
