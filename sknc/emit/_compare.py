"""Telling an output folder from what a split would write, and a program from its script."""

from __future__ import annotations

import dataclasses
import difflib
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Literal

from sknc.emit._manifest import MANIFEST, read_manifest
from sknc.errors import EnvironmentProblem

_CODE = frozenset({".py", ".pyi", ".pyd", ".so"})
_PRODUCED = frozenset({"artifacts", "__pycache__"})


@dataclasses.dataclass(frozen=True, order=True)
class Difference:
    """One file that is not what a split would write."""

    file: str
    what: Literal["changed", "missing", "extra"]

    def __str__(self) -> str:
        return f"{self.what}: {self.file}"


def compare(folder: Path, files: Mapping[str, bytes]) -> list[Difference]:
    """Compare an output folder with what a split would write.

    Args:
        folder: the output folder; it need not exist.
        files: what a split would write, manifest and runtime included.

    Returns:
        What differs, by name. Extra are files of an earlier split and code that sknc did not write; artifacts, logs,
        results and other files that people keep there are no difference.
    """
    found = [
        Difference(name, "missing" if content is None else "changed")
        for name, expected in files.items()
        if (content := _content(folder / name)) != expected
    ]
    earlier = _earlier(folder)
    managed = {PurePosixPath(name).parts[0] for name in files if "/" in name}
    for name in _walk(folder):
        path = PurePosixPath(name)
        if name not in files and (name in earlier or path.suffix in _CODE or path.parts[0] in managed):
            found.append(Difference(name, "extra"))
    return sorted(found)


def _content(path: Path) -> bytes | None:
    """Return a file's bytes, or None where there is no such file; a link is not what a split writes."""
    try:
        return None if path.is_symlink() else path.read_bytes()
    except OSError:
        return None


def _earlier(folder: Path) -> frozenset[str]:
    """Return what the folder's own manifest says that a split wrote there."""
    try:
        return frozenset(read_manifest(folder)["files"]) | {MANIFEST}
    except EnvironmentProblem:
        return frozenset()


def _walk(folder: Path) -> Iterator[str]:
    """Yield the files of an output folder, without what runs produce."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _PRODUCED)
        for name in sorted(names):
            yield Path(parent, name).relative_to(folder).as_posix()


def diff_text(source_file: str, source: str, program_file: str, program: str) -> str:
    """Return the unified diff from a script to one of its programs.

    Args:
        source_file: name of the script.
        source: its text; ends of lines are compared as well.
        program_file: name of the program.
        program: its text.

    Returns:
        The diff, which `patch` can apply, or "" when the texts are the same.
    """
    lines = difflib.unified_diff(_lines(source), _lines(program), source_file, program_file)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Cut a text at its line feeds alone, as `patch` does: a form feed does not end a line."""
    return io.StringIO(text, newline="\n").readlines()
