"""Steps that must not run twice are found by the operations that they make."""

from __future__ import annotations

from typing import Any

import keras
import pytest
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


class Named(layers.Embedding):
    """Keras's own, under a name of the user's."""


class Gathering(layers.Layer):
    """Looks its rows up by itself."""

    def build(self, input_shape: Any) -> None:
        self.table = self.add_weight(shape=(12, 8))

    def call(self, inputs: Any) -> Any:
        return tf.gather(self.table, inputs)


class Tied(Gathering):
    """Its table is the output's weight as well."""

    def call(self, inputs: Any, reverse: bool = False) -> Any:
        return tf.matmul(inputs, self.table, transpose_b=True) if reverse else super().call(inputs)


@pytest.mark.parametrize("kind", [Named, Gathering])
def test_whatever_has_sparse_gradients_is_kept(kind: type[layers.Layer]) -> None:
    inputs = keras.Input((6,), dtype="int32")
    layer = Named(12, 8) if kind is Named else Gathering()
    inner_inputs = keras.Input((6, 8))
    inner = keras.Model(inner_inputs, layers.Dense(4)(layers.Dense(8)(inner_inputs)))
    model = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(inner(layer(inputs)))))
    assert alone(model, 4) == [layer]


def test_a_table_that_is_multiplied_with_as_well_has_dense_gradients() -> None:
    inputs = keras.Input((6,), dtype="int32")
    table = Tied()
    assert not alone(keras.Model(inputs, table(layers.Dense(8)(table(inputs)), reverse=True)), 4)


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


def test_a_layer_that_assigns_its_trained_weights_is_kept() -> None:
    inputs = keras.Input((16,))
    x = layers.Dense(16, activation="relu")(inputs)
    x = layers.SpectralNormalization(layers.Dense(16))(x)
    x = layers.BatchNormalization()(layers.Dense(16)(x))
    (kept,) = alone(keras.Model(inputs, layers.Dense(1)(x)), 8)
    assert isinstance(kept, layers.SpectralNormalization)


def test_mixed_precision_assigns_nothing() -> None:
    inputs = keras.Input((16,))
    policy = "mixed_bfloat16"
    x = layers.Dense(16, activation="relu", dtype=policy)(inputs)
    x = layers.BatchNormalization(dtype=policy)(layers.Dense(16, dtype=policy)(x))
    assert not alone(keras.Model(inputs, layers.Dense(1)(x)), 8)
