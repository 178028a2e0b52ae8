"""What a call of `fit` is given: how large its batches are, what one looks like, and what stays on the device."""

from __future__ import annotations

import importlib
import operator
import random
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..arguments import named_arguments
from ..frameworks import keras, tensorflow
from .pipelines import dataset_batch, held_tensors

# Samples in a batch of arrays, where `keras.Model.fit` is told nothing else.
DEFAULT_BATCH = 32
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


def feed_of(args: tuple[Any, ...], kwargs: dict[str, Any], draw: bool = False) -> Feed:
    """Looks at what `fit` is given: where nothing else says how large batches are, at the first one.

    Args:
        args: of `fit`.
        kwargs: of `fit`.
        draw: whether a `tf.data.Dataset` that does not say everything may be asked for a batch: one that shuffles
            gives another order afterwards.

    Returns:
        What was found, and the arguments to call `fit` with.
    """
    given = named_arguments(args, kwargs)
    x = given.get("x")
    if x is None or _held(x):
        return Feed(args, kwargs, _batch_of_arrays(given), x)
    spec = getattr(x, "element_spec", None)
    if spec is not None:
        batch = _rows(_inputs(spec)) or dataset_batch(x)
        if not draw or (batch and symbols(_inputs(spec)) is not None):
            return Feed(args, kwargs, batch, _inputs(spec))
    first, again = _first_batch(x)
    if first is None:
        size = getattr(x, "batch_size", None)
        return Feed(args, kwargs, size if isinstance(size, int) else None, None)
    if again is not x:
        args, kwargs = ((again, *args[1:]), kwargs) if args else (args, {**kwargs, "x": again})
    return Feed(args, kwargs, _rows(_inputs(first)), _inputs(first))


def symbols(x: Any) -> Any:
    """Returns the inputs of a batch as symbols in their structure; None where their shapes are not known.

    Args:
        x: arrays, tensors or their specifications, in any structure.
    """
    parts = keras().tree.flatten(x)
    if not parts or not all(hasattr(part, "shape") and hasattr(part, "dtype") and part.shape for part in parts):
        return None
    if any(size is None for part in parts for size in part.shape[1:]):
        return None

    def symbol(part: Any) -> Any:
        return keras().KerasTensor((None, *part.shape[1:]), dtype=_handed_over(part.dtype))

    return keras().tree.map_structure(symbol, x)


def _handed_over(dtype: Any) -> str:
    """The type in which Keras hands an array, a table of pandas or a tensor over."""
    if getattr(dtype, "kind", "") in ("O", "U", "S"):
        return "string"
    # Those of pandas are written "Float64"; whatever is no type of Keras's was made a number before.
    name = str(getattr(dtype, "name", dtype)).lower()
    floats: str = keras().backend.floatx()
    try:
        return floats if "float" in name else str(keras().backend.standardize_dtype(name))
    except ValueError:
        return floats


def _batch_of_arrays(given: dict[str, Any]) -> int:
    """What Keras cuts arrays into."""
    size: Any = given.get("batch_size")
    steps: Any = given.get("steps_per_epoch")
    rows = _rows(given.get("x"))
    if size or not steps or rows is None:
        return operator.index(size) if size else DEFAULT_BATCH
    return -(-rows // operator.index(steps))


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
        return (_first_of(x), x) if hasattr(x, "__getitem__") and hasattr(x, "__len__") else (None, x)
    except Exception:  # noqa: BLE001  # the user's code: what it raises is for `fit` to show
        return None, x


def _first_of(source: Any) -> Any:
    """The first batch of a source; what is drawn at random for it is drawn again later."""
    numpy = importlib.import_module("numpy")
    python, arrays = random.getstate(), numpy.random.get_state()
    try:
        return source[0]
    finally:
        random.setstate(python)
        numpy.random.set_state(arrays)


def _again(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    """A generator, as Keras asks for one, of a batch and what comes after it."""
    yield first
    # Not `yield from`, which would close the user's generator with this one; a second `fit` goes on with it.
    for batch in rest:  # noqa: UP028
        yield batch


def resident_bytes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Returns the bytes of arrays that Keras copies to the device and keeps there, and of what `tf.data` keeps.

    Args:
        args: of `fit`.
        kwargs: of `fit`.
    """
    if tensorflow().config.list_physical_devices("GPU"):
        # Arrays stay with the host, which is where tf.data lives.
        return 0
    given = named_arguments(args, kwargs)
    held = [given.get("x"), given.get("y"), given.get("sample_weight"), given.get("validation_data")]
    leaves = keras().tree.flatten(held)
    return sum(allotted(size) for leaf in leaves for size in (_bytes(leaf), *held_tensors(leaf)))


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
