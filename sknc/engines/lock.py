"""One run at a time on an output folder.

The lock is the kernel's (`flock`), so it ends with the process that holds it, however that process ends;
what the file says is only for the message. It stands in DIR/artifacts/, which survives a new split.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from sknc.errors import EnvironmentProblem, SkncError

if sys.platform != "win32":  # Windows has no flock; runs there are not kept apart
    import fcntl

NAME = ".lock"
# Another process that only looks (`held`) has the lock for microseconds; a run that meets it looks again.
_PATIENCE = 0.5


@dataclasses.dataclass(frozen=True)
class Holder:
    """Who has the lock: process id, the command, and since when (local time, as text)."""

    pid: int | None
    command: str
    since: str

    def __str__(self) -> str:
        who = f"process {self.pid}" if self.pid else "another process"
        return f"sknc {self.command} ({who}, since {self.since})"


def lock_file(folder: str | os.PathLike[str]) -> Path:
    """Return where the lock of an output folder stands."""
    return Path(folder) / "artifacts" / NAME


def held(folder: str | os.PathLike[str]) -> Holder | None:
    """Tell whether a run (or a clean) is at work in an output folder.

    Args:
        folder: the output folder; it need not exist.

    Returns:
        Who is at work there, or None.
    """
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(lock_file(folder), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _read(descriptor)
    finally:
        os.close(descriptor)
    return None


def refuse_if_held(folder: str | os.PathLike[str], what: str) -> None:
    """Raise when another process is at work in an output folder.

    Args:
        folder: the output folder; it need not exist.
        what: what was about to be done, e.g. "split"; the message names it.

    Raises:
        EnvironmentProblem: with the process and since when.
    """
    holder = held(folder)
    if holder is not None:
        raise _busy(Path(folder), holder, what)


@contextlib.contextmanager
def acquire(folder: str | os.PathLike[str], command: str) -> Iterator[Path]:
    """Hold an output folder's lock while the `with` block runs.

    Args:
        folder: the output folder; DIR/artifacts/ is made when it is not there.
        command: what is being done, e.g. "run"; others are shown it.

    Yields:
        The lock file.

    Raises:
        EnvironmentProblem: another process has it, or the folder cannot be written.
    """
    path = lock_file(folder)
    descriptor = _take(path, Path(folder), command)
    try:
        _write(descriptor, command)
        yield path
    finally:
        os.close(descriptor)


def _take(path: Path, folder: Path, command: str) -> int:
    """Return a descriptor that holds the lock; the file may be removed by a clean meanwhile."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        descriptor = _open(path, folder)
        try:
            if sys.platform != "win32":
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_current(descriptor, path):
                return descriptor
        except OSError:
            if time.monotonic() > deadline:
                holder = _read(descriptor)
                os.close(descriptor)
                raise _busy(folder, holder, command) from None
        os.close(descriptor)
        time.sleep(0.02)


def _open(path: Path, folder: Path) -> int:
    try:
        path.parent.mkdir(exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise cannot_write(folder, error) from error


def _is_current(descriptor: int, path: Path) -> bool:
    """Tell whether the locked file still is the one at `path`."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _write(descriptor: int, command: str) -> None:
    now = datetime.datetime.now().isoformat(sep=" ", timespec="seconds")
    text = json.dumps({"pid": os.getpid(), "command": command, "since": now})
    # A full disk must not keep a run from starting: the words are for messages only.
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)


def _read(descriptor: int) -> Holder:
    try:
        said = json.loads(os.pread(descriptor, 4096, 0))
        return Holder(int(said["pid"]), str(said["command"]), str(said["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Holder(None, "run", "a moment ago")


def _busy(folder: Path, holder: Holder, what: str) -> SkncError:
    return EnvironmentProblem(
        f"cannot {what} {folder}: {holder} is at work there",
        hint="wait until it has ended, or end it with Ctrl-C; what it has finished is kept",
    )


def cannot_write(folder: Path, error: OSError) -> SkncError:
    """Return the error for a folder that cannot be written, with the reason in plain words."""
    reason = error.strerror or str(error)
    hints = {
        "No space left on device": "free some space; what is finished is kept, and the next run goes on from there",
        "Permission denied": "give yourself the right to write there, or split into another folder with -o",
        "Read-only file system": "copy the folder to a place that can be written",
    }
    return EnvironmentProblem(f"cannot write in {folder}: {reason}", hint=hints.get(reason))
