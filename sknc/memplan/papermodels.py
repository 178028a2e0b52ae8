"""The paper's networks as Keras models, for the `tensorflow` accounting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
from keras import layers

from sknc.runtime.memory.network import Layer, Network


class LocalResponseNormalization(layers.Layer):  # type: ignore[misc]  # keras has no types
    """AlexNet's normalization, which Keras does not have."""

    def call(self, inputs: Any) -> Any:
        """Normalize each value by its neighbours in other channels.

        Args:
            inputs: images.

        Returns:
            As much.
        """
        return tf.nn.local_response_normalization(inputs, depth_radius=2, bias=2.0, alpha=1e-4, beta=0.75)


def paper_model(network: Network) -> Any:
    """Build the Keras model of a network's definition.

    Args:
        network: one of the paper's, whose layers say shapes and windows.

    Returns:
        The model, uncompiled; its layers have the definition's names.
    """
    made = {"": keras.Input(network.input_shape)}
    for layer in network.layers:
        given = [made[name] for name in layer.inputs] or [made[""]]
        made[layer.name] = _MAKERS[layer.type](layer, given)
    return keras.Model(made[""], made[network.layers[-1].name], name=network.name)


def _one(make: Callable[[str], Any]) -> Callable[[Layer, list[Any]], Any]:
    """A maker of a layer that is told nothing but its name."""
    return lambda layer, given: make(layer.name)(given[0] if len(given) == 1 else given)


def _padded(layer: Layer, x: Any) -> tuple[Any, str]:
    """The input of a window and the padding that gives the definition's size."""
    window = layer.window
    assert window is not None
    if window.pad == (0, 0):
        return x, "valid"
    same = all(-(-size // window.stride) == out for size, out in zip(x.shape[1:3], layer.shape[:2], strict=True))
    if same:
        return x, "same"
    rows, columns = window.pad
    return layers.ZeroPadding2D((rows, columns), name=f"{layer.name}_pad")(x), "valid"


def _conv(layer: Layer, given: list[Any]) -> Any:
    assert layer.window is not None
    x, padding = _padded(layer, given[0])
    window = layer.window
    return layers.Conv2D(layer.shape[2], window.kernel, window.stride, padding, name=layer.name)(x)


def _pool(layer: Layer, given: list[Any]) -> Any:
    assert layer.window is not None
    x, padding = _padded(layer, given[0])
    if layer.shape[:2] == (1, 1):
        return layers.AveragePooling2D(layer.window.kernel, layer.window.stride, padding, name=layer.name)(x)
    return layers.MaxPooling2D(layer.window.kernel, layer.window.stride, padding, name=layer.name)(x)


def _dense(layer: Layer, given: list[Any]) -> Any:
    x = given[0]
    if len(x.shape) > 2:
        x = layers.Flatten(name=f"{layer.name}_flat")(x)
    return layers.Dense(layer.shape[2], name=layer.name)(x)


_MAKERS: dict[str, Callable[[Layer, list[Any]], Any]] = {
    "CONV": _conv,
    "POOL": _pool,
    "FC": _dense,
    "ACT": _one(lambda name: layers.ReLU(name=name)),
    "LRN": _one(lambda name: LocalResponseNormalization(name=name)),
    "BN": _one(lambda name: layers.BatchNormalization(name=name)),
    "DROPOUT": _one(lambda name: layers.Dropout(0.5, name=name)),
    "SOFTMAX": _one(lambda name: layers.Softmax(name=name)),
    "JOIN": _one(lambda name: layers.Add(name=name)),
    "CONCAT": _one(lambda name: layers.Concatenate(name=name)),
}
