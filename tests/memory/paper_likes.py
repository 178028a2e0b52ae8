"""Networks of the paper as a user writes them in Keras; as a process, all of the paper's as sknc builds them."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import keras
from keras import layers


class LocalResponseNormalization(layers.Layer):  # type: ignore[misc]
    def call(self, inputs: Any) -> Any:
        import tensorflow as tf

        return tf.nn.local_response_normalization(inputs)


def alexnet() -> Any:
    """Activations as arguments and as layers."""
    x = inputs = keras.Input((227, 227, 3))
    x = LocalResponseNormalization()(layers.Conv2D(96, 11, 4, activation="relu")(x))
    x = layers.Conv2D(256, 5, padding="same")(layers.MaxPooling2D(3, 2)(x))
    x = layers.MaxPooling2D(3, 2)(LocalResponseNormalization()(layers.ReLU()(x)))
    for filters in (384, 384, 256):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    x = layers.Flatten()(layers.MaxPooling2D(3, 2)(x))
    for _ in range(2):
        x = layers.Dropout(0.5)(layers.Dense(4096, "relu")(x))
    return keras.Model(inputs, layers.Dense(1000, "softmax")(x))


class Unit(layers.Layer):  # type: ignore[misc]
    """Convolution and batch norm as a layer of its own."""

    def __init__(self, filters: int, kernel: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = layers.Conv2D(filters, kernel, stride, padding="same")
        self.norm = layers.BatchNormalization()

    def call(self, inputs: Any, training: bool = False) -> Any:
        return self.norm(self.conv(inputs), training=training)


def resnet50() -> Any:
    x = inputs = keras.Input((227, 227, 3))
    x = layers.MaxPooling2D(3, 2)(layers.ReLU()(Unit(64, 7, 2)(x)))
    for stage, count in enumerate((3, 4, 6, 3)):
        for number in range(count):
            filters, stride = 64 << stage, 2 if stage and number == 0 else 1
            y = layers.Activation("relu")(Unit(filters, 1, stride)(x))
            y = Unit(4 * filters, 1)(keras.ops.relu(Unit(filters, 3)(y)))
            short = Unit(4 * filters, 1, stride)(x) if number == 0 else x
            x = layers.ReLU()(layers.Add()([y, short]) if number % 2 else y + short)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(1000, "softmax")(x))


def main(names: list[str]) -> None:
    """Prints, for each of the paper's networks, where the one read from its Keras model differs."""
    from sknc.memplan.networks import network_of
    from sknc.memplan.papermodels import paper_model
    from sknc.runtime.memory.accounting import unroll
    from sknc.runtime.memory.papernets import paper_network

    scope = keras.StatelessScope()
    scope.__enter__()
    for name in names:
        paper = paper_network(name)
        ours = network_of(paper_model(paper))
        # In another order of branches the numbers of tensors are others: the layers have to be the same.
        left, right = ({layer.name: layer for layer in network.layers} for network in (paper, ours))
        differing = [
            key
            for key in left
            if key not in right
            or left[key].type != right[key].type
            or left[key].inputs != right[key].inputs
            or left[key].elements != right[key].elements
            or left[key].parameters != right[key].parameters
            or left[key].state != right[key].state
        ]
        counts = [len(unroll(network, 2).tensors) for network in (paper, ours)]
        print(json.dumps({"name": name, "differing": differing, "layers": len(ours.layers), "tensors": counts}))
    sys.stdout.flush()
    # Leaving the scope would make all weights.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
