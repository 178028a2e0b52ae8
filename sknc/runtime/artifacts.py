"""Where a program keeps what it produces, and how that is written and read.

DIR/artifacts/<stem>-<12 hex digits of the program's hash>/
    weights.npz   arrays w0000, w0001, ... in the order of `model.get_weights()`; never pickled
    model.json    the model's keras config, or null where there is none without code
    history.json  {"epoch": [...], "history": {metric: [values]}}
    result.json   written last, in one step: where it exists, the training has finished
    out/          what the user's own code writes
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESULT = "result.json"
WEIGHTS = "weights.npz"
MODEL = "model.json"
HISTORY = "history.json"
OUT = "out"


def program_hash(path: str | os.PathLike[str]) -> str:
    """Returns the SHA-256 of a program's bytes, in hexadecimal.

    Args:
        path: the program.

    Raises:
        OSError: the program cannot be read.
    """
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def folder(program: str | os.PathLike[str]) -> Path:
    """Returns the folder of a program's artifacts; it is not made here.

    Args:
        program: the program; the artifacts lie beside it.
    """
    place = Path(program).absolute()
    return place.parent / "artifacts" / f"{place.stem}-{program_hash(place)[:12]}"


def compose_folder(program: str | os.PathLike[str]) -> Path:
    """Returns the folder for what the composer measures; it is not made here.

    Args:
        program: any program of the output folder.
    """
    return Path(program).absolute().parent / "artifacts" / "compose"


def finished(program: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Returns the result of a program that has finished training, or None.

    Args:
        program: the program. A result of other bytes than the program's present ones does not count.
    """
    try:
        result = json.loads((folder(program) / RESULT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(result, dict) or result.get("program") != program_hash(program):
        return None
    return result


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file in one step: a reader sees the old bytes or the new ones, never a part.

    Args:
        path: the file; its folder is made where it is missing.
        data: the whole content.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp makes files that only their owner reads; results are as readable as any other file.
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def plain(value: Any) -> Any:
    """Returns a value as JSON can hold it: numpy numbers as numbers, not-a-number as null.

    Args:
        value: nested dicts, lists and tuples of numbers, strings and arrays.
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    return _plain_scalar(value)


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        return _plain_scalar(float(value))
    except (TypeError, ValueError):
        return str(value)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Writes a value as JSON in one step.

    Args:
        path: the file.
        value: what `plain` accepts.
    """
    text = json.dumps(plain(value), indent=1, ensure_ascii=False) + "\n"
    write_bytes(path, text.encode("utf-8"))


def save_weights(path: str | os.PathLike[str], weights: Sequence[NDArray[Any]]) -> None:
    """Writes arrays as w0000, w0001, ... in one step.

    Args:
        path: the .npz file.
        weights: the arrays of `model.get_weights()`.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            # numpy has no bfloat16 of its own and would store bare bytes; float32 holds every bfloat16.
            named = {
                f"w{i:04d}": w.astype(np.float32) if w.dtype.name == "bfloat16" else w for i, w in enumerate(weights)
            }
            savez: Any = np.savez
            savez(stream, **named)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load_weights(path: str | os.PathLike[str]) -> list[NDArray[Any]]:
    """Returns the arrays of a weights.npz in their order.

    Args:
        path: the file that `save_weights` wrote.

    Raises:
        ValueError: the file holds pickled objects, which are never loaded.
    """
    with np.load(Path(path), allow_pickle=False) as stored:
        return [stored[key] for key in sorted(stored.files)]
