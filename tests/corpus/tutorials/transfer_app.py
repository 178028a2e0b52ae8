# split: -m 6
# widths: 128->64 10->5
import numpy as np
import tensorflow as tf
x, y = np.random.rand(9, 160, 160, 3), np.random.randint(0, 10, 9)
IMG_SHAPE = (160, 160, 3)
#SKYNNET:BEGIN_MULTICLASS
base_model = tf.keras.applications.MobileNetV2(input_shape=IMG_SHAPE, include_top=False, weights=None)
base_model.trainable = False
inputs = tf.keras.Input(shape=IMG_SHAPE)
x_ = tf.keras.applications.mobilenet_v2.preprocess_input(inputs)
x_ = base_model(x_, training=False)
x_ = tf.keras.layers.GlobalAveragePooling2D()(x_)
x_ = tf.keras.layers.Dropout(0.2)(x_)
x_ = tf.keras.layers.Dense(128, activation='relu')(x_)
outputs = tf.keras.layers.Dense(10)(x_)
model = tf.keras.Model(inputs, outputs)
model.compile(optimizer=tf.keras.optimizers.Adam(), loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(x, y, epochs=1)
base_model.trainable = True
for layer in base_model.layers[:100]:
    layer.trainable = False
model.compile(optimizer=tf.keras.optimizers.RMSprop(), loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history_fine = model.fit(x, y, epochs=5, initial_epoch=history.epoch[-1])
#SKYNNET:END
