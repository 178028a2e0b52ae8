"""`fit` on arrays: what a real keras model gets to train on, for every form of data and labels."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import sknc.runtime as skn_runtime
from tests.runtime.helpers import CLASSES, TOTAL, spy

EXPECTED = [row for row in range(60) if row % TOTAL in CLASSES]
LOCAL = [CLASSES.index(row % TOTAL) for row in EXPECTED]
NAMES = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])
EYE = np.eye(TOTAL, dtype="float32")

LABELS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "ints": (lambda y: y, lambda local: local),
    "int8": (lambda y: y.astype("int8"), lambda local: local),
    "column": (lambda y: y[:, None], lambda local: local[:, None]),
    "floats": (lambda y: y.astype("float64"), lambda local: local.astype("float64")),
    "one-hot": (lambda y: EYE[y], lambda local: np.eye(3)[local]),
    "one-hot ints": (lambda y: EYE[y].astype(int), lambda local: np.eye(3)[local]),
    "strings": (lambda y: NAMES[y], lambda local: local),
    "string column": (lambda y: NAMES[y][:, None], lambda local: local[:, None]),
    "bytes": (lambda y: NAMES.astype("S")[y], lambda local: local),
    "objects": (lambda y: NAMES[y].astype(object), lambda local: local),
    "from 1": (lambda y: y + 1, lambda local: local),
    "from -3": (lambda y: y - 3, lambda local: local),
    "list": (lambda y: y.tolist(), lambda local: local),
    "one-hot list": (lambda y: EYE[y].tolist(), lambda local: np.eye(3)[local]),
    "tensor": (lambda y: tf.constant(y), lambda local: local),
    "named": (lambda y: {"answer": y}, lambda local: local),
    "list of one": (lambda y: [y], lambda local: local),
}


def ordered(model: Any) -> tuple[list[int], Any]:
    """The rows that were seen in ascending order, and their labels."""
    rows = np.array(model.seen.rows())
    order = np.argsort(rows)
    return rows[order].tolist(), model.seen.labels()[order]


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_form_count_within_the_submodel_and_keep_their_form(begin, data, kind) -> None:
    x, y = data
    give, expect = LABELS[kind]
    model = spy()
    begin()
    skn_runtime.fit(model, x, give(y), batch_size=8, verbose=0)
    rows, labels = ordered(model)
    assert rows == EXPECTED
    assert np.array_equal(labels, expect(np.array(LOCAL)))


def test_the_order_of_classes_is_the_order_of_outputs(begin, data) -> None:
    x, y = data
    model = spy(2)
    begin(kind="multiclass", of=TOTAL, classes=[5, 1])
    skn_runtime.fit(model, x, EYE[y], verbose=0)
    rows, labels = ordered(model)
    assert [label.argmax() for label in labels] == [0 if row % TOTAL == 5 else 1 for row in rows]


def _two_inputs() -> list[Any]:
    return [keras.Input((4,), name="a"), keras.Input((2,), name="b")]


CONTAINERS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "array": (lambda: None, lambda x: x),
    "tensor": (lambda: None, lambda x: tf.constant(x)),
    "nested list": (lambda: None, lambda x: x.tolist()),
    "list of rows": (lambda: None, lambda x: list(x)),
    "list": (_two_inputs, lambda x: [x, x[:, :2]]),
    "tuple": (_two_inputs, lambda x: (x, x[:, :2])),
    "dict": (
        lambda: {"a": keras.Input((4,), name="a"), "b": keras.Input((2,), name="b")},
        lambda x: {"a": x, "b": x[:, :2]},
    ),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_inputs_in_every_container_are_selected_together(begin, data, kind) -> None:
    x, y = data
    inputs, give = CONTAINERS[kind]
    model = spy(inputs=inputs())
    begin()
    skn_runtime.fit(model, give(x), y, verbose=0, batch_size=7)
    assert ordered(model)[0] == EXPECTED
    if len(kind) <= 5 and kind != "array":
        batch = model.seen.train[0][0]
        first, second = batch.values() if isinstance(batch, dict) else batch
        assert np.array_equal(np.asarray(first)[:, :2], np.asarray(second))


def test_arguments_by_position_by_name_and_unpacked_are_the_same(begin, data) -> None:
    x, y = data
    seen = []
    settings = {"y": y, "batch_size": 8, "epochs": 2, "verbose": 0}
    for block, call in enumerate(
        [
            lambda m: skn_runtime.fit(m, x, y, 8, 2, 0),
            lambda m: skn_runtime.fit(m, x=x, y=y, batch_size=8, epochs=2, verbose=0),
            lambda m: skn_runtime.fit(m, x, **settings),
        ]
    ):
        model = spy()
        begin(block=block, kind="multiclass", of=TOTAL, classes=list(CLASSES))
        history = call(model)
        assert history.epoch == [0, 1]
        seen.append((model.seen.sizes(), sorted(model.seen.rows())))
    assert seen == [([8, 8, 8, 6] * 2, sorted(EXPECTED * 2))] * 3


def test_an_argument_given_twice_or_too_many_are_errors_as_in_python(begin, data) -> None:
    x, y = data
    begin()
    with pytest.raises(TypeError, match="two values for argument 'y'"):
        skn_runtime.fit(spy(), x, y, y=y)
    with pytest.raises(TypeError, match="at most 16"):
        skn_runtime.fit(spy(), *range(17))


def test_sample_weights_follow_their_rows(begin, data) -> None:
    x, y = data
    model = spy()
    begin()
    skn_runtime.fit(model, x, y, sample_weight=np.arange(60) * 10.0, verbose=0)
    assert [row * 10 for row in model.seen.rows()] == model.seen.weights().tolist()


def test_class_weights_are_looked_up_by_the_labels_that_the_script_has(begin, data) -> None:
    x, y = data
    model = spy()
    begin()
    skn_runtime.fit(model, x, y + 1, class_weight={1: 5.0, 2: 7.0, 4: 9.0}, verbose=0)
    weight = {0: 5.0, 2: 1.0, 3: 9.0}
    assert [weight[row % TOTAL] for row in model.seen.rows()] == model.seen.weights().tolist()


def test_validation_rows_are_selected_with_the_training_labels_numbering(begin, data) -> None:
    x, y = data
    model = spy()
    begin()
    few = y[:4] + 1  # labels 1..4 alone would not tell that counting starts at 1
    history = skn_runtime.fit(model, x, y + 1, validation_data=(x[:4], few, np.arange(4.0)), verbose=0, epochs=2)
    assert model.seen.rows("test") == [0, 2, 3] * 2
    assert model.seen.labels("test").tolist() == [0, 1, 2] * 2
    assert model.seen.weights("test").tolist() == [0, 2, 3] * 2
    assert len(history.history["val_loss"]) == 2


def test_validation_split_divides_the_whole_before_the_share_is_taken(begin, data) -> None:
    x, y = data
    model = spy()
    begin()
    skn_runtime.fit(model, x, y, sample_weight=np.arange(60.0), validation_split=0.3, verbose=0)
    assert sorted(model.seen.rows()) == [row for row in EXPECTED if row < 42]
    assert model.seen.rows("test") == [row for row in EXPECTED if row >= 42]
    assert model.seen.weights("test").tolist() == [row for row in EXPECTED if row >= 42]


def test_validation_split_is_ignored_beside_validation_data_as_in_keras(begin, data) -> None:
    x, y = data
    model = spy()
    begin()
    skn_runtime.fit(model, x, y, validation_split=0.3, validation_data=(x[:6], y[:6]), verbose=0)
    assert sorted(model.seen.rows()) == EXPECTED
    assert model.seen.rows("test") == [0, 2, 3]


def test_validation_without_a_row_of_the_share_is_dropped_and_told_once(begin, data, capsys) -> None:
    x, y = data
    model = spy()
    begin()
    other = y == 1
    for _ in range(2):
        history = skn_runtime.fit(model, x, y, validation_data=(x[other], y[other]), validation_steps=2, verbose=0)
    assert model.seen.test == []
    assert "val_loss" not in history.history
    assert capsys.readouterr().out.count("without validation") == 1


def test_steps_of_an_epoch_cover_the_share_once_with_the_same_batch_size(begin, data) -> None:
    x, y = data
    model = spy()
    begin()
    skn_runtime.fit(
        model, x, y, batch_size=6, steps_per_epoch=10, validation_data=(x, y), validation_steps=10, verbose=0
    )
    assert model.seen.sizes() == [6] * 5
    assert sorted(model.seen.rows()) == EXPECTED
    assert model.seen.sizes("test") == [6] * 5


def test_steps_without_a_batch_size_keep_the_size_that_keras_derives(begin, data) -> None:
    x, y = data
    model = spy()
    begin()
    skn_runtime.fit(model, x, y, steps_per_epoch=4, verbose=0)  # 60 rows in 4 steps: 15 rows each
    assert model.seen.sizes() == [15, 15]


def test_a_second_fit_of_the_block_goes_on_and_accumulates_history(begin, data) -> None:
    x, y = data
    model = spy()
    context = begin()
    skn_runtime.fit(model, x, y + 1, epochs=2, verbose=0)
    skn_runtime.fit(model, x[:4], y[:4] + 1, epochs=3, verbose=0, initial_epoch=2)
    assert model.seen.labels()[-3:].tolist() != [] and set(model.seen.labels()[-3:].tolist()) == {0, 1, 2}
    assert context.epochs == [0, 1, 2]
    assert len(context.history["loss"]) == 3


def test_whole_passes_everything_on_as_it_is(begin, data) -> None:
    x, y = data
    model = spy(TOTAL)
    begin(kind="multiclass", of=TOTAL, whole=True)
    skn_runtime.fit(model, x, y + 1, batch_size=10, validation_split=0.5, verbose=0)
    assert sorted(model.seen.rows()) == list(range(30))
    assert sorted(set(model.seen.labels().tolist())) == [1, 2, 3, 4, 5, 6]


def test_a_named_tuple_of_inputs_stays_one(begin, data) -> None:
    from sknc.runtime.data.arrays import map_leaves

    pair = namedtuple("pair", "a b")
    assert map_leaves(lambda leaf: leaf + 1, pair(1, {"c": 2})) == pair(2, {"c": 3})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: np.where(np.arange(60) == 17, 9, y), "label 9 at row 17 of the training labels"),
        (lambda y: np.where(np.arange(60) == 5, -1, y), "label -1 at row 5 of the training labels"),
        (lambda y: np.where(np.arange(60) == 8, 0.5, y), "label 0.5 at row 8 of the training labels"),
        (lambda y: np.where(np.arange(60) == 8, np.nan, y), "label nan at row 8 of the training labels"),
        (lambda y: np.append(NAMES, "yak")[np.where(np.arange(60) == 30, 6, y)], "label 'yak' at row 30"),
        (lambda y: NAMES[np.minimum(y, 4)], "5 distinct strings, this block has 6 classes"),
        (lambda y: EYE[y] * 0.9 + 0.1 / 6, "row 0 of the training labels is .* names no single class"),
        (lambda y: np.where((np.arange(60) == 7)[:, None], 1, EYE[y]), "row 7 of the training labels"),
        (lambda y: np.eye(8)[y], "8 columns, this block has 6 classes"),
        (lambda y: np.zeros((60, 5, 6)), r"shape \(60, 5, 6\): one class per pixel or token"),
        (lambda y: {"a": y, "b": y}, "for 2 outputs"),
        (lambda y: [y, y], "2 arrays, for several outputs"),
        (lambda y: None, "no targets"),
        (lambda y: y[:50], "different numbers of rows"),
        (lambda y: np.array([1j] * 60), "type complex128"),
    ],
)
def test_labels_that_cannot_be_split_are_refused_with_what_shows_it(begin, data, change, message) -> None:
    x, y = data
    begin()
    with pytest.raises(skn_runtime.ProgramError, match=message):
        skn_runtime.fit(spy(), x, change(y), verbose=0)


def test_a_wrong_validation_label_is_shown_with_its_row(begin, data) -> None:
    x, y = data
    wrong = y.copy()
    wrong[3] = 11
    named = np.where(np.arange(60) == 59, "gnu", NAMES[y])
    for block, (train, held, message) in enumerate(
        [
            (y, wrong, "label 11 at row 3 of the validation labels"),
            (NAMES[y], y, "validation labels are numbers"),
            (NAMES[y], named, "label 'gnu' at row 59 of the validation labels"),
            (y, NAMES[y], "validation labels are strings"),
        ]
    ):
        begin(block=block, kind="multiclass", of=TOTAL, classes=list(CLASSES))
        with pytest.raises(skn_runtime.LabelError, match=message):
            skn_runtime.fit(spy(), x, train, validation_data=(x, held), verbose=0)


def test_a_submodel_without_rows_is_refused_and_named(begin, data) -> None:
    x, y = data
    begin()
    with pytest.raises(skn_runtime.EmptyShareError, match=r"no row of this submodel's classes \[0, 2, 3\]"):
        skn_runtime.fit(spy(), x, np.where(y % 2 == 1, y, 1) * 0 + 1, verbose=0)


def test_a_sparse_tensor_is_refused_by_name(begin, data) -> None:
    x, y = data
    begin()
    with pytest.raises(skn_runtime.ProgramError, match="SparseTensor"):
        skn_runtime.fit(spy(), tf.sparse.from_dense(x), y, verbose=0)


def test_inputs_are_described_in_their_container() -> None:
    from sknc.runtime.data.arrays import input_specs

    number, word = np.zeros((5, 3)), np.array([["a"]] * 5)
    float32 = {"shape": [None, 3], "dtype": "float32"}
    assert input_specs({"a": number, "w": [word]}) == {"a": float32, "w": [{"shape": [None, 1], "dtype": "string"}]}
    given = tf.data.Dataset.from_tensor_slices((number.astype("int32"), np.zeros(5))).batch(2)
    assert input_specs(given) == {"shape": [None, 3], "dtype": "int32"}
    assert input_specs(None) is None
    assert input_specs(iter(())) is None


def test_ragged_inputs_keep_their_rows(begin, data) -> None:
    from sknc.runtime.data.arrays import take

    ragged = tf.ragged.constant([[1], [2, 2], [], [3]])
    assert take(ragged, np.array([1, 3])).to_list() == [[2, 2], [3]]
