"""The disk pool: what a segment reads is written to files, and read again for its backward pass.

The files lie in a folder of this process's own, which is removed when the process ends. A process that was
killed leaves its folder behind; the next one that spills removes it, because nobody holds its lock any more.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from ...errors import ProgramError
from ...frameworks import tensorflow
from .moving import Counts, Fetch, in_gradient_of_loop

PREFIX = "sknc-spill-"
# Of a folder that has no lock yet.
_UNBORN = ".new-"
# How often a folder is made anew, because another process took it for a dead one's.
_TRIES = 10
_LOCK = "lock"
# Calls of a model whose files may wait for their backward pass at once: within one training step, and in a loop of
# the user's own, where nobody says when a step begins, so that files of earlier calls stay.
_IN_STEP, _ANYWHERE = 1024, 4
OVERWRITTEN = "files of an earlier call of the model were overwritten before its backward pass read them"


class _NoLocks(OSError):
    """A file system without locks, such as some of a network."""


def _lock(path: Path) -> IO[bytes] | None:
    """Takes a lock that ends with the process, or returns None where another process has it."""
    stream = path.open("ab")
    try:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return stream
    except BlockingIOError:
        stream.close()
        return None
    except OSError as error:
        stream.close()
        raise _NoLocks(*error.args) from error
    return stream


def remove_stale(base: Path) -> list[Path]:
    """Removes the folders that killed processes left behind.

    Args:
        base: where spill folders are made.

    Returns:
        The folders that were removed.
    """
    removed: list[Path] = []
    if os.name != "posix":
        return removed
    for folder in [*base.glob(f"{PREFIX}*"), *base.glob(f"{_UNBORN}{PREFIX}*")]:
        lock = folder / _LOCK
        if not lock.is_file():
            # A process was killed before it had its lock; one that lives makes its folder anew.
            if folder.name.startswith(_UNBORN):
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    removed.append(folder)
            continue
        with contextlib.suppress(OSError):
            held = _lock(lock)
            if held is not None:
                shutil.rmtree(folder)
                held.close()
                removed.append(folder)
    return removed


def _own_folder(root: Path) -> tuple[Path, IO[bytes] | None]:
    """Makes a folder that has a lock as soon as it has its name."""
    for _ in range(_TRIES):
        made = Path(tempfile.mkdtemp(prefix=f"{_UNBORN}{PREFIX}", dir=root))
        folder = root / made.name.removeprefix(_UNBORN)
        # Until the lock is there, another process may take the folder for one that a killed process left.
        with contextlib.suppress(FileNotFoundError):
            try:
                held = _lock(made / _LOCK)
            except _NoLocks:
                # Nobody can tell whose it is: nobody removes it.
                made.rename(folder)
                return folder, None
            if held is not None:
                made.rename(folder)
                return folder, held
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


class DiskPool:
    """A folder for spill files.

    Args:
        base: where the folder is made; the system's folder for temporary files when left out.
        needed: bytes that will lie there at once, 0 where that is not known.
        counts: of an earlier folder, to go on with.

    Raises:
        ProgramError: nothing can be written there, or there is too little room.
    """

    def __init__(
        self, base: str | os.PathLike[str] | None = None, needed: int = 0, counts: Counts | None = None
    ) -> None:
        self.root = Path(base if base is not None else tempfile.gettempdir()).absolute()
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            remove_stale(self.root)
            self.folder, self._held = _own_folder(self.root)
        except OSError as error:
            raise ProgramError(
                f"the memory plan spills to {self.root}, where nothing can be written: {error.strerror or error}",
                "name another folder: fit_in_memory(..., spill_folder=...), or set TMPDIR",
            ) from error
        self._owner = os.getpid()
        self.closed = False
        atexit.register(self.close)
        self.counts = counts or Counts()
        self.tickets = _Tickets(self.folder)
        self.require(needed)

    def require(self, needed: int) -> None:
        """Makes sure that there is room, files of earlier steps not counted.

        Args:
            needed: bytes.

        Raises:
            ProgramError: there is too little room; the folder is removed.
        """
        self.clear()
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            self.close()
            raise ProgramError(
                f"the memory plan spills {needed:,} bytes to {self.root}, which has {free:,} bytes left",
                "make room there, name another folder with spill_folder, or give a larger budget",
            )

    def call(self) -> FileStore:
        """Returns what keeps the tensors of one call of the model."""
        return FileStore(self)

    def clear(self) -> None:
        """Removes the files of steps that have ended, or will not go on."""
        for file in self.folder.glob("*-*"):
            with contextlib.suppress(OSError):
                file.unlink()

    def close(self) -> None:
        """Removes the folder."""
        if os.getpid() != self._owner:
            # A forked process has the folder of its parent.
            return
        self.closed = True
        if self._held is not None:
            self._held.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.close)


class _Tickets:
    """Names for the files of a call, for each time it runs: a traced call may run several times in one step.

    Args:
        folder: where the files lie.
    """

    def __init__(self, folder: Path) -> None:
        tf = tensorflow()
        self.in_step = False
        with tf.init_scope(), tf.device("/device:CPU:0"):
            # A variable, because TensorFlow may read a file of constant name while it optimises a graph.
            self.folder = tf.Variable(str(folder), trainable=False)
            self.last = tf.Variable(0, dtype="int64", trainable=False)
            self.start = tf.Variable(0, dtype="int64", trainable=False)
            self.owners = tf.Variable(tf.zeros([_IN_STEP], "int64"), trainable=False)

    def restart(self) -> None:
        """Says that no call waits for its backward pass."""
        self.start.assign(self.last)

    def draw(self, counts: Counts) -> tuple[Any, Any, Any]:
        """Returns a ticket, its place, and the start of its files' names.

        Args:
            counts: of the pool.
        """
        tf = tensorflow()
        ticket = tf.convert_to_tensor(self.last.assign_add(1))
        place = (ticket - self.start - 1) % (_IN_STEP if self.in_step else _ANYWHERE)
        owned = self.owners.scatter_update(tf.IndexedSlices(ticket, place))
        # What is counted has been read: an earlier step's file is not overwritten before.
        with tf.control_dependencies([tf.convert_to_tensor(owned), tf.convert_to_tensor(counts.read)]):
            return ticket, place, tf.strings.join([self.folder, tf.strings.as_string(place)], "/")

    def checked(self, ticket: Any, place: Any) -> list[Any]:
        """Returns what has to have happened before files of a ticket are read: they are still its own."""
        tf = tensorflow()
        if in_gradient_of_loop():
            raise ProgramError(
                "the model is called in a loop inside of the training step; what each turn spills cannot be told apart",
                "plan with spill=False, or write the loop in Python",
            )
        check = tf.debugging.assert_equal(self.owners[place], ticket, OVERWRITTEN)
        return [] if check is None else [check]


class StepStart:
    """Stands for a model's `train_step`: before it, no call waits for its backward pass.

    Args:
        step: the `train_step`.
        pool: says which pool the model uses, None for none.
        replaced: whether the step is not a method of the model's class, but was put on the model itself.
    """

    def __init__(self, step: Any, pool: Callable[[], DiskPool | None], replaced: bool) -> None:
        self.step = step
        self.run = step
        self.replaced = replaced
        self.pool = pool

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the `train_step`.

        Args:
            *args: of it.
            **kwargs: of it.
        """
        pool = self.pool()
        if pool is None:
            return self.run(*args, **kwargs)
        tickets = pool.tickets
        tickets.restart()
        before, tickets.in_step = tickets.in_step, True
        try:
            return self.run(*args, **kwargs)
        finally:
            tickets.in_step = before


class FileStore:
    """The files of one call; without a pool it stands in for them while a step is traced.

    Args:
        pool: whose files they are.
    """

    def __init__(self, pool: DiskPool | None = None) -> None:
        self.pool = pool
        self._drawn: tuple[Any, Any, Any] | None = None

    def _files(self) -> Any:
        if self.pool is None:
            return PREFIX
        if self._drawn is None:
            self._drawn = self.pool.tickets.draw(self.pool.counts)
            self.pool.counts.calls.assign_add(1)
        return self._drawn[2]

    def put(self, tensor: Any, key: int) -> tuple[list[Any], Fetch]:
        """Writes a tensor to a file; returns the writing to wait for, and what reads it.

        Args:
            tensor: any dense tensor.
            key: its key in the flat graph.
        """
        tf = tensorflow()
        path = tf.strings.join([self._files(), str(key)], "-")
        # Only the kind and the shape may be remembered: the tensor itself is to be freed.
        dtype, shape = tensor.dtype, tensor.shape
        content = tf.io.serialize_tensor(tensor)
        write = tf.io.write_file(path, content)
        # In eager mode the file is there when this returns, and there is nothing to wait for.
        waiting = [] if write is None else [write]
        pool, drawn = self.pool, self._drawn
        with tf.control_dependencies(waiting):
            # The name is handed on by a tensor, so that reading waits for writing wherever it takes place.
            name = tf.identity(path)
            if pool is not None:
                pool.counts.written.assign_add(_length(content))

        def fetch() -> Any:
            own = pool.tickets.checked(*drawn[:2]) if pool is not None and drawn is not None else []
            with tf.control_dependencies(own):
                found = tf.io.read_file(tf.identity(name))
            if pool is not None:
                pool.counts.read.assign_add(_length(found))
            return tf.ensure_shape(tf.io.parse_tensor(found, dtype), shape)

        return waiting, fetch


def _length(content: Any) -> Any:
    return tensorflow().cast(tensorflow().strings.length(content), "int64")
