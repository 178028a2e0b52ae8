"""What `fit` is given: the size of its batches wherever that is said, or to be seen; and what a plan is made for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.execute.keeper import fit_in_memory, keeper_of, plan_of, release
from sknc.runtime.memory.execute.predicting import fingerprint
from sknc.runtime.memory.feeds import allotted, feed_of, resident_bytes
from sknc.runtime.memory.optimizers import optimizer_name

ROWS = 24
X, Y = np.zeros((ROWS, 5), "float32"), np.zeros((ROWS, 1), "float32")
DATA = tf.data.Dataset.from_tensor_slices((X, Y))


class Batches(keras.utils.PyDataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return X[:6], Y[:6]


def generated() -> Iterator[Any]:
    for start in range(0, ROWS, 8):
        yield X[start : start + 8] + start, Y[:8]


@pytest.mark.parametrize(
    ("source", "options", "batch"),
    [
        (X, {}, 32),
        (X, {"batch_size": 7}, 7),
        (X, {"batch_size": np.int64(7)}, 7),
        ({"one": X, "two": X}, {"batch_size": None}, 32),
        (DATA.batch(9, drop_remainder=True), {}, 9),
        (DATA.batch(9), {}, 9),
        (DATA.batch(9).map(lambda x, y: (x * 2, y)).prefetch(2), {}, 9),
        (Batches(), {}, 6),
        (generated, {}, 8),
    ],
)
def test_the_size_of_batches_is_found(source: Any, options: dict[str, Any], batch: int) -> None:
    source = source() if source is generated else source
    for args, kwargs in (((source, Y), {}), ((), {"x": source, "y": Y})):
        assert feed_of(args, {**kwargs, **options}).batch == batch
        source = generated() if hasattr(source, "send") else source


def test_a_generator_that_was_looked_into_gives_all_batches() -> None:
    feed = feed_of((generated(),), {})
    assert [batch[0][0, 0] for batch in feed.args[0]] == [0, 8, 16]
    feed = feed_of((), {"x": generated()})
    assert len(list(feed.kwargs["x"])) == 3


def test_a_source_that_raises_is_left_to_fit() -> None:
    def broken() -> Iterator[Any]:
        raise OSError("no such disk")
        yield

    assert feed_of((broken(),), {}).batch is None
    assert feed_of((object(),), {}).batch is None


def test_what_stays_on_the_device() -> None:
    wide = np.zeros((1000, 100), "float64")
    assert resident_bytes((wide,), {}) == allotted(1000 * 100 * 4), "floats become Keras's own"
    assert resident_bytes((DATA.batch(9),), {}) == X.nbytes + Y.nbytes
    assert resident_bytes((X, Y), {"validation_data": (X, Y)}) == 2 * (X.nbytes + Y.nbytes)


def small(width: int = 16) -> Any:
    inputs = keras.Input((5,), name="inputs")
    hidden = layers.Dense(width, activation="relu", name="hidden")(inputs)
    return keras.Model(inputs, layers.Dense(1, name="answer")(hidden))


def test_the_plan_is_for_the_batches_that_are_given() -> None:
    model = fit_in_memory(small(), "1GiB", batch_size=8)
    model.compile("sgd", "mse")
    for source, batch in ((DATA.batch(9), 9), (Batches(), 6), (generated(), 8)):
        model.fit(source, verbose=0)
        assert plan_of(model).batch_size == batch
    model.fit(X, Y, verbose=0)
    assert plan_of(model).batch_size == 32


def test_a_plan_is_for_an_optimizer_with_its_settings_and_for_what_is_trained() -> None:
    model = small()
    model.compile(keras.optimizers.SGD(), "mse")
    model = fit_in_memory(model, "1GiB", batch_size=8)
    plain = plan_of(model)
    model.fit(X, Y, batch_size=8, verbose=0)
    model.compile(keras.optimizers.SGD(momentum=0.9), "mse")
    model.fit(X, Y, batch_size=8, verbose=0)
    assert (plain.optimizer, plan_of(model).optimizer) == ("SGD", "SGD(momentum=0.9)")
    before = plan_of(model).network
    model.get_layer("hidden").trainable = False
    model.compile(keras.optimizers.SGD(momentum=0.9), "mse")
    model.fit(X, Y, batch_size=8, verbose=0)
    assert plan_of(model).network != before


def test_names_of_optimizers() -> None:
    optimizers = keras.optimizers
    assert optimizer_name(None) == "Adam"
    assert optimizer_name(optimizers.Adam(0.01, name="mine")) == "Adam"
    assert optimizer_name(optimizers.Adam(amsgrad=True)) == "Adam(amsgrad=True)"
    assert optimizer_name(optimizers.LossScaleOptimizer(optimizers.SGD(nesterov=True))) == (
        "LossScaleOptimizer(SGD(nesterov=True))"
    )


def test_a_plan_is_for_networks_of_the_same_widths() -> None:
    plan = plan_of(fit_in_memory(small(16), "1GiB"))
    assert plan is not None
    assert fingerprint(small(16)) == plan.network
    fit_in_memory(small(16), "1GiB", plan=plan)
    with pytest.raises(PlanError, match="other layers"):
        fit_in_memory(small(64), "1GiB", plan=plan)


@pytest.mark.parametrize("anew", [False, True])
def test_xla_is_as_it_was_after_release_unless_compiled_anew(anew: bool) -> None:
    model = small()
    model.compile("sgd", "mse", jit_compile=True)
    fit_in_memory(model, "1GiB")
    keeper = keeper_of(model)
    assert keeper is not None
    keeper.without_xla, model.jit_compile = model.optimizer, False  # as it is where a plan recomputes
    if anew:
        model.compile("sgd", "mse", jit_compile=False)
    assert release(model).jit_compile is not anew


def test_a_vocabulary_in_front_does_not_hide_how_many_rows_there_are() -> None:
    words = keras.layers.TextVectorization(max_tokens=30, output_sequence_length=128)
    words.adapt(["a b c", "d e f"])

    def planned(text: bool) -> int:
        inputs = keras.Input((1,), dtype="string") if text else keras.Input((128,), dtype="int64")
        x = keras.layers.Embedding(30, 64)(words(inputs) if text else inputs)
        for _ in range(2):
            x = keras.layers.Conv1D(64, 3, padding="same", activation="relu")(x)
        model = keras.Model(inputs, keras.layers.Dense(4)(keras.layers.GlobalAveragePooling1D()(x)))
        model.compile("sgd", "mse", jit_compile=False)
        plan = plan_of(fit_in_memory(model, "1GiB", 16))
        assert plan is not None
        return plan.baseline_peak

    assert 0.95 < planned(text=True) / planned(text=False) < 1.05
