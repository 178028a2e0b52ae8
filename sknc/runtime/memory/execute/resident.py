"""What a call of `fit` keeps on the device besides the training step: on a CPU, the arrays it is given."""

from __future__ import annotations

from typing import Any

from ...frameworks import keras, tensorflow

# What the allocator counts, and from which rest on it splits a chunk.
_COUNTED, _SPLIT = 256 * 1024, 128 << 20
# Of keras.Model.fit, by place.
_PLACES = ("x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split", "validation_data")


def _given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**dict(zip(_PLACES, args, strict=False)), **kwargs}


def resident_bytes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Returns the bytes of arrays that Keras copies to the device and keeps there.

    Args:
        args: of `fit`.
        kwargs: of `fit`.
    """
    if tensorflow().config.list_physical_devices("GPU"):
        # Arrays stay with the host, which is where tf.data lives.
        return 0
    given = _given(args, kwargs)
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
    count = getattr(leaf, "nbytes", None)
    if type(leaf).__module__.partition(".")[0] == "numpy" and isinstance(count, int):
        floats = getattr(leaf.dtype, "kind", "") == "f"
        # Keras converts floats to its own float type.
        return int(leaf.size) * 4 if floats and keras().backend.floatx() == "float32" else count
    return 0


def batch_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """Returns the batch size of a call of `fit`, None where it does not say one.

    Args:
        args: of `fit`.
        kwargs: of `fit`.
    """
    given = _given(args, kwargs)
    size = given.get("batch_size")
    if isinstance(size, int):
        return size
    spec = getattr(given.get("x"), "element_spec", None)
    for leaf in keras().tree.flatten(spec) if spec is not None else ():
        shape = getattr(leaf, "shape", None)
        if shape is not None and shape.rank and shape[0]:
            return int(shape[0])
    return None
