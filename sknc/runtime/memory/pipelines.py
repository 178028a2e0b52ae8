"""What a `tf.data` pipeline says of itself by names that are not public: its batch size, and what it holds.

A pipeline whose parts have other names than these says nothing, which is no failure.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ..frameworks import keras, tensorflow
from ..marks import noted_batch, read_by

# Behind these, what was a batch is none any more.
_REGROUPING = ("Unbatch", "Window", "Rebatch", "FlatMap", "Interleave")


def dataset_batch(dataset: Any) -> int | None:
    """Returns the batch size of a `tf.data.Dataset` whose last batch may be smaller, None where it is not known.

    Args:
        dataset: any; its type says nothing, because the axis has no length.
    """
    noted = noted_batch(dataset)
    if noted is not None:
        return noted
    size = _static(getattr(dataset, "_batch_size", None))
    if size is not None:
        return size if size > 0 else None
    if any(name in type(dataset).__name__ for name in _REGROUPING):
        return None
    return max(filter(None, map(dataset_batch, _sources(dataset))), default=None)


def held_tensors(dataset: Any) -> list[int]:
    """Returns the bytes of each tensor that a pipeline keeps: what it was made from, caches, buffers for shuffling.

    Args:
        dataset: any `tf.data.Dataset`, or anything else, which keeps nothing.
    """
    found: list[int] = []
    seen: set[int] = set()
    stack = [dataset]
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        stack += _sources(one)
        found += [_bytes(tensor) for tensor in getattr(one, "_tensors", ())]
        found += _buffered(one)
    return found


def _buffered(dataset: Any) -> list[int]:
    """Elements that a cache in memory or a buffer for shuffling keeps."""
    elements = _elements(dataset)
    if elements is None:
        return []
    count = int(dataset.cardinality())
    if type(dataset).__name__ == "CacheDataset":
        return elements * count if _static(getattr(dataset, "_filename", None)) == "" and count > 0 else []
    if "Shuffle" in type(dataset).__name__:
        size = _static(getattr(dataset, "_buffer_size", None)) or 0
        return elements * min(size, count if count > 0 else size)
    return []


def _elements(dataset: Any) -> list[int] | None:
    """The bytes of each tensor of an element; None where they are not known."""
    sizes = []
    for spec in keras().tree.flatten(getattr(dataset, "element_spec", None)):
        shape = getattr(spec, "shape", None)
        if shape is None or shape.rank is None or spec.dtype.size == 0:
            return None
        lengths = [size or (dataset_batch(dataset) if place == 0 else None) for place, size in enumerate(shape)]
        if any(size is None for size in lengths):
            return None
        sizes.append(prod(size or 0 for size in lengths) * int(spec.dtype.size))
    return sizes


def _sources(dataset: Any) -> list[Any]:
    found = list(dataset._inputs()) if hasattr(dataset, "_inputs") else []
    read = read_by(dataset)
    return found if read is None else [*found, read]


def _bytes(tensor: Any) -> int:
    size = getattr(getattr(tensor, "dtype", None), "size", 0)
    shape = getattr(tensor, "shape", None)
    return prod(map(int, shape)) * int(size) if shape is not None and shape.is_fully_defined() else 0


def _static(tensor: Any) -> Any:
    """The value of a constant tensor; None where it is not known."""
    value = None if tensor is None else tensorflow().get_static_value(tensor)
    value = getattr(value, "item", lambda: value)()
    return value.decode() if isinstance(value, bytes) else value
