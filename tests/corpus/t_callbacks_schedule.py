# split: -m 6
# widths: 64->32 64->32 10->n
# note: a learning-rate schedule, ReduceLROnPlateau, a lambda callback, weights by sample
import keras
import numpy as np
from keras.callbacks import EarlyStopping, LambdaCallback, LearningRateScheduler, ReduceLROnPlateau
from keras.optimizers import SGD
from keras.optimizers.schedules import ExponentialDecay

x, y = np.random.rand(200, 10), np.random.randint(0, 10, 200)
w = np.where(y > 7, 3.0, 1.0)


def schedule(epoch, lr):
    return lr if epoch < 2 else lr * 0.9


#SKYNNET:BEGIN_MULTICLASS_ACC
model = keras.Sequential([
    keras.Input((10,)),
    keras.layers.Dense(64, activation="relu", kernel_regularizer=keras.regularizers.l2(1e-4)),
    keras.layers.Dense(64, activation="relu", kernel_initializer="he_normal"),
    keras.layers.Dense(10, activation="softmax"),
])
decay = ExponentialDecay(initial_learning_rate=1e-2, decay_steps=10000, decay_rate=0.9)
print("steps", decay.decay_steps)
model.compile(SGD(1e-2, momentum=0.9, nesterov=True), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, sample_weight=w, epochs=3, validation_split=0.25, callbacks=[
    LearningRateScheduler(schedule),
    ReduceLROnPlateau(patience=1),
    EarlyStopping(monitor="val_accuracy", patience=5),
    LambdaCallback(on_epoch_end=lambda epoch, logs: print(epoch, sorted(logs))),
])
#SKYNNET:END
print(model.evaluate(x, y, sample_weight=w, verbose=0))
