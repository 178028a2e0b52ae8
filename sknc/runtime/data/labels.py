"""Reading labels: which class each row belongs to, whatever form the labels have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LabelError

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class LabelMap:
    """How the labels of a block name its classes 0..N-1.

    Args:
        total: N, the number of classes.
        offset: the label of class 0, where labels are numbers.
        names: the labels in sorted order, where they are strings.
    """

    total: int
    offset: int = 0
    names: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """Returns the map as result.json keeps it."""
        return {"total": self.total, "offset": self.offset, "names": list(self.names)}

    @property
    def known(self) -> str:
        """The labels that are understood, in words."""
        if self.names:
            return ", ".join(repr(name) for name in self.names[:6]) + (", ..." if self.total > 6 else "")
        return f"{self.offset} to {self.offset + self.total - 1}"


def label_map(description: dict[str, Any]) -> LabelMap:
    """Returns the map that a result.json describes.

    Args:
        description: what `LabelMap.describe` returned.
    """
    return LabelMap(int(description["total"]), int(description["offset"]), tuple(description.get("names", ())))


def as_array(value: Any) -> NDArray[Any]:
    """Returns labels or targets as a numpy array; objects become strings or numbers where they can.

    Args:
        value: an array, a tensor, a list, or a column of a table.
    """
    if hasattr(value, "toarray"):
        value = value.toarray()
    array = np.asarray(value)
    if array.dtype.kind != "O":
        return array
    items = list(array.ravel())
    if items and all(isinstance(item, (str, bytes)) for item in items):
        texts = [item.decode("utf-8", "replace") if isinstance(item, bytes) else item for item in items]
        return np.asarray(texts).reshape(array.shape)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return array


def is_one_hot(array: NDArray[Any], total: int) -> bool:
    """Returns whether labels of this shape have a column for each class.

    Args:
        array: labels.
        total: the number of classes.
    """
    return array.ndim == 2 and array.shape[1] == total and total > 1


def one_hot_ids(array: NDArray[Any], where: str, first_row: int = 0) -> Ids:
    """Returns the column of each row's single 1.

    Args:
        array: (rows, classes).
        where: what the rows are of, for messages.
        first_row: the number of the first row, for messages.

    Raises:
        LabelError: a row is not one 1 among zeros, as smoothed or mixed labels are.
    """
    ids: Ids = array.argmax(axis=1).astype(np.int64)
    wrong = (np.count_nonzero(array, axis=1) != 1) | (array.max(axis=1, initial=0) != 1)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        shown = ", ".join(f"{float(v):g}" for v in array[row, :8]) + (", ..." if array.shape[1] > 8 else "")
        raise LabelError(
            f"row {row + first_row} of the {where} labels is [{shown}], which names no single class",
            "a submodel trains on the rows of its classes, so each row must have one class: pass hard labels "
            "(smoothing can be had from the loss: CategoricalCrossentropy(label_smoothing=...))",
        )
    return ids


def flat_labels(array: NDArray[Any], total: int, where: str) -> NDArray[Any]:
    """Returns labels of shape (n,) or (n, 1) as (n,).

    Args:
        array: labels that are not one-hot.
        total: the number of classes.
        where: what the labels are of, for messages.

    Raises:
        LabelError: the labels have another shape.
    """
    if array.ndim == 1:
        return array
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    if array.ndim == 2:
        raise LabelError(
            f"the {where} labels have {array.shape[1]} columns, this block has {total} classes",
            f"one-hot labels need {total} columns; write classes={array.shape[1]} at the marker if N is that",
        )
    raise LabelError(
        f"the {where} labels have shape {array.shape}: one class per pixel or token cannot be split",
        "a block is split by the class of a whole row",
    )


def _outside(value: Any, row: int, where: str, labels: LabelMap) -> LabelError:
    shown = value.item() if isinstance(value, np.generic) else value
    return LabelError(
        f"label {shown!r} at row {row} of the {where} labels is none of the {labels.total} classes ({labels.known})",
        "labels start at 0; another start is understood when all classes occur in the training labels",
    )


def _whole(array: NDArray[Any], where: str, first_row: int) -> Ids:
    """Returns numbers as integers; raises for the first that is none."""
    if array.dtype.kind in "iub":
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        wrong = ~np.isfinite(array) | (np.floor(array) != array)
        if not wrong.any():
            return array.astype(np.int64)
        row = int(np.flatnonzero(wrong)[0])
        raise LabelError(f"label {float(array[row])} at row {row + first_row} of the {where} labels is no class")
    raise LabelError(f"the {where} labels are of type {array.dtype}, which names no classes")


def learn(value: Any, total: int) -> LabelMap:
    """Returns the map of a block's training labels.

    Args:
        value: the labels, in any form.
        total: the number of classes.

    Raises:
        LabelError: the labels name other classes than N.
    """
    array = as_array(value)
    plain = LabelMap(total)
    if is_one_hot(array, total):
        return plain
    flat = flat_labels(array, total, "training")
    if flat.dtype.kind in "US":
        return _learn_names(flat, total)
    numbers = _whole(flat, "training", 0)
    if len(numbers) == 0:
        return plain
    low, high = int(numbers.min()), int(numbers.max())
    if low >= 0 and high < total:
        return plain
    if high - low + 1 == total and len(np.unique(numbers)) == total:
        return LabelMap(total, offset=low)
    row = int(np.flatnonzero((numbers < 0) | (numbers >= total))[0])
    raise _outside(flat[row], row, "training", plain)


def _texts(array: NDArray[Any]) -> NDArray[np.str_]:
    return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array.astype(str)


def _learn_names(flat: NDArray[Any], total: int) -> LabelMap:
    texts = _texts(flat)
    names = np.unique(texts)
    if len(names) > total:
        # The first row whose label is none of the first N distinct ones, in the order of their appearance.
        seen: dict[str, int] = {}
        for row, text in enumerate(texts.tolist()):
            seen.setdefault(text, row)
        text, row = list(seen.items())[total]
        raise LabelError(
            f"label {text!r} at row {row} of the training labels is the {total + 1}th distinct label; "
            f"this block has {total} classes"
        )
    if len(names) < total:
        raise LabelError(
            f"the training labels are {len(names)} distinct strings, this block has {total} classes",
            "strings are numbered in sorted order, which needs every class to occur; pass numbers instead",
        )
    return LabelMap(total, names=tuple(str(name) for name in names))


def class_ids(labels: LabelMap, value: Any, where: str, first_row: int = 0) -> Ids:
    """Returns the class of each row, 0..N-1.

    Args:
        labels: the block's map.
        value: the labels, in any form.
        where: "training" or "validation", for messages.
        first_row: the number of the first row, for messages.

    Raises:
        LabelError: a label is none of the N classes.
    """
    array = as_array(value)
    if is_one_hot(array, labels.total):
        return one_hot_ids(array, where, first_row)
    flat = flat_labels(array, labels.total, where)
    if flat.dtype.kind in "US":
        return _name_ids(labels, _texts(flat), where, first_row)
    if labels.names:
        raise LabelError(f"the {where} labels are numbers, the training labels are strings")
    numbers = _whole(flat, where, first_row) - labels.offset
    wrong = (numbers < 0) | (numbers >= labels.total)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise _outside(flat[row], row + first_row, where, labels)
    return numbers


def _name_ids(labels: LabelMap, texts: NDArray[np.str_], where: str, first_row: int) -> Ids:
    if not labels.names:
        raise LabelError(f"the {where} labels are strings; strings are understood in whole arrays only")
    names = np.asarray(labels.names)
    found = np.minimum(np.searchsorted(names, texts), labels.total - 1).astype(np.int64)
    wrong = names[found] != texts
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise _outside(str(texts[row]), row + first_row, where, labels)
    return found


def local_labels(value: Any, ids: Ids, classes: tuple[int, ...], total: int) -> NDArray[Any]:
    """Returns the labels of a submodel's rows, counted within its classes, in the form they came in.

    Args:
        value: the labels of these rows.
        ids: the classes of these rows; all of them among `classes`.
        classes: the submodel's classes in the order of its outputs.
        total: the number of classes of the block.

    Returns:
        One-hot labels keep their type and get a column for each class; numbers keep type and shape;
        strings become int64, which is what a loss can take.
    """
    array = as_array(value)
    if is_one_hot(array, total):
        return np.ascontiguousarray(array[:, list(classes)])
    table = np.full(total, -1, dtype=np.int64)
    table[list(classes)] = np.arange(len(classes))
    local = table[ids]
    if array.dtype.kind in "US":
        return local.reshape(array.shape)
    kind = array.dtype if array.dtype.kind != "b" else np.dtype(np.int64)
    return local.astype(kind).reshape(array.shape)
