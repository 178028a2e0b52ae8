"""Ways of training besides a plain `fit`: the numbers are those of plain Keras in each."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from sknc.runtime.memory.execute.flatten import flatten
from sknc.runtime.memory.execute.runner import Runner
from sknc.runtime.memory.execute.spill import DiskPool

X = np.random.default_rng(1).normal(size=(16, 8)).astype("float32")
Y = X[:, :1]


@pytest.fixture(autouse=True)
def policy() -> Iterator[None]:
    """Leaves the policy as it was."""
    before = keras.config.dtype_policy()
    yield
    keras.config.set_dtype_policy(before)


def net(pieces: bool, activation: str = "tanh", mode: str = "recompute") -> Any:
    """The same network each time, in three segments if wanted."""
    keras.utils.set_random_seed(0)
    x = inputs = keras.Input((8,))
    for _ in range(3):
        x = layers.Dropout(0.2)(layers.Dense(8, activation=activation)(x))
    model = keras.Model(inputs, layers.Dense(1)(x))
    if pieces:
        graph = flatten(model)
        assert graph is not None
        pools = {"spill": DiskPool()} if mode == "spill" else None
        model.call = Runner(graph, [2, 3, 2], [mode, mode, "keep"], pools, ahead=True)
    return model


def fitted(
    pieces: bool, policy: str = "float32", steps: int = 1, mode: str = "recompute", **optimizer: Any
) -> list[Any]:
    """Weights after some steps of Adam."""
    keras.config.set_dtype_policy(policy)
    model = net(pieces, mode=mode)
    model.compile(keras.optimizers.Adam(0.01, **optimizer), "mse", jit_compile=False, steps_per_execution=steps)
    model.fit(X, Y, batch_size=4, epochs=2, verbose=0, shuffle=False)
    return [np.asarray(weight, "float32") for weight in model.get_weights()]


@pytest.mark.parametrize(
    ("policy", "more"),
    [
        ("mixed_float16", {}),
        ("float32", {"gradient_accumulation_steps": 2}),
        ("float32", {"use_ema": True, "clipnorm": 0.1}),
        ("float32", {"steps": 2}),
    ],
    ids=["loss scaling", "accumulation", "averages and clipping", "several steps at once"],
)
def test_optimisers_and_policies(policy: str, more: dict[str, Any]) -> None:
    plain = fitted(False, policy, **more)
    for mode in ("recompute", "spill"):
        for one, two in zip(plain, fitted(True, policy, mode=mode, **more), strict=True):
            np.testing.assert_allclose(two, one, atol=1e-6)


@pytest.mark.parametrize("how", [{"jit_compile": True}, {"run_eagerly": True}], ids=["XLA", "eager"])
def test_compiled_and_eager(how: dict[str, Any]) -> None:
    losses = []
    for pieces in (False, True):
        model = net(pieces)
        model.compile("sgd", "mse", **how)
        losses.append([float(model.train_on_batch(X, Y)) for _ in range(2)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
    assert losses[0][0] != losses[0][1]


def penalty(model: Any) -> list[Any]:
    """The gradient of a penalty on the gradient, as of WGAN-GP."""
    inputs = tf.constant(X)

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(inputs)
                outputs = model(inputs, training=True)
            loss = tf.reduce_sum(inner.gradient(outputs, inputs) ** 2)
        return [gradient for gradient in outer.gradient(loss, model.trainable_variables) if gradient is not None]

    return [gradient.numpy() for gradient in step()]


def test_gradients_of_gradients() -> None:
    plain, ours = penalty(net(False)), penalty(net(True))
    assert len(plain) == len(ours) > 4
    for one, two in zip(plain, ours, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-6)


def test_a_call_inside_of_a_function_of_the_users() -> None:
    found = []
    for pieces in (False, True):
        model = net(pieces)
        call = tf.function(lambda x, model=model: model(x, training=True))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(call(tf.constant(X)) ** 2)
        found.append([gradient.numpy() for gradient in tape.gradient(loss, model.trainable_variables)])
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-6)


def test_copies_are_plain_models() -> None:
    model = net(True)
    for made in (copy.deepcopy(model), keras.models.clone_model(model)):
        assert "call" not in vars(made)
    np.testing.assert_array_equal(copy.deepcopy(model).predict(X, verbose=0), model.predict(X, verbose=0))


def test_a_part_that_is_frozen_later_stays_as_it_is() -> None:
    model = net(True)
    model.layers[1].trainable = False
    before = model.layers[1].get_weights()
    model.compile("sgd", "mse", jit_compile=False)
    model.train_on_batch(X, Y)
    for one, two in zip(before, model.layers[1].get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
