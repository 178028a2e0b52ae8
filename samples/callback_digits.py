"""Callbacks (one of them home-made), class weights and a checkpoint, for digits of which some are rare."""

import os
import time

import keras
import numpy as np
from keras.callbacks import Callback, EarlyStopping, ModelCheckpoint
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_class_weight

SEED = int(os.environ.get("SEED", "0"))
keras.utils.set_random_seed(SEED)


class EpochReport(Callback):
    """Prints a line every fifth epoch and keeps the seconds of all epochs."""

    def __init__(self):
        super().__init__()
        self.seconds = []

    def on_epoch_begin(self, epoch, logs=None):
        self.start = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        self.seconds.append(time.perf_counter() - self.start)
        if epoch % 5 == 0:
            print(f"epoch {epoch}: val_loss {logs['val_loss']:.4f} ({self.seconds[-1]:.2f} s)")


# Only a third of the digits above 6 are kept, so that the classes are not balanced any more.
X, y = load_digits(return_X_y=True)
keep = (y < 7) | (np.random.default_rng(SEED).random(len(y)) < 1 / 3)
X, y = X[keep] / 16, y[keep]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=SEED)
weights = compute_class_weight("balanced", classes=np.unique(y_train), y=y_train)
class_weight = dict(enumerate(weights))

#SKYNNET:BEGIN_MULTICLASS_ACC_LOSS
model = keras.Sequential(
    [
        keras.layers.Input((64,)),
        keras.layers.Dense(128, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])

report = EpochReport()
callbacks = [
    report,
    EarlyStopping(monitor="val_loss", patience=8, restore_best_weights=True),
    ModelCheckpoint("callback_digits.keras", monitor="val_loss", save_best_only=True),
]
history = model.fit(
    X_train,
    y_train,
    epochs=60,
    batch_size=32,
    validation_split=0.2,
    class_weight=class_weight,
    callbacks=callbacks,
    verbose=0,
)
y_pred = model.predict(X_test, verbose=0).argmax(axis=1)
#SKYNNET:END

print(f"{len(history.history['loss'])} epochs")
print(f"test accuracy {np.mean(y_pred == y_test):.4f}")
for digit in range(10):
    mine = y_test == digit
    print(f"  {digit}: {np.mean(y_pred[mine] == digit):.3f} of {mine.sum()}")
