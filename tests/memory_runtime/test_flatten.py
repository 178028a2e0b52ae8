"""Flat graphs: models inside of models are opened up, whatever Keras adds to their calls; how large tensors are."""

from __future__ import annotations

from typing import Any

import keras
import pytest
from keras import layers

from sknc.runtime.memory.execute.choose import Chooser
from sknc.runtime.memory.execute.flatten import FlatGraph, flatten
from sknc.runtime.memory.execute.plans import KEEP
from sknc.runtime.memory.execute.predicting import Predictor


def tower() -> Any:
    """A functional model of its own."""
    inputs = keras.Input((24, 24, 1))
    x = inputs
    for _ in range(3):
        x = layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same", activation="tanh")(x))
    return keras.Model(inputs, layers.Dense(4)(layers.GlobalAveragePooling2D()(x)), name="tower")


def twins() -> Any:
    """One tower for two inputs."""
    left, right, inner = keras.Input((24, 24, 1)), keras.Input((24, 24, 1)), tower()
    return keras.Model([left, right], layers.Subtract()([inner(left), inner(right)]))


def names(model: Any) -> list[str]:
    """Of the flat graph's steps."""
    graph = flatten(model)
    assert graph is not None
    return [step.name for step in graph.steps]


def test_every_way_to_call_a_model_is_opened() -> None:
    steps = len(names(tower()))
    inputs = keras.Input((24, 24, 1))
    # Each model has a step that hands its inputs on.
    assert len(names(keras.Model(inputs, tower()(inputs)))) == steps + 1
    assert len(names(keras.Model(inputs, tower()(inputs, training=False)))) == steps + 1
    assert len(names(keras.Sequential([inputs, tower(), layers.Dense(2)]))) == steps + 2
    assert len(names(twins())) == 2 * (steps + 1) + 1
    both = keras.Model([inputs, keras.Input((24, 24, 1))], twins()([inputs, inputs]))
    assert len(names(both)) == 2 * (steps + 1) + 2


def test_a_model_that_is_called_twice_can_be_cut_in_the_middle() -> None:
    # The second call's batch statistics work in the memory of the first one's: some bytes that forbid no cut.
    model = twins()
    graph = flatten(model)
    assert graph is not None
    chooser = Chooser(graph, Predictor(model, 32))
    assert not chooser.profile.chain.joined
    plan = chooser.choose(int(0.9 * chooser.plain))
    assert [segment.mode for segment in plan.segments if segment.mode != KEEP]


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [
        ((None, 8), "float32", 4 * 8 * 4),
        ((None, None, 8), "bfloat16", 4 * 8 * 2),
        ((3, 8), "float64", 3 * 8 * 8),
        ((None, 8), "bool", 4 * 8),
        ((None, 8), "uint8", 4 * 8),
        ((None, 8), "int64", 4 * 8 * 8),
    ],
)
def test_an_unknown_length_counts_as_the_batch_does_once(shape: tuple[int | None, ...], dtype: str, size: int) -> None:
    graph = FlatGraph(None)
    assert graph.size(graph.key(keras.KerasTensor(shape, dtype)), 4) == size
