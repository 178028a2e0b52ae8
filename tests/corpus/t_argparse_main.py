#!/usr/bin/env python3
# split: -m 6
# widths: expr expr 10->n
# note: sizes and epochs come from the command line: expressions at run time
import argparse

import numpy as np
import tensorflow as tf


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    return parser.parse_args()


def main(args):
    x = np.random.rand(200, 30)
    y = np.random.randint(0, 10, 200)
    #SKYNNET:BEGIN_MULTICLASS_ACC
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(args.units, activation="relu"),
        tf.keras.layers.Dense(args.units // 2, activation="relu"),
        tf.keras.layers.Dense(10, activation="softmax"),
    ])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, epochs=args.epochs, batch_size=args.batch_size)
    predictions = model.predict(x)
    #SKYNNET:END
    print(predictions.argmax(axis=1)[:10])


if __name__ == "__main__":
    main(get_args())
