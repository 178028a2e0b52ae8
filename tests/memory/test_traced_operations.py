"""Which operations of a traced step count, and what is said where the trace does not tell all."""

from __future__ import annotations

from typing import Any

import keras
import pytest
import tensorflow as tf

from sknc.runtime.memory.oplayers import layer_graph
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


class Doubling(keras.layers.Layer):
    """Goes on until it is done, or for so many turns."""

    def __init__(self, most: int | None = None) -> None:
        super().__init__()
        self.most = most

    def call(self, inputs: Any) -> Any:
        def again(value: Any) -> Any:
            return tf.reduce_max(value) < 1000.0

        return tf.while_loop(again, lambda value: (value * 2.0,), (inputs,), maximum_iterations=self.most)[0]


@pytest.mark.parametrize(("most", "told"), [(None, True), (7, False)])
def test_a_loop_that_does_not_say_how_often_it_turns_is_told(most: int | None, told: bool) -> None:
    inputs = keras.Input((8,))
    notes = trace_step(keras.Model(inputs, keras.layers.Dense(1)(Doubling(most)(inputs))), 4).notes
    said = [note for note in notes if "does not say how often it turns" in note]
    assert len(said) == told
    assert all("a loop in doubling" in note for note in said)


def test_recurrent_layers_say_how_often_they_turn() -> None:
    assert not trace_step(keras.Sequential([keras.Input((12, 8)), keras.layers.GRU(4), keras.layers.Dense(1)]), 4).notes


def test_layers_are_told_apart_that_are_named_like_another_ones_further_calls() -> None:
    twice, other = keras.layers.Dense(8, name="dense"), keras.layers.ReLU(name="dense_1")
    inputs = keras.Input((8,))
    model = keras.Model(inputs, keras.layers.Dense(1, name="dense_2")(other(twice(twice(inputs)))))
    nodes = layer_graph(trace_step(model, 4).graph).nodes
    assert [(node.name, node.type) for node in nodes][:4] == [
        ("dense", "Dense"),
        ("dense#2", "Dense"),
        ("dense_1", "ReLU"),
        ("dense_2", "Dense"),
    ]
