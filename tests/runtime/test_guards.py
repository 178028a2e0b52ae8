"""Models that do not fit a share are refused by name; what a model's outputs mean is found out."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

import sknc.runtime as skn_runtime
from sknc.runtime.checks import activation_name, from_logits, output_layer, output_shape
from sknc.runtime.data.arrays import Rows
from tests.runtime.helpers import spy


def compiled(*layers: Any, loss: Any = "sparse_categorical_crossentropy", shape: tuple[int, ...] = (4,)) -> Any:
    model = keras.Sequential([keras.Input(shape), *layers])
    model.compile(optimizer="sgd", loss=loss, run_eagerly=True)
    return model


def test_an_output_layer_of_another_width_is_refused_with_both_numbers(begin, data) -> None:
    begin()
    message = "the output layer 'answer' has 6 units, this submodel has 3 classes"
    with pytest.raises(skn_runtime.ProgramError, match=message):
        skn_runtime.fit(spy(6), *data, verbose=0)


class Subclassed(keras.Model):
    """A network that only a call reveals."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.head = keras.layers.Dense(units, activation="softmax")

    def call(self, x: Any) -> Any:
        return self.head(x)


@pytest.mark.parametrize("make", [Subclassed, lambda units: keras.Sequential([keras.layers.Dense(units)])])
def test_networks_that_are_not_built_yet_are_looked_at_too(begin, data, make) -> None:
    wrong, right = make(5), make(3)
    begin()
    for model in (wrong, right):
        model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", run_eagerly=True)
    with pytest.raises(skn_runtime.ProgramError, match="has 5 units, this submodel has 3 classes"):
        skn_runtime.fit(wrong, *data, verbose=0)
    history = skn_runtime.fit(right, *data, batch_size=16, verbose=0)
    assert len(history.history["loss"]) == 1
    assert right.predict(data[0][:5], verbose=0).shape == (5, 3), "looking must not fix the batch size"


def test_a_model_whose_call_does_not_predict_is_left_to_its_own_training() -> None:
    class Own(keras.Model):
        def call(self, x: Any) -> Any:
            raise RuntimeError("this model only trains")

    assert output_shape(Own(), Rows(np.zeros((2, 4)), None, None)) is None


def test_one_class_per_token_is_refused(begin, data) -> None:
    x, y = data
    model = compiled(keras.layers.Reshape((2, 2)), keras.layers.Dense(3, name="per_token"))
    begin()
    with pytest.raises(skn_runtime.ProgramError, match=r"'per_token' .* one class per pixel or token"):
        skn_runtime.fit(model, x, y, verbose=0)


@pytest.mark.parametrize("symbolic", [True, False])
def test_several_outputs_are_refused(begin, data, symbolic) -> None:
    inputs = keras.Input((4,))
    first, second = keras.layers.Dense(3, name="kind"), keras.layers.Dense(3, name="colour")

    class Two(keras.Model):
        def call(self, x: Any) -> Any:
            return [first(x), second(x)]

    model = keras.Model(inputs, [first(inputs), second(inputs)]) if symbolic else Two()
    model.compile(optimizer="sgd", loss="mse")
    begin()
    with pytest.raises(skn_runtime.ProgramError, match="has 2 outputs"):
        skn_runtime.fit(model, *data, verbose=0)


def test_binary_outputs_have_one_or_two_units(begin, data) -> None:
    x, y = data
    begin(kind="binary", of=2, half=0)
    with pytest.raises(skn_runtime.ProgramError, match="has 3 units; a binary block has 1"):
        skn_runtime.fit(spy(3), x, y % 2, verbose=0)


def test_regression_outputs_have_the_parts_width(begin, data) -> None:
    x, _ = data
    begin(kind="regression", part=[0, 3])
    with pytest.raises(skn_runtime.ProgramError, match="has 10 units, this submodel's part of the targets has 4"):
        skn_runtime.fit(spy(10), x, np.zeros((60, 10)), verbose=0)
    with pytest.raises(skn_runtime.ProgramError, match=r"has shape \(10,\), .* part of the targets has \(2, 4\)"):
        skn_runtime.fit(spy(10), x, np.zeros((60, 2, 10)), verbose=0)


def test_image_outputs_of_another_size_say_what_patches_need(begin) -> None:
    inputs = keras.Input((6, 5, 1))
    halved = keras.layers.UpSampling2D(2)(keras.layers.MaxPooling2D(2)(inputs))
    model = keras.Model(inputs, halved)
    model.compile(optimizer="sgd", loss="mse")
    images = np.zeros((4, 12, 5, 1))
    begin(kind="local_regression", grid=[2, 1], part=[0, 2])
    with pytest.raises(skn_runtime.ProgramError, match=r"has shape \(6, 4, 1\), .*\(6, 5, 1\)\n.*patches of even size"):
        skn_runtime.fit(model, images, images, verbose=0)


def test_one_block_trains_one_model(begin, data) -> None:
    begin()
    first, again = spy(), spy()
    skn_runtime.fit(first, *data, verbose=0)
    skn_runtime.fit(again, *data, verbose=0)  # the same network, loaded from a checkpoint, say
    inputs = keras.Input((4,))
    other = spy(inputs=inputs, outputs=lambda t: keras.layers.Dense(3)(keras.layers.Dense(2)(t)))
    with pytest.raises(skn_runtime.ProgramError, match="the block trains two models"):
        skn_runtime.fit(other, *data, verbose=0)


LOSSES = keras.losses


@pytest.mark.parametrize(
    ("layers", "loss", "logits", "activation"),
    [
        ([keras.layers.Dense(3, activation="softmax")], "sparse_categorical_crossentropy", False, "softmax"),
        ([keras.layers.Dense(3)], LOSSES.SparseCategoricalCrossentropy(from_logits=True), True, "linear"),
        ([keras.layers.Dense(3)], LOSSES.CategoricalCrossentropy(from_logits=True), True, "linear"),
        (
            [keras.layers.Dense(3, activation="softmax")],
            LOSSES.SparseCategoricalCrossentropy(from_logits=True),
            False,
            "softmax",
        ),
        ([keras.layers.Dense(3), keras.layers.Softmax()], "categorical_crossentropy", False, "softmax"),
        ([keras.layers.Dense(3), keras.layers.Activation("softmax")], "mse", False, "softmax"),
        ([keras.layers.Dense(3)], lambda y, p: keras.ops.mean(p), True, "linear"),
        ([keras.layers.Dense(3)], "sparse_categorical_crossentropy", False, "linear"),
        ([keras.layers.Dense(3, activation="relu")], lambda y, p: keras.ops.mean(p), False, "relu"),
        ([keras.layers.Dense(1, activation="sigmoid")], LOSSES.BinaryCrossentropy(), False, "sigmoid"),
        ([keras.layers.Dense(1)], [LOSSES.BinaryCrossentropy(from_logits=True)], True, "linear"),
    ],
)
def test_logits_are_told_from_probabilities(layers, loss, logits, activation) -> None:
    model = compiled(*layers, loss=loss)
    assert from_logits(model) is logits
    assert activation_name(model) == activation


def test_the_output_of_a_nested_model_and_of_an_operation_is_found() -> None:
    inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="sigmoid", name="inside")])
    inputs = keras.Input((4,))
    assert output_layer(keras.Model(inputs, inner(inputs))).name == "inside"
    assert activation_name(keras.Model(inputs, keras.ops.softmax(inputs))) == "softmax"
    assert output_layer(Subclassed(3)).units == 3
