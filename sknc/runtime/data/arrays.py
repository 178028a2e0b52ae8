"""Arrays in the containers that Keras takes: single, or in lists, tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ProgramError
from ..frameworks import keras, tensorflow
from .labels import as_array


class Rows(NamedTuple):
    """Inputs, targets and weights of the same rows; targets and weights may be None."""

    x: Any
    y: Any
    weight: Any


def leaves(value: Any) -> list[Any]:
    """Returns the arrays of a container in order, without None.

    Args:
        value: an array, or lists, tuples and dicts of arrays.
    """
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None else [value]


def map_leaves(change: Callable[[Any], Any], value: Any) -> Any:
    """Returns a container of the same form with each array changed.

    Args:
        change: from an array to an array.
        value: an array, or lists, tuples and dicts of arrays.
    """
    if isinstance(value, dict):
        changed = {key: map_leaves(change, item) for key, item in value.items()}
        return changed if type(value) is dict else type(value)(changed)
    if isinstance(value, (list, tuple)):
        items = [map_leaves(change, item) for item in value]
        if isinstance(value, tuple):
            named: Any = type(value)
            return named(*items) if hasattr(value, "_fields") else tuple(items)
        return items
    return None if value is None else change(value)


def count_rows(value: Any) -> int:
    """Returns the number of rows of an array or of a container's first array.

    Args:
        value: what `leaves` takes.

    Raises:
        ProgramError: there is no array.
    """
    found = leaves(value)
    if not found:
        raise ProgramError("the data holds no array")
    first = found[0]
    shape = getattr(first, "shape", None)
    if shape is not None and len(shape):
        return int(shape[0])
    try:
        return len(first)
    except TypeError:
        raise ProgramError(f"the data is a {type(first).__name__}, which has no rows") from None


def _has_rows(value: Any) -> bool:
    shape = getattr(value, "shape", None)
    return shape is not None and len(shape) > 0


def tidy(value: Any, rows: int | None = None) -> Any:
    """Returns data in which every leaf is an array: lists of numbers and of rows become arrays.

    Args:
        value: what a user passes to `fit` as x or sample_weight.
        rows: the number of rows, which tells a list of rows from a list of inputs.
    """
    if isinstance(value, dict):
        return {key: tidy(item, rows) for key, item in value.items()}
    if not isinstance(value, (list, tuple)) or not value:
        return value
    found = leaves(value)
    if not any(_has_rows(leaf) for leaf in found):
        return np.asarray(value)
    one_input_each = all(_has_rows(leaf) and count_rows(leaf) == rows for leaf in found)
    if rows is not None and len(value) == rows and not one_input_each:
        return np.stack([np.asarray(item) for item in value])
    items = [tidy(item, rows) for item in value]
    return tuple(items) if isinstance(value, tuple) else items


def unwrap(y: Any, rows: int | None) -> tuple[Any, Callable[[Any], Any]]:
    """Returns the single target array, and a function that puts a changed one back into its container.

    Args:
        y: targets; a list, tuple or dict of one array is understood.
        rows: the number of rows, where it is known.

    Raises:
        ProgramError: there are targets for several outputs, or none.
    """
    if y is None:
        raise ProgramError(
            "the training data has no targets, so that no share of them can be selected",
            "pass y (an autoencoder's targets too: model.fit(x, x))",
        )
    if isinstance(y, dict):
        if len(y) != 1:
            raise ProgramError(f"the targets are for {len(y)} outputs {sorted(map(str, y))}; one can be split")
        key = next(iter(y))
        return y[key], lambda changed: {key: changed}
    if isinstance(y, (list, tuple)):
        arrays = [item for item in y if _has_rows(item)]
        if len(y) == 1 and len(arrays) == 1:
            in_list = isinstance(y, list)
            return y[0], lambda changed: [changed] if in_list else (changed,)
        if arrays and len(arrays) == len(y) and rows is not None and len(y) != rows:
            raise ProgramError(f"the targets are {len(y)} arrays, for several outputs; one can be split")
        return as_array(y), lambda changed: changed
    return y, lambda changed: changed


def _is_tensor(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "tensorflow"


def take(value: Any, rows: NDArray[np.intp]) -> Any:
    """Returns some rows of an array; the array itself where all are taken.

    Args:
        value: a numpy array, a tensor, a table, or anything that indexes by an array of rows.
        rows: ascending row numbers.

    Raises:
        ProgramError: rows cannot be taken from this type.
    """
    if count_rows(value) == len(rows):
        return value
    if hasattr(value, "iloc"):
        return value.iloc[rows]
    if _is_tensor(value):
        if type(value).__name__ == "SparseTensor":
            raise ProgramError("rows cannot be selected from a SparseTensor", "pass tf.sparse.to_dense(x)")
        return tensorflow().gather(value, rows)
    try:
        return value[rows]
    except (TypeError, IndexError, KeyError):
        raise ProgramError(f"rows cannot be selected from a {type(value).__name__}", "pass numpy arrays") from None


def take_rows(data: Rows, rows: NDArray[np.intp]) -> Rows:
    """Returns some rows of inputs, targets and weights.

    Args:
        data: all rows.
        rows: ascending row numbers.
    """
    return Rows(*(map_leaves(lambda leaf: take(leaf, rows), part) for part in data))


def check_counts(data: Rows) -> int:
    """Returns the number of rows.

    Args:
        data: inputs, targets and weights.

    Raises:
        ProgramError: they have different numbers of rows.
    """
    counts = {
        name: sorted({count_rows(leaf) for leaf in leaves(part)})
        for name, part in zip(("x", "y", "sample_weight"), data, strict=True)
    }
    distinct = {number for numbers in counts.values() for number in numbers}
    if len(distinct) > 1:
        shown = "; ".join(f"{name}: {', '.join(map(str, n))}" for name, n in counts.items() if n)
        raise ProgramError(f"the arrays passed to fit have different numbers of rows ({shown})")
    return distinct.pop() if distinct else 0


def split_rows(data: Rows, fraction: float) -> tuple[Rows, Rows]:
    """Returns the training and validation rows of `validation_split`, as Keras divides them.

    Args:
        data: all rows.
        fraction: the part at the end that validates.

    Raises:
        ProgramError: one of the two would be empty.
    """
    total = check_counts(data)
    at = int(np.floor(total * (1.0 - fraction)))
    if at in (0, total):
        raise ProgramError(f"validation_split={fraction} of {total} rows leaves nothing to train or to validate on")

    def part(start: int, stop: int) -> Rows:
        def piece(leaf: Any) -> Any:
            return leaf.iloc[start:stop] if hasattr(leaf, "iloc") else leaf[start:stop]

        return Rows(*(map_leaves(piece, item) for item in data))

    return part(0, at), part(at, total)


def input_specs(x: Any) -> Any:
    """Returns the shape and type of inputs, in their container, as result.json keeps them.

    Args:
        x: arrays, or a dataset that knows its elements.

    Returns:
        {"shape": [null, ...], "dtype": name}, or a list or dict of such; None where it is not known.
    """
    spec = getattr(x, "element_spec", None)
    if isinstance(spec, (tuple, list)) and spec:
        x = spec[0]
    found = leaves(x)
    if not found or not all(len(getattr(leaf, "shape", None) or ()) for leaf in found):
        return None

    def describe(leaf: Any) -> dict[str, Any]:
        name = str(getattr(getattr(leaf, "dtype", None), "name", "float32"))
        if name.startswith(("str", "bytes", "object")):
            name = "string"
        # Keras turns float64 data into the type that it computes in.
        return {"shape": [None, *leaf.shape[1:]], "dtype": keras().config.floatx() if name == "float64" else name}

    return map_leaves(describe, x)
