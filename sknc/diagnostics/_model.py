"""The two things a finding is made of: a place in a file, and what is said about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Literal, get_args

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[str, ...] = get_args(Severity)


@dataclasses.dataclass(frozen=True, order=True)
class Span:
    """A stretch of a file.

    Args:
        file: the file as the user named it.
        line: first line, from 1.
        col: column of the first character, from 1, counted in characters.
        end_line: last line; `line` when left out.
        end_col: column just after the last character; `col + 1` when left out.
        cell: in a notebook, the number of the cell among all cells, from 1; the lines above are those of the script
            that its code cells are joined to. 0 in a script.
        cell_line: the line inside the cell, from 1.
    """

    file: str
    line: int
    col: int = 1
    end_line: int = 0
    end_col: int = 0
    cell: int = 0
    cell_line: int = 0

    def __post_init__(self) -> None:
        """Fill in the end where it was left out, and refuse a span that runs backwards."""
        if not self.end_line:
            object.__setattr__(self, "end_line", self.line)
        if not self.end_col:
            object.__setattr__(self, "end_col", self.col + 1 if self.end_line == self.line else 1)
        if self.line < 1 or self.col < 1 or (self.end_line, self.end_col) < (self.line, self.col):
            raise ValueError(f"not a span: {self.line}:{self.col} to {self.end_line}:{self.end_col}")

    def __str__(self) -> str:
        if self.cell:
            return f"{self.file}: cell {self.cell}, line {self.cell_line}, column {self.col}"
        return f"{self.file}:{self.line}:{self.col}"

    @property
    def shown_line(self) -> int:
        """The line as a reader of the file counts it: from the top of the cell in a notebook."""
        return self.cell_line if self.cell else self.line


@dataclasses.dataclass(frozen=True)
class Note:
    """A second place that belongs to a finding, e.g. where the block that is still open began."""

    text: str
    span: Span


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One finding: a stable code, how bad it is, what is wrong, one hint, and where."""

    code: str
    severity: Severity
    message: str
    hint: str
    span: Span
    notes: tuple[Note, ...] = ()

    def with_note(self, text: str, span: Span) -> Diagnostic:
        """Return the same finding with one more place that belongs to it."""
        return dataclasses.replace(self, notes=(*self.notes, Note(text, span)))


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Say whether any of these stops a split."""
    return any(found.severity == "error" for found in diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the findings in the order of the text, each once, worst first where two share a place."""
    unique = dict.fromkeys(diagnostics)
    return sorted(unique, key=lambda d: (d.span.file, d.span.line, d.span.col, SEVERITIES.index(d.severity), d.code))
