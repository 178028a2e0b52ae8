"""`fit` on datasets, sequences and generators: what a real keras model gets to train on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import sknc.runtime as skn_runtime
from sknc.runtime.data.prepare import Task, prepare
from sknc.runtime.data.shares import make_share
from tests.runtime.helpers import CLASSES, TOTAL, spy

EXPECTED = [row for row in range(60) if row % TOTAL in CLASSES]
EYE = np.eye(TOTAL, dtype="float32")

LABELS: dict[str, Callable[[Any], Any]] = {
    "ints": lambda y: y,
    "column": lambda y: y[:, None].astype("int32"),
    "floats": lambda y: y.astype("float32"),
    "one-hot": lambda y: EYE[y],
}


class Sequence(keras.utils.PyDataset):
    """Batches of eight, with hooks that count and a note of the threads that read."""

    def __init__(self, arrays: tuple[Any, ...], infinite: bool = False, **settings: Any) -> None:
        super().__init__(**settings)
        self.arrays = arrays
        self.infinite = infinite
        self.begun = self.ended = 0
        self.threads: set[int] = set()

    @property
    def num_batches(self) -> int | None:
        return None if self.infinite else 8

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        self.threads.add(threading.get_ident())
        index %= 8
        return tuple(part[index * 8 : index * 8 + 8] for part in self.arrays)

    def on_epoch_begin(self) -> None:
        self.begun += 1

    def on_epoch_end(self) -> None:
        self.ended += 1


def batches(arrays: tuple[Any, ...], size: int = 8, forever: bool = False) -> Iterator[tuple[Any, ...]]:
    while True:
        for start in range(0, len(arrays[0]), size):
            yield tuple(part[start : start + size] for part in arrays)
        if not forever:
            return


SOURCES: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "dataset": lambda arrays: tf.data.Dataset.from_tensor_slices(arrays).batch(8),
    "dataset of rows": lambda arrays: tf.data.Dataset.from_tensor_slices(arrays),
    "sequence": Sequence,
    "sequence with workers": lambda arrays: Sequence(arrays, workers=3),
    "generator": batches,
}


def check_labels(model: Any, form: str, part: str = "train") -> None:
    rows = model.seen.rows(part)
    local = np.array([CLASSES.index(row % TOTAL) for row in rows])
    labels = model.seen.labels(part)
    expected = {"ints": local, "column": local[:, None], "floats": local, "one-hot": np.eye(3)[local]}[form]
    assert np.array_equal(labels, expected)


@pytest.mark.parametrize(
    ("source", "form"),
    [*((source, "ints") for source in SOURCES), *((s, form) for s in ("dataset", "generator") for form in LABELS)],
)
def test_every_source_gives_the_rows_of_the_share_once(begin, data, source, form) -> None:
    x, y = data
    model = spy()
    begin()
    history = skn_runtime.fit(model, SOURCES[source]((x, LABELS[form](y))), batch_size=8, verbose=0)
    assert history.epoch == [0]
    assert sorted(model.seen.rows()) == EXPECTED
    assert model.seen.sizes() == [8, 8, 8, 6]
    check_labels(model, form)


@pytest.mark.parametrize("source", ["dataset", "sequence"])
def test_each_epoch_covers_the_share_and_weights_follow(begin, data, source) -> None:
    x, y = data
    model = spy()
    begin()
    given = SOURCES[source]((x, y, np.arange(60.0) * 2))
    skn_runtime.fit(model, given, epochs=3, verbose=0, validation_data=SOURCES[source]((x, y)))
    assert sorted(model.seen.rows()) == sorted(EXPECTED * 3)
    assert [row * 2 for row in model.seen.rows()] == model.seen.weights().tolist()
    assert model.seen.rows("test") == EXPECTED * 3
    if source == "sequence":
        assert given.begun == given.ended == 3
        assert model.seen.rows()[:30] != model.seen.rows()[30:60], "batches are shuffled"


def test_a_sequence_is_read_in_order_without_shuffle_and_by_its_workers(begin, data) -> None:
    x, y = data
    for block, workers in enumerate([1, 4]):
        model = spy()
        begin(block=block, kind="multiclass", of=TOTAL, classes=list(CLASSES))
        given = Sequence((x, y), workers=workers)
        skn_runtime.fit(model, given, shuffle=False, verbose=0)
        assert model.seen.rows() == EXPECTED
    # How many of the four get something to do is up to the scheduler; one beside the main thread at least.
    assert len(given.threads) > 1


INFINITE: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "dataset": lambda arrays: tf.data.Dataset.from_tensor_slices(arrays).repeat().batch(10),
    "sequence": lambda arrays: Sequence(tuple(part[:48] for part in arrays), infinite=True),
    "generator": lambda arrays: batches(arrays, 10, forever=True),
}


@pytest.mark.parametrize("source", INFINITE)
def test_an_epoch_of_an_endless_source_covers_the_share_once(begin, data, source) -> None:
    x, y = data
    model = spy()
    context = begin()
    skn_runtime.fit(
        model,
        INFINITE[source]((x, y)),
        steps_per_epoch=6,
        epochs=2,
        verbose=0,
        validation_data=INFINITE[source]((x, y)),
        validation_steps=6,
    )
    assert context.fits[0]["steps"] == 3
    expected = [row for row in EXPECTED if row < 48] if source == "sequence" else EXPECTED
    assert model.seen.rows() == expected * 2
    assert set(model.seen.rows("test")) == set(expected)


def test_long_epochs_take_the_classes_for_equally_frequent(begin, data) -> None:
    x, y = data
    sorted_rows = np.argsort(y, kind="stable")
    given = tf.data.Dataset.from_tensor_slices((x[sorted_rows], y[sorted_rows])).repeat().batch(2)
    model = spy()
    context = begin()
    skn_runtime.fit(model, given, steps_per_epoch=90, verbose=0)
    assert context.fits[0]["steps"] == 45


def test_class_weights_with_a_dataset(begin, data) -> None:
    x, y = data
    model = spy()
    begin()
    skn_runtime.fit(model, SOURCES["dataset"]((x, y)), class_weight={2: 4.0}, verbose=0)
    assert [4.0 if row % TOTAL == 2 else 1.0 for row in model.seen.rows()] == model.seen.weights().tolist()


def test_weights_of_a_generator_follow(begin, data) -> None:
    x, y = data
    model = spy()
    begin()
    skn_runtime.fit(model, batches((x, y, np.arange(60.0))), verbose=0)
    assert model.seen.rows() == model.seen.weights().tolist() == EXPECTED


@pytest.mark.parametrize("source", ["dataset", "sequence", "generator"])
def test_compiled_training_on_a_source_learns(begin, data, source) -> None:
    x, y = data
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
    model.compile(optimizer=keras.optimizers.Adam(0.5), loss="sparse_categorical_crossentropy")
    context = begin()
    given = INFINITE[source]((np.eye(TOTAL, 4, dtype="float32")[y] + x[:, :1] / 60, y))
    history = skn_runtime.fit(model, given, steps_per_epoch=6, epochs=12, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0] / 2
    assert context.history["loss"] == history.history["loss"]


def test_inputs_by_name_in_a_dataset(begin, data) -> None:
    x, y = data
    inputs = {"a": keras.Input((4,), name="a"), "b": keras.Input((2,), name="b")}
    given = tf.data.Dataset.from_tensor_slices(({"a": x, "b": x[:, :2]}, {"answer": y})).batch(8)
    model = spy(inputs=inputs)
    begin()
    skn_runtime.fit(model, given, verbose=0)
    assert model.seen.rows() == EXPECTED
    check_labels(model, "ints")
    assert all(np.array_equal(batch["a"][:, :2], batch["b"]) for batch, _, _ in model.seen.train)


def test_strings_as_inputs_of_a_dataset(data) -> None:
    x, y = data
    words = np.array([f"row {row}" for row in range(60)])
    given = tf.data.Dataset.from_tensor_slices(({"x": x, "word": words}, y)).batch(8)
    share = make_share("multiclass", of=TOTAL, classes=list(CLASSES))
    made = prepare(Task(share), {"x": given}).call["x"]
    seen = [word for batch, _ in made for word in batch["word"].numpy().tolist()]
    assert seen == [f"row {row}".encode() for row in EXPECTED]


def test_batches_padded_to_different_lengths_are_not_joined(begin, data) -> None:
    x, y = data

    def growing() -> Iterator[tuple[Any, Any]]:
        for number, (rows, labels) in enumerate(batches((x, y), 12)):
            yield np.pad(rows, ((0, 0), (0, number))), labels

    inputs = keras.Input((None,))
    model = spy(inputs=inputs, outputs=lambda t: keras.layers.Dense(3)(keras.ops.sum(t, axis=1, keepdims=True)))
    begin()
    skn_runtime.fit(model, growing(), verbose=0)
    assert model.seen.rows() == EXPECTED
    assert [batch.shape for batch, _, _ in model.seen.train] == [(6, 4 + i) for i in range(5)]


def test_a_generator_that_cannot_be_restarted_loses_no_row(begin, data) -> None:
    x, y = data
    model = spy()
    begin()
    skn_runtime.fit(model, batches((x, y), 6, forever=True), steps_per_epoch=10, epochs=3, verbose=0)
    assert model.seen.rows() == EXPECTED * 3


@pytest.mark.parametrize("source", SOURCES)
def test_a_label_outside_the_classes_is_shown_with_its_row(begin, data, source) -> None:
    x, y = data
    wrong = y.copy()
    wrong[43] = 6
    begin()
    with pytest.raises(skn_runtime.LabelError, match="label 6 at row 43 of the training labels"):
        skn_runtime.fit(spy(), SOURCES[source]((x, wrong)), batch_size=8, shuffle=False, verbose=0)


@pytest.mark.parametrize("source", ["dataset", "sequence", "generator"])
def test_a_source_without_a_row_of_the_share_is_refused_or_dropped(begin, data, source, capsys) -> None:
    x, y = data
    other = np.full(60, 1)
    begin()
    with pytest.raises(skn_runtime.EmptyShareError, match=r"classes \[0, 2, 3\]"):
        skn_runtime.fit(spy(), SOURCES[source]((x, other)), verbose=0)
    model = spy()
    skn_runtime.fit(model, x, y, validation_data=SOURCES[source]((x, other)), verbose=0)
    assert model.seen.test == []
    assert "without validation" in capsys.readouterr().out


@pytest.mark.parametrize("source", INFINITE)
def test_an_endless_source_without_a_row_of_the_share_is_given_up(begin, data, source) -> None:
    x, _ = data
    begin()
    with pytest.raises(skn_runtime.EmptyShareError):
        skn_runtime.fit(spy(), INFINITE[source]((x, np.full(60, 1))), steps_per_epoch=3, verbose=0)


def test_a_source_whose_share_ends_midway_is_given_up_inside_the_training(begin, data) -> None:
    x, _ = data

    def drying() -> Iterator[tuple[Any, Any]]:
        yield x[:8], np.arange(8) % 3
        yield x[:8], np.arange(8) % 3
        while True:
            yield x[:8], np.full(8, 1)

    begin()
    with pytest.raises(skn_runtime.EmptyShareError, match="training data has no row"):
        skn_runtime.fit(spy(), drying(), steps_per_epoch=20, verbose=0)


def test_offsets_of_training_arrays_hold_for_a_validation_dataset(begin, data) -> None:
    x, y = data
    model = spy()
    begin()
    skn_runtime.fit(model, x, y + 1, validation_data=SOURCES["dataset"]((x, y + 1)), verbose=0)
    assert model.seen.rows("test") == EXPECTED
    check_labels(model, "ints", "test")


def test_training_dataset_with_validation_arrays(begin, data) -> None:
    x, y = data
    model = spy()
    begin()
    skn_runtime.fit(model, SOURCES["dataset"]((x, EYE[y])), validation_data=(x[:6], EYE[y[:6]]), verbose=0)
    assert model.seen.rows("test") == [0, 2, 3]
    check_labels(model, "one-hot", "test")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x, y: tf.data.Dataset.from_tensor_slices(x).batch(8), "a batch must be"),
        (lambda x, y: (batch for batch in [(x,)]), "a batch must be .* tuple of 1"),
        (lambda x, y: tf.data.Dataset.from_tensor_slices((x, np.array(["a"] * 60))).batch(8), "strings"),
        (
            lambda x, y: tf.data.Dataset.from_tensors((tf.ragged.constant([[1.0], [2.0, 3.0]]), y[:2])),
            "RaggedTensor",
        ),
    ],
)
def test_batches_that_cannot_be_split_are_refused(begin, data, make, message) -> None:
    begin()
    with pytest.raises(skn_runtime.ProgramError, match=message):
        skn_runtime.fit(spy(), make(*data), verbose=0)


def test_a_type_of_another_framework_is_refused_by_name(begin) -> None:
    loader = type("DataLoader", (), {"__module__": "torch.utils.data.dataloader"})()
    begin()
    with pytest.raises(skn_runtime.ProgramError, match="no share can be selected from a DataLoader"):
        skn_runtime.fit(spy(), loader)


class TestDialect:
    """A user's own generator that is called with this submodel's classes."""

    def test_the_users_list_of_classes_is_cut_to_the_submodels(self, begin) -> None:
        begin()
        assert skn_runtime.generator_classes([5, 4, 3, 2, 1, 0]) == [3, 2, 0]
        assert skn_runtime.generator_classes(np.arange(6)).tolist() == [0, 2, 3]
        assert skn_runtime.generator_classes(list("fedcba")) == ["d", "c", "a"]
        assert skn_runtime.generator_classes(np.arange(6) + 1).tolist() == [1, 3, 4]
        with pytest.raises(skn_runtime.ProgramError, match="none of this submodel's"):
            skn_runtime.generator_classes([1, 4])
        with pytest.raises(skn_runtime.ProgramError, match="holds 7 classes"):
            skn_runtime.generator_classes(range(7))
        with pytest.raises(skn_runtime.ProgramError, match="does not hold all 6"):
            skn_runtime.generator_classes([10, 20])

    @pytest.mark.parametrize("form", ["ids", "places", "one-hot ids", "one-hot places"])
    def test_labels_may_be_ids_or_places_in_the_list(self, begin, data, form) -> None:
        x, y = data
        model = spy()
        context = begin()
        classes = skn_runtime.generator_classes(list(range(TOTAL)))

        def data_generator(size: int, wanted: list[int]) -> Iterator[tuple[Any, Any]]:
            keep = np.isin(y, wanted)
            place = np.searchsorted(wanted, y[keep])
            labels = {
                "ids": y[keep],
                "places": place,
                "one-hot ids": EYE[y[keep]],
                "one-hot places": np.eye(len(wanted))[place],
            }[form]
            yield from batches((x[keep], labels), size, forever=True)

        skn_runtime.fit(model, data_generator(6, classes), steps_per_epoch=10, verbose=0)
        assert context.fits[0]["steps"] == 5
        assert model.seen.rows() == EXPECTED
        check_labels(model, "one-hot" if "one-hot" in form else "ints")

    def test_labels_that_fit_both_ways_are_refused(self, begin, data) -> None:
        x, _ = data
        begin()
        skn_runtime.generator_classes(range(TOTAL))
        given = batches((x[:20], np.full(20, 2)), 4, forever=True)
        with pytest.raises(skn_runtime.LabelError, match="may be ids of classes"):
            skn_runtime.fit(spy(), given, steps_per_epoch=5, verbose=0)
