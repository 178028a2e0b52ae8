"""What stands on a model: what a user put there is used and given back, and what changes is noticed."""

from __future__ import annotations

import functools
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from sknc.runtime.memory.errors import InfeasibleBudget, PlanError
from sknc.runtime.memory.execute import ordering
from sknc.runtime.memory.execute.keeper import fit_in_memory, keeper_of, plan_of, release
from sknc.runtime.memory.execute.runner import Runner

BATCH = 8
X = np.random.default_rng(0).normal(size=(BATCH, 32, 32, 3)).astype("float32")
Y = np.zeros((BATCH, 4), "float32")
# What the least plan is given besides, for the data.
DATA = 2**20


def chain(kind: Any = keras.Sequential) -> Any:
    keras.utils.set_random_seed(0)
    own = [layers.Conv2D(16, 3, padding="same", activation="relu") for _ in range(8)]
    model = keras.Sequential([keras.Input((32, 32, 3)), *own, layers.GlobalAveragePooling2D(), layers.Dense(4)])
    if kind is not keras.Sequential:
        model = kind(model.inputs, model.outputs)
    model.compile("sgd", "mse", jit_compile=False)
    return model


@functools.cache
def least() -> int:
    """The smallest budget of the chain, with its data."""
    with pytest.raises(InfeasibleBudget) as caught:
        fit_in_memory(chain(), 1000, BATCH)
    assert caught.value.smallest
    return int(caught.value.smallest) + DATA


def train(model: Any) -> None:
    model.fit(X, Y, batch_size=BATCH, verbose=0)


def test_a_users_own_fit_is_called_and_given_back() -> None:
    model, called = chain(), []
    usual = model.fit

    def own(*args: Any, **kwargs: Any) -> Any:
        called.append(1)
        return usual(*args, **kwargs)

    model.fit = own
    fit_in_memory(model, least(), BATCH)
    train(model)
    assert called and isinstance(vars(model).get("call"), Runner)
    assert release(model).fit is own and "call" not in vars(model) and "make_train_function" not in vars(model)


def test_a_model_with_a_call_of_its_own_is_no_graph() -> None:
    model = chain()
    usual = type(model).call
    own = model.call = lambda inputs, training=None, mask=None: usual(model, inputs, training=training)
    with pytest.raises(InfeasibleBudget, match="Python code of its own"):
        fit_in_memory(model, least(), BATCH)
    fit_in_memory(model, "1GiB", BATCH)
    train(model)
    assert model.call is own and release(model).call is own


def test_a_model_that_was_never_kept_is_left_alone() -> None:
    model = chain()
    own = model.train_step = lambda data: keras.Model.train_step(model, data)
    train(model)
    made = model.train_function
    assert release(model) is model and model.train_step is own and model.train_function is made


def test_another_layer_without_weights_is_another_network() -> None:
    model = chain()
    fit_in_memory(model, least() + DATA, BATCH)
    train(model)
    before = vars(model)["call"]
    # What is trained is what is seen afterwards.
    model.add(layers.Activation("tanh"))
    model.compile("sgd", "mse", jit_compile=False)
    train(model)
    after = vars(model)["call"]
    assert len(after.graph.steps) == len(before.graph.steps) + 1
    model.pop()
    model.add(layers.Activation("sigmoid"))
    model.compile("sgd", "mse", jit_compile=False)
    train(model)
    assert vars(model)["call"] is not after


class InFunction(keras.Model):
    """Its step is a `tf.function`, whose Python has to be rewritten."""

    @tf.function
    def train_step(self, data: Any) -> Any:
        x, y = data
        weight = tf.constant(1.0)
        if tf.reduce_sum(y) > 1000:
            weight = tf.constant(2.0)
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True)) * weight
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


class Plainly(keras.Model):
    """Its `make_train_function` takes nothing."""

    def make_train_function(self) -> Any:
        return super().make_train_function()


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For each graph of a train step, how many updates are waited for."""
    found: list[int] = []
    usual = ordering.order_updates

    def noted(*args: Any) -> int:
        found.append(usual(*args))
        return found[-1]

    monkeypatch.setattr(ordering, "order_updates", noted)
    return found


def test_updates_inside_of_a_tf_function_are_ordered(waited: list[int]) -> None:
    model = chain(InFunction)
    own = model.train_step
    fit_in_memory(model, least(), BATCH)
    train(model)
    assert max(waited) > 10
    plain = chain(InFunction)
    train(plain)
    for one, other in zip(model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    release(model)
    assert model.train_step == own or "train_step" not in vars(model)


def test_a_train_step_that_is_put_there_later_is_ordered(waited: list[int]) -> None:
    model = chain()
    fit_in_memory(model, least(), BATCH)

    def own(data: Any) -> Any:
        return keras.Model.train_step(model, data)

    model.train_step = own
    train(model)
    assert max(waited) > 10
    assert release(model).train_step is own


def test_make_train_function_is_called_as_keras_does() -> None:
    model = chain(Plainly)
    fit_in_memory(model, least(), BATCH)
    train(model)
    assert keeper_of(model) is not None


def test_nothing_is_recomputed_where_no_gradient_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    model = chain()
    fit_in_memory(model, least(), BATCH)
    ran: list[bool] = []
    usual = Runner._run

    def noted(self: Any, *args: Any) -> None:
        ran.append(True)
        usual(self, *args)

    monkeypatch.setattr(Runner, "_run", noted)
    alone = model(X)
    assert not ran
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(X))
    assert ran and all(one is not None for one in tape.gradient(loss, model.trainable_variables))
    np.testing.assert_allclose(alone, release(model)(X), atol=1e-6)


@pytest.mark.parametrize("shape", [(None, 80), "large", (3.5,), (0,), (), (True, 4)], ids=str)
def test_what_is_no_shape_of_a_sample_is_refused(shape: Any) -> None:
    model = keras.Sequential([layers.Dense(3)])
    with pytest.raises(PlanError, match="input_shape"):
        fit_in_memory(model, "1GiB", BATCH, input_shape=shape)


def test_the_host_has_to_be_a_device() -> None:
    with pytest.raises(PlanError, match=r"'foo'.*CPU:0"):
        fit_in_memory(chain(), "1GiB", BATCH, host="foo")


class Strange(keras.optimizers.SGD):
    """Cannot be made anew."""

    def __init__(self, factor: float) -> None:
        super().__init__(factor)

    def get_config(self) -> Any:
        return {"name": "strange"}


def test_an_optimizer_that_cannot_be_made_anew_is_named() -> None:
    model = chain()
    model.compile(Strange(0.1), "mse")
    with pytest.raises(PlanError, match=r"Strange.*get_config"):
        fit_in_memory(model, "1GiB", BATCH)


def test_a_plan_is_not_for_images_of_another_size() -> None:
    def model(side: int) -> Any:
        keras.backend.clear_session()
        return keras.Sequential([keras.Input((side, side, 3), name="images"), layers.Conv2D(4, 3), layers.Flatten()])

    plan = plan_of(fit_in_memory(model(8), "1GiB", BATCH))
    fit_in_memory(model(8), "1GiB", BATCH, plan=plan)
    with pytest.raises(PlanError, match="other layers"):
        fit_in_memory(model(16), "1GiB", BATCH, plan=plan)
