"""Which operations of a traced step count, and what is said where the trace does not tell all."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from sknc.runtime.memory.tracing import trace_step

MIB = 2**20


class Noise(keras.layers.Layer):
    """Draws 8 MiB whose shape is a constant."""

    def call(self, inputs: Any) -> Any:
        return inputs + tf.reduce_mean(tf.random.normal((2048, 1024)) * tf.reduce_mean(inputs))


class Table(keras.layers.Layer):
    """Computes a megabyte from constants."""

    def call(self, inputs: Any) -> Any:
        return inputs + tf.reduce_mean(tf.sqrt(tf.fill((512, 512), 2.0)) * tf.reduce_mean(inputs))


def sizes(layer: keras.layers.Layer) -> dict[str, list[int]]:
    """Bytes of what each type of operation makes in a step with a layer."""
    inputs = keras.Input((8,))
    traced = trace_step(keras.Model(inputs, keras.layers.Dense(1)(layer(inputs))), 4)
    found: dict[str, list[int]] = {}
    for op in traced.run.ops:
        found.setdefault(op.type, []).extend(traced.run.sizes[tensor] for tensor in op.makes)
    return found


def test_random_numbers_are_not_known_before_the_step() -> None:
    assert sizes(Noise())["RandomStandardNormal"] == [8 * MIB]


def test_what_is_computed_from_constants_is() -> None:
    found = sizes(Table())
    assert "Sqrt" not in found
    assert "Fill" not in found
