"""Leads a traceback in an emitted program back to the user's line."""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from .errors import ProgramError

_installed: set[str] = set()


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
    for frame in traceback.extract_tb(trace):
        if Path(frame.filename).absolute() != program:
            continue
        found = source_line(runs, frame.lineno or 0)
        if found is not None:
            lines.append(f"  {source}:{found}, in {frame.name} ({program.name}, line {frame.lineno})")
    return lines


def _told(error: BaseException) -> bool:
    """Whether an error is one that this runtime raises to tell a person something: where it was found says nothing."""
    return isinstance(error, Exception) and type(error).__module__.startswith(f"{__package__}.")


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
        if isinstance(error, ProgramError) and error.exit_status != 1:
            raise SystemExit(error.exit_status)

    sys.excepthook = hook
