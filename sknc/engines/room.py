"""Programs whose memory plan the device had no room for: they are tried once more, with the next smaller plan.

Such a program leaves a note in its artifacts, from which its next run plans for less. Without room TensorFlow
sometimes ends the process instead of raising an error: then nobody but the engine can say that it failed.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from sknc.engines import files
from sknc.engines.base import Task
from sknc.engines.folder import read_json

# What the runtime ends a program with, and its note: `sknc.runtime.memory.execute.room`.
STATUS = 75
NOTE = "no_room.json"
_SIGNALS = {getattr(signal, name) for name in ("SIGABRT", "SIGBUS", "SIGKILL", "SIGSEGV") if hasattr(signal, name)}
_KEPT = ("budget", "planned_bytes", "next_budget", "asked")


# Tells one note from another.
Mark = tuple[int, int]


def mark(task: Task) -> Mark | None:
    """Return what tells a program's note, which an earlier run may have left, from those that are written later.

    Args:
        task: the program.
    """
    try:
        found = (task.home / NOTE).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def shortage(task: Task, status: int, before: Mark | None) -> dict[str, Any] | None:
    """Return what a failed program's plan was, when the device had no room for it.

    Args:
        task: the program.
        status: how its process ended; negative for a signal.
        before: the mark of the note that was there before the program was started.

    Returns:
        {"budget", "planned_bytes", "next_budget", "asked"}, or None for any other failure.
    """
    said = read_json(task.home / NOTE)
    if said is None or not isinstance(said.get("next_budget"), int) or mark(task) == before:
        return None
    if status < 0 and -status in _SIGNALS and said.get("failed") is False:
        said = {**said, "failed": True, "asked": f"its process was killed by {signal.Signals(-status).name}"}
        files.write_json(task.home / NOTE, said)
    elif status != STATUS or said.get("failed") is not True:
        return None
    return {name: said.get(name) for name in _KEPT}


def describe(said: Mapping[str, Any]) -> str:
    """Return one line about a shortage: what was planned, and what was asked for.

    Args:
        said: what `shortage` returned.
    """
    return f"the device had no room for the {size(said.get('planned_bytes'))} of its memory plan"


def size(value: object) -> str:
    """Return a number of bytes in MiB, as plans are told."""
    return f"{value / 2**20:.1f} MiB" if isinstance(value, int) else "bytes"
