# split: -m 6
# widths: 64->32 32->16 10->n
# note: a subclassed model without get_config
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Dense, Dropout

x_train = np.random.rand(256, 20).astype('float32')
y_train = np.random.randint(0, 10, 256)


class MyModel(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.d1 = Dense(64, activation='relu')
        self.drop = Dropout(0.25)
        self.d2 = Dense(32, activation='relu')
        self.out = Dense(10)

    def call(self, x, training=False):
        x = self.d1(x)
        x = self.drop(x, training=training)
        return self.out(self.d2(x))


#SKYNNET:BEGIN_MULTICLASS_ACC
model = MyModel()
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer='adam', loss=loss_fn, metrics=['accuracy'])
model.fit(x_train, y_train, epochs=2)
logits = model.predict(x_train)
#SKYNNET:END
print(logits.shape)
