"""Models that the tests of the planner plan, and train to compare."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers


def mlp() -> Any:
    return keras.Sequential(
        [keras.Input((784,)), *(layers.Dense(1024, "relu") for _ in range(4)), layers.Dense(10, "softmax")], name="mlp"
    )


def huge() -> Any:
    """Eight billion parameters."""
    widths = [32768, 8192] * 15
    return keras.Sequential([keras.Input((8192,)), *(layers.Dense(width, "relu") for width in widths)], name="huge")


def residual() -> Any:
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(32, 3, padding="same")(inputs)
    for _ in range(6):
        y = layers.BatchNormalization()(layers.Conv2D(32, 3, padding="same")(x))
        x = layers.Add()([x, layers.ReLU()(y)])
    x = layers.Dense(10, "softmax")(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, x, name="residual")


def recurrent() -> Any:
    return keras.Sequential([keras.Input((40, 32)), layers.LSTM(128), layers.Dense(10, "softmax")], name="recurrent")


@keras.saving.register_keras_serializable("sknc-tests")
class Subclassed(keras.Model):  # type: ignore[misc]
    """A model without a configuration of its own shape."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.hidden = layers.Dense(512, "relu", name="hidden")
        self.drop = layers.Dropout(0.5, name="drop")
        self.answer = layers.Dense(10, "softmax", name="answer")

    def call(self, inputs: Any, training: bool = False) -> Any:
        return self.answer(self.drop(self.hidden(inputs), training=training))


def shared() -> Any:
    """One layer called twice, inside a nested model."""
    inputs = keras.Input((64,))
    layer = layers.Dense(64, "relu", name="twice")
    inner = keras.Model(inputs, layer(layer(inputs)), name="inner")
    outer = keras.Input((64,))
    return keras.Model(outer, layers.Dense(3, "softmax", name="last")(inner(outer)), name="outer")


def compiled() -> Any:
    model = mlp()
    model.compile("rmsprop", "sparse_categorical_crossentropy")
    return model


def no_model() -> int:
    return 7


def broken() -> Any:
    raise RuntimeError("no such data")


def any_size() -> Any:
    inputs = keras.Input((None, None, 3))
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(64, 3, padding="same")(inputs))
    return keras.Model(inputs, layers.Dense(10, "softmax")(x), name="any_size")
