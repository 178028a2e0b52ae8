"""The disk pool: what a segment reads is written to files, and read again for its backward pass.

The files lie in a folder of this process's own, which is removed when the process ends. A process that was
killed leaves its folder behind; the next one that spills removes it, because nobody holds its lock any more.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from ...errors import ProgramError
from ...frameworks import tensorflow
from .segments import Held

PREFIX = "sknc-spill-"
_LOCK = "lock"


def _lock(path: Path) -> IO[bytes] | None:
    """Takes a lock that ends with the process, or returns None where another process has it."""
    stream = path.open("ab")
    try:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return stream
    except OSError:
        stream.close()
        return None
    return stream


def remove_stale(base: Path) -> list[Path]:
    """Removes the folders that killed processes left behind.

    Args:
        base: where spill folders are made.

    Returns:
        The folders that were removed.
    """
    removed = []
    for folder in base.glob(f"{PREFIX}*"):
        lock = folder / _LOCK
        if os.name != "posix" or not lock.is_file():
            continue
        with contextlib.suppress(OSError):
            held = _lock(lock)
            if held is not None:
                shutil.rmtree(folder)
                held.close()
                removed.append(folder)
    return removed


class DiskPool:
    """A folder for spill files.

    Args:
        base: where the folder is made; the system's folder for temporary files when left out.
        needed: bytes that will lie there at once, 0 where that is not known.

    Raises:
        ProgramError: nothing can be written there, or there is too little room.
    """

    def __init__(self, base: str | os.PathLike[str] | None = None, needed: int = 0) -> None:
        root = Path(base if base is not None else tempfile.gettempdir()).absolute()
        try:
            root.mkdir(parents=True, exist_ok=True)
            remove_stale(root)
            self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
            self._held = _lock(self.folder / _LOCK)
            free = shutil.disk_usage(self.folder).free
        except OSError as error:
            raise ProgramError(
                f"the memory plan spills to {root}, where nothing can be written: {error.strerror or error}",
                "name another folder: fit_in_memory(..., spill_folder=...), or set TMPDIR",
            ) from error
        self.calls = 0
        # A variable, because TensorFlow may read a file of constant name while it optimises a graph.
        with tensorflow().init_scope():
            self._name = tensorflow().Variable(str(self.folder), trainable=False)
        atexit.register(self.close)
        if free < needed:
            self.close()
            raise ProgramError(
                f"the memory plan spills {needed:,} bytes to {root}, which has {free:,} bytes left",
                "make room there, name another folder with spill_folder, or give a larger budget",
            )

    def call(self, resident: frozenset[int]) -> Held:
        """Returns what keeps the tensors of one call of the model.

        Args:
            resident: keys that are held by somebody else anyway, such as the input batch.
        """
        self.calls += 1
        return _Files(self._name, self.calls, resident)

    def close(self) -> None:
        """Removes the folder."""
        if self._held is not None:
            self._held.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.close)


class _Files(Held):
    """The files of one call."""

    def __init__(self, folder: Any, call: int, resident: frozenset[int]) -> None:
        self.folder = folder
        self.number = call
        self.resident = resident
        self.known: dict[int, Callable[[], Any]] = {}
        self.writes: list[Any] = []

    def keep(self, tensor: Any, key: int) -> Callable[[], Any]:
        if key in self.resident:
            return super().keep(tensor, key)
        if key not in self.known:
            self.known[key] = self._written(tensor, key)
        return self.known[key]

    def _written(self, tensor: Any, key: int) -> Callable[[], Any]:
        tf = tensorflow()
        path = tf.strings.join([self.folder, f"{self.number}-{key}"], "/")
        # Only the kind and the shape may be remembered: the tensor itself is to be freed.
        dtype, shape = tensor.dtype, tensor.shape
        write = tf.io.write_file(path, tf.io.serialize_tensor(tensor))
        # In eager mode the file is there when this returns, and there is nothing to wait for.
        waiting = [] if write is None else [write]
        self.writes += waiting
        with tf.control_dependencies(waiting):
            # The name is handed on by a tensor, so that reading waits for writing wherever it takes place.
            name = tf.identity(path)

        def fetch() -> Any:
            found = tf.io.parse_tensor(tf.io.read_file(tf.identity(name)), dtype)
            return tf.ensure_shape(found, shape)

        return fetch

    def settled(self) -> list[Any]:
        waiting, self.writes = self.writes, []
        return waiting


class TracedPool:
    """Stands for a disk pool while a step is traced: the same operations, and no folder."""

    def call(self, resident: frozenset[int]) -> Held:
        """Returns what keeps the tensors of one call of the model.

        Args:
            resident: keys that are held by somebody else anyway.
        """
        return _Files(PREFIX, 1, resident)
