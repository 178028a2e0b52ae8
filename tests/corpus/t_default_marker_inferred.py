# split: -m 6
# widths: 64->32 32->16 10->n
# note: no kind at the marker: ten softmax outputs with sparse_categorical_crossentropy are multiclass
import numpy as np
import keras
from keras import layers

x_train = np.random.rand(200, 64)
y_train = np.random.randint(0, 10, 200)
#SKYNNET:BEGIN
inputs = keras.Input(shape=x_train.shape[1:])
h = layers.Dense(64, activation=keras.activations.relu)(inputs)
h = layers.Dense(32)(h)
h = layers.PReLU()(h)
outputs = layers.Dense(10)(h)
outputs = layers.Softmax()(outputs)
model = keras.Model(inputs=[inputs], outputs=[outputs])
model.compile(loss=keras.losses.SparseCategoricalCrossentropy(), optimizer=keras.optimizers.Adam(learning_rate=0.001))
model.fit(x_train, y_train, batch_size=64, epochs=1)
#SKYNNET:END
test_predictions = model.predict(x_train[:3])
