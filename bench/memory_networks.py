"""Networks that predicted and measured peaks are compared on: small inputs, every make of model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import layers

APPLICATIONS = {
    "VGG16": 64,
    "VGG19": 48,
    "ResNet50": 64,
    "ResNet101": 64,
    "ResNet50V2": 64,
    "MobileNet": 64,
    "MobileNetV2": 96,
    "MobileNetV3Small": 96,
    "MobileNetV3Large": 64,
    "DenseNet121": 64,
    "DenseNet169": 64,
    "EfficientNetB0": 64,
    "EfficientNetB1": 64,
    "EfficientNetV2B0": 64,
    "InceptionV3": 96,
    "Xception": 96,
    "NASNetMobile": 64,
    "ConvNeXtTiny": 64,
}


def mlp() -> Any:
    """Four wide layers and dropout."""
    hidden = [layers.Dense(1024, activation="relu") for _ in range(4)]
    return keras.Sequential([keras.Input((784,)), *hidden, layers.Dropout(0.3), layers.Dense(10, activation="softmax")])


def lstm() -> Any:
    """Two recurrent layers."""
    return keras.Sequential(
        [
            keras.Input((60, 32)),
            layers.LSTM(128, return_sequences=True),
            layers.LSTM(128),
            layers.Dense(10, activation="softmax"),
        ]
    )


def transformer() -> Any:
    """Four encoder blocks."""
    inputs = keras.Input((64, 128))
    x = inputs
    for _ in range(4):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 32)(x, x))
        y = layers.Dense(128)(layers.Dense(512, activation="gelu")(x))
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(y))
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


def _twice(x: Any, filters: int) -> Any:
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same")(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return x


def unet() -> Any:
    """A U-Net with a classifier at its end."""
    inputs = keras.Input((64, 64, 3))
    x, skipped = inputs, []
    for filters in (32, 64, 128):
        x = _twice(x, filters)
        skipped.append(x)
        x = layers.MaxPooling2D()(x)
    x = _twice(x, 256)
    for filters in (128, 64, 32):
        x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
        x = _twice(layers.Concatenate()([x, skipped.pop()]), filters)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


class Subclassed(keras.Model):  # type: ignore[misc]
    """A subclassed model without a stated input shape."""

    def __init__(self) -> None:
        super().__init__()
        self.first = layers.Conv2D(32, 3, activation="relu")
        self.second = layers.Conv2D(64, 3, activation="relu")
        self.pool = layers.MaxPooling2D()
        self.flat = layers.Flatten()
        self.hidden = layers.Dense(256, activation="relu")
        self.drop = layers.Dropout(0.4)
        self.answer = layers.Dense(10, activation="softmax")

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Convolutions, a wide layer, dropout, an answer."""
        x = self.hidden(self.flat(self.pool(self.second(self.first(inputs)))))
        return self.answer(self.drop(x, training=training))


OWN: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "mlp": (mlp, (784,)),
    "lstm": (lstm, (60, 32)),
    "transformer": (transformer, (64, 128)),
    "unet": (unet, (64, 64, 3)),
    "sub": (Subclassed, (32, 32, 3)),
}
NAMES = (*OWN, *APPLICATIONS)


def build(name: str) -> tuple[Any, tuple[int, ...]]:
    """A network and the shape of one sample.

    Args:
        name: one of NAMES.

    Returns:
        The uncompiled model and its input shape.
    """
    if name in OWN:
        make, shape = OWN[name]
        return make(), shape
    shape = (APPLICATIONS[name], APPLICATIONS[name], 3)
    return getattr(keras.applications, name)(weights=None, input_shape=shape, classes=10), shape
