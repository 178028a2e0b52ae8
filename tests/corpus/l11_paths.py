# split: -m 6
# widths: 50->25 10->n
# note: everything that is written (model, weights, log, checkpoints, json) gets a path of the submodel's own
import json
import os
import tempfile
from pathlib import Path

import keras
import numpy as np
from keras.callbacks import BackupAndRestore, CSVLogger, ModelCheckpoint

os.chdir(tempfile.mkdtemp())
OUT = Path("out")
name = "net"
OUT.mkdir(exist_ok=True)
x, y = np.random.rand(100, 9), np.random.randint(0, 10, 100)

#SKYNNET:BEGIN_MULTICLASS_ACC
log_file = os.path.join("out", "training.csv")
model = keras.Sequential([keras.Input((9,)), keras.layers.Dense(50, "relu"), keras.layers.Dense(10, "softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(
    x, y, epochs=2,
    callbacks=[
        CSVLogger(log_file),
        BackupAndRestore(backup_dir="./backup"),
        ModelCheckpoint("out/" + name + ".{epoch:02d}.keras"),
        ModelCheckpoint(filepath=str(OUT / "last.weights.h5"), save_weights_only=True),
    ],
)
model.save('./out/net.v1.h5')
model.save(f"out/{name}.keras")
model.save_weights(OUT / "final.weights.h5")
with open("out/config.json", "w") as f:
    json.dump({"name": name}, f)
#SKYNNET:END
