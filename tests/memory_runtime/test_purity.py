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
from sknc.runtime.memory.execute.runner import Runner
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


def test_keras_layers_may_run_twice_but_for_embeddings_and_classes() -> None:
    kept, last = alone(attention()[0], 4)
    assert isinstance(kept, layers.Embedding)
    assert last.activation is keras.activations.softmax
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


def with_ends(kind: str) -> Any:
    """One output in the middle and one at the end."""
    inputs = keras.Input((8,))
    x = layers.Dense(8, "relu")(inputs)
    early = layers.Activation(kind)(layers.Dense(2)(x))
    late = layers.Dense(2, kind)(layers.Dense(8, "relu")(x))
    return keras.Model(inputs, [early, late])


@pytest.mark.parametrize(("kind", "count"), [("softmax", 2), ("sigmoid", 2), ("tanh", 0), ("linear", 0)])
def test_losses_find_the_logits_behind_every_output(kind: str, count: int) -> None:
    """With probabilities alone, cross-entropy cuts off what is near zero, and its gradient."""
    assert len(alone(with_ends(kind), 4)) == count


class Spectrum(layers.Layer):
    """Hands complex numbers on."""

    def call(self, inputs: Any) -> Any:
        return tf.signal.fft(tf.cast(inputs, tf.complex64))

    def compute_output_spec(self, inputs: Any) -> Any:
        return keras.KerasTensor(inputs.shape, "complex64")


class Strength(layers.Layer):
    """Takes complex numbers."""

    def call(self, inputs: Any) -> Any:
        return tf.abs(inputs)

    def compute_output_spec(self, inputs: Any) -> Any:
        return keras.KerasTensor(inputs.shape, "float32")


def test_gradients_flow_through_complex_numbers_that_segments_hand_on() -> None:
    inputs = keras.Input((16,))
    x = Strength()(Spectrum()(layers.Dense(16, "tanh")(inputs)))
    model = keras.Model(inputs, layers.Dense(2)(x))
    graph = flatten(model)
    assert graph is not None
    batch = tf.random.stateless_normal((4, 16), (0, 1))

    def gradients() -> list[Any]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(batch, training=True) ** 2)
        found: list[Any] = tape.gradient(loss, model.trainable_variables)
        return found

    plain = gradients()
    model.call = Runner(graph, [2, 1, 1], ["recompute", "recompute", "keep"])
    for one, other in zip(gradients(), plain, strict=True):
        assert one is not None
        tf.debugging.assert_near(one, other, atol=1e-5)
