"""Steps that must not run twice are found by the operations that they make."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import layers

from sknc.runtime.memory.execute.choose import Chooser
from sknc.runtime.memory.execute.flatten import flatten
from sknc.runtime.memory.execute.plans import KEEP
from sknc.runtime.memory.execute.predicting import Predictor
from tests.memory_runtime.nets import attention, hidden_state


def alone(model: Any, batch: int) -> list[Any]:
    """The operations of steps that no plan may run a second time."""
    graph = flatten(model)
    assert graph is not None
    found = Predictor(model, batch, keras.optimizers.SGD()).profile(graph).alone
    return [graph.steps[place].operation for place in sorted(found)]


class Shaken(layers.Layer):
    """Draws from TensorFlow directly: no seed of it can be replayed."""

    def call(self, inputs: Any) -> Any:
        return inputs + tf.random.normal(tf.shape(inputs))


def test_keras_layers_may_run_twice_but_for_embeddings() -> None:
    (kept,) = alone(attention()[0], 4)
    assert isinstance(kept, layers.Embedding)
    assert not alone(hidden_state()[0], 8)


def test_a_layer_with_random_numbers_of_its_own_is_kept_in_every_plan() -> None:
    inputs = keras.Input((512,))
    x = inputs
    for number in range(8):
        x = layers.Dense(512, activation="relu")(x)
        x = Shaken()(x) if number == 3 else x
    model = keras.Model(inputs, layers.Dense(1)(x))
    graph = flatten(model)
    assert graph is not None
    (kept,) = alone(model, 2048)
    assert isinstance(kept, Shaken)
    chooser = Chooser(graph, Predictor(model, 2048, keras.optimizers.SGD()))
    plan = chooser.choose(int(0.75 * chooser.plain))
    assert not plan.changes_nothing
    (mine,) = [s for s in plan.segments if s.first == "shaken" or s.last == "shaken"]
    assert mine.mode == KEEP
