# split: -m 6
# widths: 32->16 16->8 24->12 10->n
# note: two inputs by name; the rows of both are chosen together
import numpy as np
import keras
from keras.layers import Concatenate, Conv1D, Dense, GlobalMaxPooling1D, Input

signal = np.random.rand(120, 50, 2)
age = np.random.rand(120, 3)
label = keras.utils.to_categorical(np.random.randint(0, 10, 120), num_classes=10)

#SKYNNET:BEGIN_MULTICLASS_ACC
a = Input(shape=(50, 2), name="signal")
b = Input(shape=(3,), name="patient")
u = GlobalMaxPooling1D()(Conv1D(32, 5, activation="relu")(a))
v = Dense(16, activation="relu")(b)
z = Dense(24, activation="relu")(Concatenate()([u, v]))
model = keras.Model(inputs=[a, b], outputs=Dense(10, activation="softmax")(z))
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
model.fit({"signal": signal, "patient": age}, label, epochs=1, batch_size=20)
predicted = model.predict([signal, age])
#SKYNNET:END
print(predicted.shape)
