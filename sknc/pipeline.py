"""From a script to its programs: read, decide, rewrite. Nothing is written to disk, nothing of the user's is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sknc.diagnostics import Diagnostic, has_errors
from sknc.rewrite.local import local_modules
from sknc.rewrite.programs import Programs, write_programs
from sknc.script.reading import read
from sknc.script.source import SourceError, parse_source
from sknc.settle import Settled, settle


@dataclass(frozen=True)
class Compilation:
    """What a script compiles to.

    Attributes:
        files: programs and copies of the script's own modules, by name; empty when there are errors.
        blocks: the manifest's entries of the blocks.
        diagnostics: what was found.
        source_lines: the lines of the script, for excerpts.
        lines: which lines of the composer and the original are which of the script.
    """

    files: dict[str, bytes]
    blocks: list[dict[str, Any]]
    diagnostics: list[Diagnostic]
    source_lines: list[str] = field(repr=False)
    lines: dict[str, list[list[int]]] = field(default_factory=dict)


def compile_script(
    path: str | Path,
    submodels: int,
    classes: int | None = None,
    compose: str | None = None,
    budget: int | None = None,
    raw: bytes | None = None,
) -> Compilation:
    """Compile a marked script.

    Args:
        path: the script.
        raw: its bytes, where they were read already.
        submodels: how many submodels are wanted.
        classes: the number of classes, where the script does not say it.
        compose: the rule that composes predictions, instead of the kind's default.
        budget: bytes that each program may hold while it trains, None for no bound.

    Returns:
        The programs, or what is wrong.

    Raises:
        OSError: the script cannot be read.
    """
    raw = Path(path).read_bytes() if raw is None else raw
    try:
        source = parse_source(raw, str(path))
    except SourceError as error:
        lines = raw.decode("utf-8", "replace").splitlines()
        return Compilation({}, [], [error.diagnostic], lines)
    reading = read(source, whole=submodels == 1)
    found = list(reading.diagnostics)
    settled: list[Settled] = []
    for block in reading.blocks:
        one = settle(source, block, submodels, classes, compose, found)
        if one is not None:
            settled.append(one)
    if has_errors(found):
        return Compilation({}, [], found, source.lines)
    from sknc.emit import render_template

    def begin(function: str, arguments: Mapping[str, str]) -> str:
        return render_template("begin.py.j2", function=function, arguments=arguments)

    programs: Programs = write_programs(source, settled, budget, begin)
    files = {**programs.files, **local_modules(Path(path), source, set(programs.files))}
    return Compilation(files, programs.blocks, found, source.lines, programs.lines)
