"""Writing a report to the file that a user named: the whole of it, or nothing."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from sknc.errors import EnvironmentProblem


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written, before the work whose result it is to hold.

    Args:
        path: the file; it need not be there.

    Raises:
        EnvironmentProblem: its folder is not there, or it may not be written.
    """
    folder = path.parent
    if path.is_dir():
        raise EnvironmentProblem(f"'{path}' cannot be written: it is a folder")
    if not folder.is_dir():
        raise EnvironmentProblem(f"'{path}' cannot be written: there is no folder '{folder}'")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise EnvironmentProblem(f"'{path}' cannot be written: permission denied")


def write_file(path: Path, content: bytes) -> None:
    """Write a file in one step: a reader sees the old one or the new one.

    Args:
        path: the file; a link is followed, and what is no ordinary file (a pipe, /dev/stdout) is written to as it is.
        content: what it shall hold.

    Raises:
        EnvironmentProblem: the folder cannot be written, or the disk is full.
    """
    target = path.resolve()
    beside = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(content)
            return
        try:
            beside.write_bytes(content)
            if target.exists():
                beside.chmod(target.stat().st_mode & 0o777)
            os.replace(beside, target)
        finally:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentProblem(f"'{path}' cannot be written: {error.strerror or error}") from error
