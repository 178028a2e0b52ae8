# split: -m 6
# widths: 32->16 64->32 128->64 10->n
# note: rescaling and augmentation layers inside the model; num_classes = len(class_names)
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.models import Sequential

class_names = ["aeroplane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "lorry"]
num_classes = len(class_names)
img_height = img_width = 32
x = np.random.randint(0, 256, (64, img_height, img_width, 3))
y = np.random.randint(0, num_classes, 64)

data_augmentation = Sequential([
    layers.RandomFlip("horizontal", input_shape=(img_height, img_width, 3)),
    layers.RandomRotation(0.1),
    layers.RandomZoom(0.1),
])

#SKYNNET:BEGIN_MULTICLASS_ACC
model = Sequential([
    data_augmentation,
    layers.Rescaling(1.0 / 255),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(64, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Dropout(0.2),
    layers.Flatten(),
    layers.Dense(128, activation="relu"),
    layers.Dense(num_classes, name="outputs"),
])
model.compile(optimizer="adam", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["accuracy"])
model.fit(x, y, epochs=1)
score = tf.nn.softmax(model.predict(x[:1])[0])
#SKYNNET:END
print("this looks like a {} with {:.2f} percent confidence".format(class_names[np.argmax(score)], 100 * np.max(score)))
