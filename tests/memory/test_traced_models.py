"""What of a user's model is traced: inputs in any structure, losses in any form, a `call` without `training`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.tracing import Traced, input_structure, trace_step

BATCH = 64


class Plain(keras.Model):  # type: ignore[misc]
    """A `call` without `training`, as many write it."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = layers.Dense(30, "relu")
        self.drop = layers.Dropout(0.5)
        self.answer = layers.Dense(3, "softmax")

    def call(self, inputs: Any) -> Any:
        return self.answer(self.drop(self.hidden(inputs)))


class Stepping(Plain):
    """With a training step of its own."""

    def train_step(self, data: Any) -> dict[str, Any]:
        raise AssertionError("planning trains nothing")


class Pair(keras.Model):  # type: ignore[misc]
    """Two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = layers.Dense(30)

    def call(self, inputs: Any) -> Any:
        one, two = inputs.values() if isinstance(inputs, dict) else inputs
        return self.hidden(one) + self.hidden(two)


class Nothing(keras.Model):  # type: ignore[misc]
    """Returns nothing."""

    def call(self, inputs: Any) -> Any:
        return None


def heads(loss: Any, *, as_list: bool = False, **options: Any) -> Any:
    inputs = keras.Input((8,))
    hidden = layers.Dense(20)(inputs)
    kind, value = layers.Dense(4, "softmax", name="kind")(hidden), layers.Dense(1, name="value")(hidden)
    model = keras.Model(inputs, [kind, value] if as_list else {"kind": kind, "value": value})
    model.compile("sgd", loss, **options)
    return model


def one(loss: Any, **options: Any) -> Any:
    model = keras.Sequential([keras.Input((8,)), layers.Dense(4, activation="softmax")])
    model.compile("sgd", loss, **options)
    return model


def targets(traced: Traced, inputs: int = 8 * 4) -> int:
    """Bytes of the targets of one sample."""
    assert traced.inputs % BATCH == 0
    return traced.inputs // BATCH - inputs


@pytest.mark.parametrize("build", [Plain, Stepping])
def test_a_call_without_training(build: Callable[[], Any]) -> None:
    model = build()
    model.compile("sgd", "mse")
    traced = trace_step(model, BATCH, (8,))
    # Keras does not train the dropout of such a model, either: nothing random is traced.
    assert not [op for op in traced.graph.ops if "Random" in op.type]
    assert len(traced.graph.gradients) == 4
    assert bool(traced.notes) == (build is Stepping)
    assert all("train_step of its own" in note for note in traced.notes)


def test_inputs_in_a_structure() -> None:
    for data in ([np.zeros((2, 8)), np.zeros((2, 8))], {"a": np.zeros((2, 8)), "b": np.zeros((2, 8))}):
        model = Pair()
        model(data)
        assert targets(trace_step(model, BATCH), 2 * 8 * 4) == 30 * 4
        symbols = keras.tree.map_structure(lambda array: keras.KerasTensor((None, *array.shape[1:])), data)
        assert targets(trace_step(Pair(), BATCH, symbols), 2 * 8 * 4) == 30 * 4


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ({"kind": "sparse_categorical_crossentropy", "value": "mse"}, 4 + 4),
        ({"kind": keras.losses.CategoricalCrossentropy(), "value": lambda y, p: keras.ops.abs(y - p)}, 16 + 4),
        ({"kind": "sparse_categorical_crossentropy"}, 4),
        ("mse", 16 + 4),
    ],
)
def test_a_loss_for_each_output(loss: Any, expected: int) -> None:
    for as_list in (False, True):
        traced = trace_step(heads(loss, as_list=as_list), BATCH)
        assert targets(traced) == expected
        assert traced.notes == ()


def test_lists_of_losses_and_outputs_without_one() -> None:
    pair = ["sparse_categorical_crossentropy", "mse"]
    assert targets(trace_step(heads(pair, as_list=True, loss_weights=[1.0, 0.2]), BATCH)) == 4 + 4
    assert targets(trace_step(heads([None, "mse"], as_list=True), BATCH)) == 4


def test_losses_that_layers_add_are_part_of_the_step() -> None:
    def made(**options: Any) -> Any:
        return keras.Sequential([keras.Input((8,)), layers.Dense(4, **options)])

    plain = trace_step(made(), BATCH).graph
    added = trace_step(made(kernel_regularizer="l2", activity_regularizer="l2"), BATCH).graph
    assert len(added.ops) > len(plain.ops)


def test_what_is_traced_otherwise_is_told() -> None:
    def picky(y: Any, _: Any) -> Any:
        raise ValueError(f"wants two columns, not {y.shape}")

    (note,) = trace_step(one(picky), BATCH).notes
    assert "the loss 'picky' could not be called" in note
    (note,) = trace_step(one("mse", run_eagerly=True), BATCH).notes
    assert note.startswith("run_eagerly=True")
    (note,) = trace_step(one("mse", jit_compile=True), BATCH).notes
    assert "XLA is not modelled" in note


def test_whole_numbers_and_masks() -> None:
    model = keras.Sequential([layers.Embedding(50, 6, mask_zero=True), layers.LSTM(5), layers.Dense(3, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    spec = keras.KerasTensor((None, 7), dtype="int32")
    assert targets(trace_step(model, BATCH, spec), 7 * 4) == 4


def test_loss_scaling_is_traced() -> None:
    from sknc.runtime.memory.tensorflow import ModelSubjects

    inputs = keras.Input((8, 8, 3))
    x = layers.Flatten()(layers.Conv2D(8, 3, dtype="mixed_float16")(inputs))
    model = keras.Model(inputs, layers.Dense(3, "softmax", dtype="float32")(x))
    model.compile(keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam()), "sparse_categorical_crossentropy")
    subject = ModelSubjects(model, "mixed")(BATCH)
    assert subject.holdings.optimizer == 2 * subject.holdings.gradients > 0


@pytest.mark.parametrize(
    ("model", "shape", "said"),
    [
        (Plain, None, "does not say the shape of its input; give --input-shape"),
        (Nothing, (3,), "the training step of 'nothing[_0-9]*' cannot be traced"),
        (Pair, (3,), "the training step of 'pair[_0-9]*' cannot be traced: [A-Za-z]+: [^\n]*symbolic"),
    ],
)
def test_what_cannot_be_traced_is_one_message(model: Callable[[], Any], shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(PlanError, match=said) as raised:
        trace_step(model(), 2, shape)
    assert "\n" not in str(raised.value)
    assert "\x1b" not in str(raised.value)
    assert len(str(raised.value)) < 350


def test_several_inputs_are_not_said_by_one_shape() -> None:
    inputs = [keras.Input((None,)), keras.Input((None,))]
    model = keras.Model(inputs, layers.Add()(inputs), name="both")
    with pytest.raises(PlanError, match="has 2 inputs, and an input shape says that of one"):
        input_structure(model, (3,))


def test_tracing_leaves_the_model_as_it_was() -> None:
    model = heads({"kind": "sparse_categorical_crossentropy", "value": "mse"})
    before = len(model.variables)
    trace_step(model, BATCH)
    assert len(model.variables) == before
    rows = {"kind": np.zeros((16,), "int32"), "value": np.zeros((16, 1))}
    model.fit(np.ones((16, 8)), rows, verbose=0)
    assert all(isinstance(variable.numpy(), np.ndarray) for variable in model.variables)
    assert tf.executing_eagerly()


class Positions(layers.Layer):  # type: ignore[misc]
    """Adds a table that is no variable, as the tutorials on transformers do, and counts with a metric."""

    def __init__(self) -> None:
        super().__init__()
        self.table = tf.constant(np.sin(np.arange(50 * 40, dtype="float32")).reshape(50, 40))
        self.size = keras.metrics.Mean(name="size")

    def call(self, inputs: Any) -> Any:
        self.size.update_state(keras.ops.mean(keras.ops.abs(inputs)))
        return inputs + self.table[tf.newaxis]


def test_what_a_layer_keeps_beside_its_variables_is_handed_in_and_held() -> None:
    inputs = keras.Input((50, 40))
    without = keras.Model(inputs, layers.Dense(3)(inputs))
    model = keras.Model(inputs, layers.Dense(3)(Positions()(inputs)))
    weights = tf.constant([1.0] * 300)

    def weighted(true: Any, predicted: Any) -> Any:
        return tf.reduce_mean(tf.square(true - predicted)) * tf.reduce_mean(weights)

    model.compile("sgd", weighted)
    traced = trace_step(model, BATCH)
    assert traced.parameters >= trace_step(without, BATCH).parameters + 4 * (50 * 40 + 300)
    assert 4 * 50 * 40 in [traced.run.sizes[tensor] for tensor in traced.run.held]
