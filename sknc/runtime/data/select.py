"""Which rows a submodel trains on: those of its classes, or its half of a binary task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import EmptyShareError, LabelError
from .labels import Ids, LabelMap, as_array, is_one_hot, one_hot_ids

SEED = 20230


def class_rows(ids: Ids, classes: tuple[int, ...], total: int) -> NDArray[np.intp]:
    """Returns the rows of a submodel's classes, in ascending order.

    Args:
        ids: the class of each row.
        classes: the submodel's classes.
        total: the number of classes of the block.
    """
    wanted = np.zeros(total, dtype=bool)
    wanted[list(classes)] = True
    return np.flatnonzero(wanted[ids])


def empty_share(classes: tuple[int, ...], labels: LabelMap | None, where: str) -> EmptyShareError:
    """Returns the error for a submodel without rows.

    Args:
        classes: the submodel's classes.
        labels: how the labels name them.
        where: what was looked through.
    """
    named = list(classes)
    shown: list[Any] = named
    if labels is not None and labels.names:
        shown = [labels.names[k] for k in named]
    elif labels is not None:
        shown = [k + labels.offset for k in named]
    listed = ", ".join(map(repr, shown[:12])) + (", ..." if len(shown) > 12 else "")
    return EmptyShareError(
        f"the {where} data has no row of this submodel's classes [{listed}]",
        "every class of the block needs rows; check the number of classes and the labels",
    )


def binary_keys(value: Any, where: str, first_row: int = 0) -> NDArray[Any]:
    """Returns what tells the two classes of a binary task apart, for each row.

    Args:
        value: labels 0 and 1 (or any two numbers or strings), (n,), (n, 1) or one-hot (n, 2).
        where: what the labels are of, for messages.
        first_row: the number of the first row, for messages.

    Raises:
        LabelError: there are more than two labels, or labels between the two.
    """
    array = as_array(value)
    if is_one_hot(array, 2):
        return one_hot_ids(array, where, first_row)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise LabelError(
            f"the {where} labels have shape {array.shape}; a binary block has one label a row or two columns"
        )
    distinct = np.unique(array)
    if len(distinct) > 2:
        odd = ~np.isin(array, [0, 1]) if array.dtype.kind in "iufb" else ~np.isin(array, distinct[:2])
        row = int(np.flatnonzero(odd)[0]) if odd.any() else 0
        raise LabelError(
            f"label {array[row].item()!r} at row {row + first_row} of the {where} labels: "
            "a binary block has two classes",
            "use #SKYNNET:BEGIN_MULTICLASS for more classes; soft labels cannot be halved by class",
        )
    return array


def half_rows(keys: NDArray[Any], half: int) -> NDArray[np.intp]:
    """Returns one half of the rows: shuffled with a fixed seed, the same share of each class in both.

    Args:
        keys: the class of each row.
        half: 0 or 1.

    Returns:
        Rows in ascending order. The two halves differ by one row at most and hold both classes, since a
        class's only row goes to both.
    """
    random = np.random.RandomState(SEED)
    taken: list[NDArray[np.intp]] = []
    first = 0
    for key in np.unique(keys):
        rows = random.permutation(np.flatnonzero(keys == key))
        if len(rows) == 1:
            taken.append(rows)
            continue
        # An odd class gives its extra row to the half that has not had one last.
        taken.append(rows[(half + first) % 2 :: 2])
        first = (first + len(rows)) % 2
    return np.sort(np.concatenate(taken)) if taken else np.zeros(0, dtype=np.intp)


def alternate(keys: Ids, half: int, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns which rows of a batch are in one half, dealing each class's rows out in turn.

    Args:
        keys: 0 or 1 for each row.
        half: 0 or 1.
        counts: how many rows of each class came before; it is brought up to date.
    """
    mask = np.zeros(len(keys), dtype=bool)
    for key in (0, 1):
        rows = np.flatnonzero(keys == key)
        mask[rows] = (counts[key] + np.arange(len(rows))) % 2 == half
        counts[key] += len(rows)
    return mask


def local_class_weight(
    weights: Mapping[Any, float] | None, labels: LabelMap, classes: tuple[int, ...]
) -> dict[int, float] | None:
    """Returns class weights counted within a submodel's classes.

    Args:
        weights: by label, as Keras takes it; a class that is missing weighs 1.
        labels: how labels name the classes.
        classes: the submodel's classes.
    """
    if weights is None:
        return None
    by_id: dict[int, float] = {}
    for key, weight in dict(weights).items():
        if isinstance(key, (str, bytes)):
            text = key.decode("utf-8", "replace") if isinstance(key, bytes) else key
            if text in labels.names:
                by_id[labels.names.index(text)] = weight
        else:
            by_id[int(key) - labels.offset] = weight
    # Every class is named: for datasets Keras looks weights up in a table that ends with the highest key.
    return {local: by_id.get(k, 1.0) for local, k in enumerate(classes)}
