"""A network of any depth from a builder function, with the widths in a list."""

import os

import keras
import numpy as np
from keras import layers as L
from sklearn.datasets import load_digits

WIDTHS = [96, 64, 48]
NUM_CLASSES = 10


def build_model(input_dim, widths, num_classes, rate=0.1):
    """A stack of dense layers, each with batch normalisation and dropout."""
    inputs = L.Input(shape=(input_dim,))
    x = inputs
    for i, width in enumerate(widths):
        x = L.Dense(width, use_bias=False, name=f"dense_{i}")(x)
        x = L.BatchNormalization()(x)
        x = L.ReLU()(x)
        x = L.Dropout(rate)(x)
    outputs = L.Dense(num_classes, activation="softmax")(x)
    return keras.Model(inputs, outputs)


def load_data(seed):
    """The digits in random order: 1,400 to train with, the other 397 to test with."""
    data = load_digits()
    order = np.random.default_rng(seed).permutation(len(data.target))
    x = data.data[order] / 16.0
    y = data.target[order]
    return (x[:1400], y[:1400]), (x[1400:], y[1400:])


def main():
    seed = int(os.environ.get("SEED", "0"))
    keras.utils.set_random_seed(seed)
    (x_train, y_train), (x_test, y_test) = load_data(seed)

    #SKYNNET:BEGIN_MULTICLASS_ACC_LOSS
    model = build_model(x_train.shape[1], WIDTHS, NUM_CLASSES)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x_train, y_train, batch_size=32, epochs=50, verbose=0)
    results = model.evaluate(x_test, y_test, return_dict=True, verbose=0)
    #SKYNNET:END

    print("test:", {name: round(value, 4) for name, value in results.items()})
    print("the first ten test digits:", y_test[:10])
    print("what the network reads:   ", np.argmax(model.predict(x_test[:10], verbose=0), axis=1))


if __name__ == "__main__":
    main()
