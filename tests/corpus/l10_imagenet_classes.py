# split: -m 6
# widths: 64->32 512->256 1000->n
# note: 1,000 classes; 250 a group, 500 a submodel
import numpy as np
from tensorflow.keras import layers, models

NUM_CLASSES = 1000
x = np.random.rand(64, 32, 32, 3)
y = np.random.randint(0, NUM_CLASSES, 64)

#SKYNNET:BEGIN_MULTICLASS_ACC
model = models.Sequential([
    layers.Input(shape=(32, 32, 3)),
    layers.Conv2D(64, (7, 7), strides=2, activation='relu'),
    layers.GlobalMaxPool2D(),
    layers.Dense(512, activation='relu'),
    layers.Dense(NUM_CLASSES, activation='softmax'),
])
model.compile(optimizer='sgd', loss='sparse_categorical_crossentropy', metrics=['sparse_top_k_categorical_accuracy'])
model.fit(x, y, batch_size=16)
#SKYNNET:END
