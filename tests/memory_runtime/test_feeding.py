"""What a call of `fit` says of a training: batch size and shapes, whatever the data are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from sknc.runtime import notes
from sknc.runtime.data.prepare import Task, prepare
from sknc.runtime.data.shares import Share
from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.execute.keeper import fit_in_memory, plan_of
from sknc.runtime.memory.feeds import feed_of, resident_bytes, symbols
from sknc.runtime.memory.pipelines import dataset_batch, held_tensors

ROWS = np.ones((50, 6), "float64")


def dataset() -> Any:
    """Rows that no batch was made of yet."""
    return tf.data.Dataset.from_tensor_slices((ROWS, ROWS[:, 0]))


class Batches(keras.utils.PyDataset):  # type: ignore[misc]  # keras has no types
    """Batches with random numbers in them."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return ROWS[:12] + np.random.normal(size=(12, 1)), ROWS[:12, 0]


def endless() -> Iterator[Any]:
    """Batches that tell their number."""
    number = 0
    while True:
        yield np.full((9, 6), number, "float32"), np.zeros(9)
        number += 1


CALLS: dict[str, tuple[Callable[[], dict[str, Any]], int | None]] = {
    "arrays": (lambda: {"x": ROWS}, 32),
    "a number of numpy's": (lambda: {"x": ROWS, "batch_size": np.int64(7)}, 7),
    "arrays and steps": (lambda: {"x": [ROWS, ROWS], "steps_per_epoch": 4}, 13),
    "batches": (lambda: {"x": dataset().shuffle(50).batch(8).map(lambda x, y: (x, y)).cache().prefetch(2).repeat()}, 8),
    "whole batches": (lambda: {"x": dataset().batch(8, drop_remainder=True)}, 8),
    "padded": (lambda: {"x": dataset().padded_batch(5).take(3)}, 5),
    "of two": (lambda: {"x": tf.data.Dataset.zip(dataset().batch(6), dataset().batch(6)).map(lambda a, b: b)}, 6),
    "batches of what were batches": (lambda: {"x": dataset().batch(8).unbatch().batch(3)}, 3),
    "none any more": (lambda: {"x": dataset().batch(8).rebatch([2, 3])}, None),
    "a sequence": (lambda: {"x": Batches()}, 12),
    "a generator": (lambda: {"x": endless()}, 9),
    "nothing": (dict, 32),
}


@pytest.mark.parametrize("name", CALLS)
def test_batch_size_and_shapes_are_found(name: str) -> None:
    call, batch = CALLS[name]
    feed = feed_of((), call())
    assert feed.batch == batch
    if name != "nothing":
        shapes = {tuple(spec.shape) for spec in keras.tree.flatten(symbols(feed.x))}
        assert shapes == {(None, 6)}


def test_looking_changes_nothing() -> None:
    np.random.seed(1)
    expected = np.random.normal()
    np.random.seed(1)
    feed_of((), {"x": Batches()})
    assert np.random.normal() == expected
    numbers = endless()
    call = feed_of((), {"x": numbers, "epochs": 2}).kwargs
    assert call["epochs"] == 2
    assert [next(call["x"])[0][0, 0] for _ in range(3)] == [0, 1, 2]
    # What is left of the user's generator is not closed with ours.
    call["x"].close()
    assert next(numbers)[0][0, 0] == 3


def test_a_dataset_is_only_drawn_from_where_that_does_no_harm() -> None:
    ragged = tf.data.Dataset.from_generator(
        lambda: iter([np.ones((4, 3)), np.ones((4, 9))]), output_signature=tf.TensorSpec((None, None))
    )
    assert symbols(feed_of((), {"x": ragged}).x) is None
    drawn = feed_of((), {"x": ragged}, draw=True)
    assert (drawn.batch, tuple(symbols(drawn.x).shape)) == (4, (None, 3))

    def first(look: bool) -> list[int]:
        tf.random.set_seed(1)
        shuffled = tf.data.Dataset.range(50).shuffle(50, seed=1).batch(50)
        if look:
            assert feed_of((), {"x": shuffled}).batch == 50
        return list(next(iter(shuffled)).numpy())

    assert first(True) == first(False)


def test_arguments_by_place_are_known_to_the_last() -> None:
    call = (ROWS, None, None, 1, 0, None, 0.0, None, True, None, ROWS, 0, 5)
    assert feed_of(call, {}).batch == 10
    assert resident_bytes(call, {}) == 2 * resident_bytes((ROWS,), {}) > 0


def tokens() -> Any:
    """A model that does not say how long a text is."""
    inputs = keras.Input((None,), dtype="int32")
    x = layers.LSTM(8)(layers.Embedding(20, 8, mask_zero=True)(inputs))
    return keras.Model(inputs, layers.Dense(1)(x))


UNKNOWN: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "texts": (tokens, (6, 600)),
    "not built": (lambda: keras.Sequential([layers.Dense(300), layers.Dense(1)]), (6,)),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_model_without_shapes_is_planned_when_fit_says_them(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    notes._told.clear()
    make, lengths = UNKNOWN[name]
    model = fit_in_memory(make(), "1GiB")
    assert plan_of(model) is None
    assert "planned when fit says them" in capsys.readouterr().out
    model.compile("sgd", "mse", jit_compile=False)
    with pytest.raises(PlanError, match="input_shape"):
        model.train_on_batch(np.ones((4, 6)), np.ones((4, 1)))
    peaks = []
    for length in lengths:
        model.fit(np.ones((50, length)), np.ones((50, 1)), batch_size=25, verbose=0)
        plan = plan_of(model)
        assert plan is not None and plan.batch_size == 25
        peaks.append(plan.predicted_peak)
    assert peaks == sorted(set(peaks))


def test_a_shape_may_be_said() -> None:
    small, large = (plan_of(fit_in_memory(tokens(), "1GiB", 512, input_shape=(length,))) for length in (30, 300))
    assert small is not None and large is not None
    assert large.predicted_peak > 2 * small.predicted_peak


def test_a_pipeline_that_is_read_for_a_share_counts_as_well() -> None:
    rows, labels = np.ones((400, 100), "float32"), np.arange(400) % 10
    data = tf.data.Dataset.from_tensor_slices((rows, labels)).batch(50)
    share = Share("multiclass", classes=(0, 1, 2), of=10)
    read = prepare(Task(share), {"x": data}).call["x"]
    assert dataset_batch(read) == 50
    # And the number by which TensorFlow calls the Python code that reads.
    assert 0 <= sum(held_tensors(read)) - rows.nbytes - labels.nbytes < 100


def test_what_a_pipeline_keeps_counts() -> None:
    rows, labels = np.ones((4000, 100), "float32"), np.ones(4000, "float32")
    whole = rows.nbytes + labels.nbytes
    data = tf.data.Dataset.from_tensor_slices((rows, labels))
    assert sum(held_tensors(data.batch(8).prefetch(2))) == whole
    # A cache in memory holds it all once more, one in a file nothing; a buffer for shuffling what it is told to.
    assert sum(held_tensors(data.cache().batch(8))) == 2 * whole
    assert sum(held_tensors(data.batch(8).cache("file"))) == whole
    assert sum(held_tensors(data.shuffle(1000, seed=1).batch(8))) == whole + 1000 * 404
    assert sum(held_tensors(data.batch(8).shuffle(10, seed=1))) == whole + 10 * 8 * 404
    assert held_tensors(rows) == held_tensors(None) == []
    assert resident_bytes((data.batch(8),), {"validation_data": data.batch(8)}) >= 2 * rows.nbytes
