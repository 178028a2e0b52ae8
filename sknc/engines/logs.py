"""The end of a program's log, and the user's line in it."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Sequence
from pathlib import Path

LINES = 15
_WINDOW = 1 << 16
_CELL = re.compile(r"# %% cell (\d+)\s*$")
_WIDEST = 300
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# What TensorFlow writes at each start; nothing that a failure is explained by.
_START = re.compile(r"WARNING: All log messages before absl::InitializeLog\(\)|I0000 [\d:.]+ ")
_FRAME = re.compile(r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+)')


@dataclasses.dataclass(frozen=True)
class Place:
    """A line of the user's script, with its text when it could be read; of a notebook, the line in a cell."""

    file: str
    line: int
    text: str = ""
    cell: int = 0

    def __str__(self) -> str:
        where = f"{self.file}: cell {self.cell}, line {self.line}" if self.cell else f"{self.file}:{self.line}"
        return f"{where}: {self.text}" if self.text else where


def tail(log: Path, start: int = 0, lines: int = LINES) -> list[str]:
    """Return the last lines of a log as a reader would see them.

    Args:
        log: the file; missing is empty.
        start: where the attempt that is asked about begins in it.
        lines: how many lines at most.

    Returns:
        Lines without escapes, without what a progress bar has overwritten and what every start of TensorFlow
        writes, none of them too wide. Bytes that are not UTF-8 are shown as U+FFFD.
    """
    try:
        with open(log, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            first = max(start, size - _WINDOW)
            file.seek(first)
            data = file.read(_WINDOW)
    except OSError:
        return []
    text = data.decode("utf-8", errors="replace")
    shown = [_plain(line) for line in text.split("\n")]
    if first > start and len(shown) > 1:
        # The window opens in the middle of a line.
        del shown[0]
    kept = [line for line in shown if line and not _START.match(line)]
    return kept[-lines:]


def _plain(line: str) -> str:
    line = _ESCAPES.sub("", line.rstrip())
    # Keras moves back over its bar with backspaces, others with a carriage return: the last version counts.
    line = re.split(r"\r|\x08{2,}", line)[-1]
    line = _CONTROLS.sub("", line)
    return line if len(line) <= _WIDEST else f"{line[:_WIDEST]}..."


def users_line(shown: Sequence[str], program: Path, lines: Sequence[Sequence[int]], source: str) -> Place | None:
    """Find the line of the user's script at which a program failed.

    Args:
        shown: the end of the log.
        program: the program that failed.
        lines: pieces of the program that are the user's: (first program line, first script line, count).
        source: name of the user's script.

    Returns:
        The line of the last frame of the traceback that is in the program, or None.
    """
    for text in reversed(shown):
        match = _FRAME.match(text)
        if match and _same(match["file"], program):
            number = int(match["line"])
            origin = _origin(number, lines)
            if origin is None:
                return None
            rows = _rows(program)
            said = rows[number - 1].strip()[:_WIDEST] if 0 < number <= len(rows) else ""
            cell, header = _cell(rows, lines, origin) if source.endswith(".ipynb") else (0, 0)
            return Place(source, origin - header, said, cell)
    return None


def _cell(rows: Sequence[str], lines: Sequence[Sequence[int]], origin: int) -> tuple[int, int]:
    """The number of the notebook's cell that holds a line of the script, and the line of its header; zeros for none."""
    found = [(_origin(number, lines), match[1]) for number, row in enumerate(rows, 1) if (match := _CELL.match(row))]
    above = [(header, int(cell)) for header, cell in found if header is not None and header < origin]
    header, cell = max(above, default=(0, 0))
    return cell, header


def _same(name: str, program: Path) -> bool:
    return os.path.realpath(name) == os.path.realpath(program)


def _origin(number: int, lines: Sequence[Sequence[int]]) -> int | None:
    for first, origin, count in lines:
        if first <= number < first + count:
            return origin + number - first
    return None


def _rows(program: Path) -> list[str]:
    try:
        return program.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError:
        return []
