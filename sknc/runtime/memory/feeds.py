"""What a call of `fit` is given: how large its batches are, what one looks like, and what stays on the device."""

from __future__ import annotations

import operator
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..frameworks import keras, tensorflow

# Of keras.Model.fit: samples in a batch of arrays, and its parameters by place.
DEFAULT_BATCH = 32
_PLACES = ("x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split", "validation_data")
# What the allocator counts, and from which rest on it splits a chunk.
_COUNTED, _SPLIT = 256 * 1024, 128 << 20


@dataclass(frozen=True, slots=True)
class Feed:
    """What a call of `fit` is given.

    Attributes:
        args: of the call; a generator that was looked into gives its first batch all the same.
        kwargs: of the call, likewise.
        batch: samples in a batch; None where nobody knows.
        x: the arrays, or the inputs of one batch, or their specifications; None where nobody knows.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    batch: int | None
    x: Any


def feed_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Feed:
    """Looks at what `fit` is given: where nothing else says how large batches are, at the first one.

    Args:
        args: of `fit`.
        kwargs: of `fit`.

    Returns:
        What was found, and the arguments to call `fit` with.
    """
    given = {**dict(zip(_PLACES, args, strict=False)), **kwargs}
    x = given.get("x")
    if x is None or _held(x):
        size = given.get("batch_size")
        return Feed(args, kwargs, operator.index(size) if size else DEFAULT_BATCH, x)
    spec = getattr(x, "element_spec", None)
    if spec is not None and _rows(_inputs(spec)):
        return Feed(args, kwargs, _rows(_inputs(spec)), _inputs(spec))
    first, again = _first_batch(x)
    if first is None:
        size = getattr(x, "batch_size", None)
        return Feed(args, kwargs, size if isinstance(size, int) else None, None)
    if again is not x:
        args, kwargs = ((again, *args[1:]), kwargs) if args else (args, {**kwargs, "x": again})
    return Feed(args, kwargs, _rows(_inputs(first)), _inputs(first))


def _held(x: Any) -> bool:
    """Whether data are arrays, or arrays in a structure, and no source that hands out batches."""
    return isinstance(x, list | tuple | dict) or hasattr(x, "shape")


def _inputs(batch: Any) -> Any:
    return batch[0] if isinstance(batch, tuple) and batch else batch


def _rows(x: Any) -> int | None:
    for leaf in keras().tree.flatten(x):
        shape = getattr(leaf, "shape", None)
        if shape is not None and getattr(shape, "rank", len) is not None and len(shape) and shape[0]:
            return int(shape[0])
    return None


def _first_batch(x: Any) -> tuple[Any, Any]:
    """The first batch of a source, and what to read instead of the source; no batch where it cannot be had."""
    try:
        if isinstance(x, types.GeneratorType):
            first = next(x)
            return first, _again(first, x)
        if hasattr(x, "element_spec"):
            return next(iter(x)), x
        # Keras looks at the first batches of such a source as well.
        return (x[0], x) if hasattr(x, "__getitem__") and hasattr(x, "__len__") else (None, x)
    except Exception:  # noqa: BLE001  # the user's code: what it raises is for `fit` to show
        return None, x


def _again(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    """A generator, as Keras asks for one, of a batch and what comes after it."""
    yield first
    yield from rest


def resident_bytes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Returns the bytes of arrays that Keras copies to the device and keeps there.

    Args:
        args: of `fit`.
        kwargs: of `fit`.
    """
    if tensorflow().config.list_physical_devices("GPU"):
        # Arrays stay with the host, which is where tf.data lives.
        return 0
    given = {**dict(zip(_PLACES, args, strict=False)), **kwargs}
    held = [given.get("x"), given.get("y"), given.get("sample_weight"), given.get("validation_data")]
    return sum(allotted(_bytes(leaf)) for leaf in keras().tree.flatten(held))


def allotted(size: int) -> int:
    """Returns what TensorFlow's allocator takes for an array at most.

    Its regions are powers of two, and one is handed out whole where less would be left than it splits off.

    Args:
        size: bytes of the array.
    """
    region = 1 << max(0, size - 1).bit_length()
    return region if size >= _COUNTED and region - size < _SPLIT else size


def _bytes(leaf: Any) -> int:
    """What an array, or a table of pandas, takes once Keras has converted its floats to its own float type."""
    package = type(leaf).__module__.partition(".")[0]
    width = int(tensorflow().as_dtype(keras().backend.floatx()).size)
    if package == "pandas":
        return int(leaf.size) * width
    if package != "numpy" or not hasattr(leaf, "nbytes"):
        return 0
    return int(leaf.size) * width if leaf.dtype.kind == "f" else int(leaf.nbytes)
