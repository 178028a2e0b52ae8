# split: -m 6
# widths: 128->64 10->n
# note: the base of keras.applications is kept as it is; only the head is narrowed
import keras
import numpy as np
from keras import layers
from keras.applications import MobileNetV2

x, y = np.random.rand(16, 96, 96, 3), np.random.randint(0, 10, 16)
#SKYNNET:BEGIN_MULTICLASS
base_model = MobileNetV2(input_shape=(96, 96, 3), alpha=0.35, include_top=False, weights=None)
base_model.trainable = False
inputs = keras.Input(shape=(96, 96, 3))
h = keras.applications.mobilenet_v2.preprocess_input(inputs)
h = base_model(h, training=False)
h = layers.GlobalAveragePooling2D()(h)
h = layers.Dropout(0.2)(h)
h = layers.Dense(128, activation="relu")(h)
outputs = layers.Dense(10, activation="softmax")(h)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(1e-4), loss="sparse_categorical_crossentropy")
model.fit(x, y, epochs=1)
#SKYNNET:END
