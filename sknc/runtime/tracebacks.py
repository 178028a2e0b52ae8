"""Leads a traceback in an emitted program back to the user's line."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from .errors import ProgramError

_installed: set[str] = set()
# Stands above each cell of a notebook.
_CELL = re.compile(r"# %% cell (\d+)\s*$")


def line_map(program: Path) -> tuple[str, list[tuple[int, int, int]]] | None:
    """Returns the source's name and the (program line, source line, count) runs of a program.

    Args:
        program: the program; its manifest.json lies beside it.

    Returns:
        None where there is no manifest or it says nothing of this program.
    """
    try:
        manifest = json.loads((program.parent / "manifest.json").read_text(encoding="utf-8"))
        source = str(manifest["source"]["file"])
        for entry in _entries(manifest):
            if entry.get("file") == program.name and entry.get("lines"):
                runs = [(int(a), int(b), int(count)) for a, b, count in entry["lines"]]
                return Path(source).name, runs
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # A traceback is about another failure; a manifest that cannot be read must not hide it.
        return None
    return None


def _entries(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for block in manifest.get("blocks", []):
        entries.extend(block.get("programs", []))
    entries.extend(manifest[key] for key in ("composer", "original") if isinstance(manifest.get(key), dict))
    entries.extend({"file": name, "lines": lines} for name, lines in manifest.get("lines", {}).items())
    return entries


def source_line(runs: list[tuple[int, int, int]], line: int) -> int | None:
    """Returns the user's line behind a program's line, or None for a line that sknc wrote.

    Args:
        runs: what `line_map` returns.
        line: 1-based line of the program.
    """
    for start, source, count in runs:
        if start <= line < start + count:
            return source + line - start
    return None


def place(source: str, runs: list[tuple[int, int, int]], text: list[str], line: int) -> str:
    """Returns a line of the script as people find it: of a notebook, the cell and the line in it.

    Args:
        source: the script's name.
        runs: what `line_map` returns.
        text: the program's lines, with the headers of a notebook's cells.
        line: 1-based line of the script.
    """
    cells = [(source_line(runs, number), found[1]) for number, row in enumerate(text, 1) if (found := _CELL.match(row))]
    above = [(header, cell) for header, cell in cells if header is not None and header < line]
    if not source.endswith(".ipynb") or not above:
        return f"{source}:{line}"
    header, cell = max(above)
    return f"{source}: cell {cell}, line {line - header}"


def explain(program: Path, trace: TracebackType | None) -> list[str]:
    """Returns a line of text for each frame of a traceback that lies in the program.

    Args:
        program: the program.
        trace: the traceback of an exception.
    """
    mapped = line_map(program)
    if mapped is None:
        return []
    source, runs = mapped
    lines: list[str] = []
    try:
        text = program.read_text(encoding="utf-8-sig", errors="replace").split("\n")
    except OSError:
        text = []
    for frame in traceback.extract_tb(trace):
        if Path(frame.filename).absolute() != program:
            continue
        found = source_line(runs, frame.lineno or 0)
        if found is not None:
            lines.append(f"  {place(source, runs, text, found)}, in {frame.name} ({program.name}, line {frame.lineno})")
    return lines


def _told(error: BaseException) -> bool:
    """Whether an error is one that this runtime raises to tell a person something: where it was found says nothing."""
    return isinstance(error, Exception) and type(error).__module__.startswith(f"{__package__}.")


def _sizes(message: str) -> str:
    """What to say where an error speaks of as many as there are classes, and of as many as this submodel has."""
    from .context import session  # which needs this module when it begins a program

    context = session().current
    share = context.share if context is not None else None
    if share is None or share.whole or not share.classes or not share.of:
        return ""
    counts = (share.of, len(share.classes))
    if not all(re.search(rf"\b{count}\b", message) for count in counts):
        return ""
    return (
        f"hint: this submodel has {counts[1]} of the {counts[0]} classes; a loss, metric or callback of your own that "
        f"is written for {counts[0]} has to take their number from its arguments"
    )


def install(program: Path) -> None:
    """Adds the user's lines below the traceback of an exception that ends the process, and gives it its status.

    What the runtime itself has to say comes without a traceback, but with SKNC_DEBUG=1.

    Args:
        program: the absolute path of the program that runs.
    """
    if str(program) in _installed:
        return
    _installed.add(str(program))
    previous = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if _told(error) and os.environ.get("SKNC_DEBUG") != "1":
            sys.stderr.write(f"error: {error}\n")
        else:
            previous(kind, error, trace)
        lines = explain(program, trace)
        if lines:
            sys.stderr.write("\n".join(["In the script that this program was made from:", *lines, ""]))
        if not _told(error) and (hint := _sizes(str(error))):
            sys.stderr.write(f"{hint}\n")
        if isinstance(error, ProgramError) and error.exit_status != 1:
            raise SystemExit(error.exit_status)

    sys.excepthook = hook
