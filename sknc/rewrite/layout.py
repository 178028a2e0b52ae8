"""Where a place stands among the statements of a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst

from sknc.script.source import Source


@dataclass(frozen=True)
class Spot:
    """One level of the way from the module to a place.

    Attributes:
        suite: the list of statements.
        statement: the statement of it that holds the place.
    """

    suite: cst.Module | cst.IndentedBlock | cst.SimpleStatementSuite
    statement: cst.CSTNode


def chain(source: Source, offset: int) -> list[Spot]:
    """Return the statements around a place, outermost first."""
    found: list[Spot] = []
    suite: Any = source.module
    while suite is not None:
        statement = next((s for s in suite.body if extent(source, s)[0] <= offset < extent(source, s)[1]), None)
        if statement is None:
            break
        found.append(Spot(suite, statement))
        suite = next((s for s in _suites(statement) if _holds(source, s, offset)), None)
    return found


def _suites(statement: cst.CSTNode) -> list[cst.CSTNode]:
    """The suites of a compound statement, those of its branches and handlers too."""
    found: list[cst.CSTNode] = []
    for name in ("body", "orelse", "finalbody"):
        part = getattr(statement, name, None)
        if isinstance(part, (cst.IndentedBlock, cst.SimpleStatementSuite)):
            found.append(part)
        elif isinstance(part, (cst.Else, cst.If, cst.Finally)):
            found += _suites(part)
    for name in ("handlers", "cases"):
        for part in getattr(statement, name, ()):
            found += _suites(part)
    return found


def _holds(source: Source, suite: Any, offset: int) -> bool:
    return any(extent(source, s)[0] <= offset < extent(source, s)[1] for s in suite.body)


def extent(source: Source, statement: cst.CSTNode) -> tuple[int, int]:
    """Return the byte offsets of a statement with its decorators."""
    start, end = source.span(statement)
    for decorator in getattr(statement, "decorators", ()):
        start = min(start, source.span(decorator)[0])
    return start, end


def last_future(statements: Sequence[cst.CSTNode]) -> cst.ImportFrom | None:
    """Return the last `from __future__ import ...` of some statements: nothing but a docstring may stand before it.

    Args:
        statements: of a module, or of a block that begins at its first statement.
    """
    found = None
    for statement in statements:
        if not isinstance(statement, cst.SimpleStatementLine):
            break
        for part in statement.body:
            if isinstance(part, cst.ImportFrom) and isinstance(part.module, cst.Name):
                found = part if part.module.value == "__future__" else found
    return found


def line_start(source: Source, offset: int) -> int:
    """Return the offset at which the line of a place starts."""
    return source.line_starts[source.line(offset) - 1]


def line_end(source: Source, offset: int) -> int:
    """Return the offset at which the line of a place ends, its line end included."""
    line = source.line(offset)
    return source.line_starts[line] if line < len(source.line_starts) else len(source.buffer)


def indentation(source: Source, offset: int) -> str:
    """Return the white space in front of a place."""
    return source.buffer[line_start(source, offset) : offset].decode("utf-8")


def has_newline(source: Source, end: int) -> bool:
    """Say whether the text up to a place ends with a line end."""
    return source.buffer[:end].endswith((b"\n", b"\r"))
