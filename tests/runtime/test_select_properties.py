"""Properties of the selection that hold for any labels; numpy only."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sknc.runtime.data.arrays import Rows
from sknc.runtime.data.cuts import bounds, cut
from sknc.runtime.data.labels import LabelMap, class_ids, label_map, learn, local_labels
from sknc.runtime.data.select import alternate, class_rows, half_rows, local_class_weight
from sknc.runtime.data.selectors import ClassSelector
from sknc.runtime.data.shares import make_share
from sknc.runtime.data.streams import rebatch, scaled_steps

FORMS = {
    "ints": lambda ids, total: ids,
    "column": lambda ids, total: ids[:, None],
    "floats": lambda ids, total: ids.astype("float32"),
    "one-hot": lambda ids, total: np.eye(total)[ids],
    "offset": lambda ids, total: ids + 17,
    "strings": lambda ids, total: np.array([f"c{k:03d}" for k in range(total)])[ids],
}


@st.composite
def tasks(draw: Any) -> tuple[Any, int, tuple[int, ...], str]:
    """Labels in which every class occurs, their number of classes, a submodel's classes, and a form."""
    total = draw(st.integers(3, 9))
    extra = draw(st.lists(st.integers(0, total - 1), max_size=40))
    ids = np.array(draw(st.permutations([*range(total), *extra])))
    classes = draw(st.lists(st.integers(0, total - 1), min_size=2, max_size=total, unique=True))
    return ids, total, tuple(classes), draw(st.sampled_from(sorted(FORMS)))


@given(tasks())
def test_selected_labels_name_the_same_classes_in_every_form(task: Any) -> None:
    ids, total, classes, form = task
    labels = FORMS[form](ids, total)
    mapping = learn(labels, total)
    assert label_map(mapping.describe()) == mapping
    found = class_ids(mapping, labels, "training")
    assert np.array_equal(found, ids)
    rows = class_rows(found, classes, total)
    assert rows.tolist() == [row for row, k in enumerate(ids) if k in classes]
    local = local_labels(labels[rows], found[rows], classes, total)
    places = local.argmax(axis=1) if form == "one-hot" else local.reshape(-1).astype(int)
    assert [classes[place] for place in places] == ids[rows].tolist()
    assert local.shape[1:] == ((len(classes),) if form == "one-hot" else labels.shape[1:])


@given(tasks())
def test_submodels_that_cover_all_classes_cover_all_rows(task: Any) -> None:
    ids, total, classes, _ = task
    others = tuple(sorted(set(range(total)) - set(classes)))
    seen = class_rows(ids, classes, total).tolist()
    if others:
        seen += class_rows(ids, others, total).tolist()
    assert sorted(seen) == list(range(len(ids)))


@given(st.lists(st.integers(0, 1), min_size=2, max_size=80))
def test_halves_cover_every_row_and_hold_the_same_share_of_each_class(keys: list[int]) -> None:
    array = np.array(keys)
    halves = [half_rows(array, half) for half in (0, 1)]
    assert sorted(set(np.concatenate(halves).tolist())) == list(range(len(keys)))
    for key in set(keys):
        counts = [int((array[half] == key).sum()) for half in halves]
        assert min(counts) >= 1
        assert abs(counts[0] - counts[1]) <= 1
    assert abs(len(halves[0]) - len(halves[1])) <= 1


@given(st.lists(st.lists(st.integers(0, 1), max_size=9), max_size=9))
def test_dealing_out_in_batches_is_dealing_out_at_once(batches: list[list[int]]) -> None:
    together = np.array([key for batch in batches for key in batch], dtype=np.int64)
    for half in (0, 1):
        at_once = alternate(together, half, np.zeros(2, dtype=np.int64))
        counts = np.zeros(2, dtype=np.int64)
        parts = [alternate(np.array(batch, dtype=np.int64), half, counts) for batch in batches]
        assert np.array_equal(at_once, np.concatenate(parts) if parts else at_once)
        for key in (0, 1):
            total = int((together == key).sum())
            assert int(at_once[together == key].sum()) == (total + 1 - half) // 2


@given(st.integers(1, 200), st.integers(1, 40))
def test_parts_are_those_of_array_split(size: int, parts: int) -> None:
    if size < parts:
        return
    expected = np.array_split(np.arange(size), parts)
    for index in range(parts):
        start, stop = bounds(size, index, parts)
        assert expected[index].tolist() == list(range(start, stop))


@given(st.integers(2, 9), st.integers(2, 9), st.data())
def test_patches_tile_an_image(height: int, width: int, data: Any) -> None:
    grid = [data.draw(st.integers(1, height)), data.draw(st.integers(1, width))]
    image = np.arange(height * width).reshape(1, height, width)
    parts = grid[0] * grid[1]
    seen: list[int] = []
    for index in range(parts):
        share = make_share("regression", part=[index, parts], grid=grid)
        seen += cut(share, image).ravel().tolist()
    assert sorted(seen) == list(range(height * width))


@settings(max_examples=60)
@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 7))
def test_batches_put_together_again_keep_rows_and_order(sizes: list[int], size: int) -> None:
    pieces, start = [], 0
    for number in sizes:
        values = np.arange(start, start + number)
        start += number
        if number:
            pieces.append(Rows({"a": values, "b": [values]}, values * 2, None))
    made = list(rebatch(pieces, size))
    assert [len(batch.y) for batch in made] == [size] * (start // size) + [start % size] * (start % size > 0)
    assert [int(v) for batch in made for v in batch.x["a"]] == list(range(start))
    assert all(np.array_equal(batch.x["b"][0] * 2, batch.y) for batch in made)


@given(tasks(), st.integers(1, 10))
def test_a_stream_selects_what_whole_arrays_do(task: Any, size: int) -> None:
    ids, total, classes, _ = task
    selector = ClassSelector(make_share("multiclass", of=total, classes=classes), LabelMap(total))
    x = np.arange(len(ids))
    whole = selector.select(Rows(x, ids, x), "training")
    pick = selector.stream("training")
    parts = [pick(Rows(x[i : i + size], ids[i : i + size], None), i) for i in range(0, len(ids), size)]
    assert np.array_equal(whole.x, np.concatenate([part.x for part in parts]))
    assert np.array_equal(whole.y, np.concatenate([part.y for part in parts]))
    assert np.array_equal(whole.weight, whole.x)


@given(st.integers(1, 1000), st.integers(1, 1000), st.integers(1, 1000))
def test_scaled_steps_cover_the_share(rows: int, share: int, size: int) -> None:
    share = min(share, rows)
    steps = -(-rows // size)
    scaled = scaled_steps(steps, share / rows)
    assert scaled is not None
    assert scaled * size >= share
    assert scaled <= steps


def test_class_weights_by_name_and_by_number() -> None:
    names = LabelMap(3, names=("a", "b", "c"))
    assert local_class_weight({"c": 5.0, b"a": 2.0, "z": 9.0}, names, (2, 1, 0)) == {0: 5.0, 1: 1.0, 2: 2.0}
    assert local_class_weight({1: 5.0}, LabelMap(3, offset=1), (2, 0)) == {0: 1.0, 1: 5.0}
    assert local_class_weight(None, names, (0,)) is None
