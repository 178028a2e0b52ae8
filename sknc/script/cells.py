"""The cells of a notebook inside the script that they are joined to: which line is which line of which cell."""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING

from sknc.diagnostics import Diagnostic, Span
from sknc.diagnostics.codes_notebooks import NOT_RUN

if TYPE_CHECKING:
    from sknc.script.source import Source

SUFFIX = ".ipynb"
# The line above each cell, which also tells a reader of a program where its lines come from.
HEADER = "# %% cell {}"
# Stands before what IPython ran and programs do not, where that may be missed.
LEFT_OUT = "# not run: "

Cells = tuple[tuple[int, int], ...]

_HEADER = re.compile(r"# %% cell ([1-9][0-9]{0,8})")
_LEFT_OUT = re.compile(rf"\s*(?:pass  |(?P<name>[^#]+?) = (?P<value>\[\]|None)  )?{LEFT_OUT}(?P<text>.*)")


class CellLine(int):
    """A line of the joined script that is written as the line of its cell, as a reader of the notebook counts it."""

    def __new__(cls, line: int, cells: Cells) -> CellLine:
        """Make the line `line` of a script with these cells."""
        return super().__new__(cls, line)

    def __init__(self, line: int, cells: Cells) -> None:
        self.cell, self.inside = locate(cells, line)

    def __str__(self) -> str:
        return f"{self.inside} of cell {self.cell}" if self.cell else int.__repr__(self)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


def cells_of(text: str, file: str) -> Cells:
    """Find the cells of a notebook in the script that its cells are joined to.

    Args:
        text: the script.
        file: the file that it was read from.

    Returns:
        The line of the header of each cell and the cell's number among all cells, from 1; empty for a script.
    """
    found: list[tuple[int, int]] = []
    if file.endswith(SUFFIX):
        for line, content in enumerate(text.split("\n"), 1):
            header = _HEADER.fullmatch(content)
            # Numbers only grow: most lines that merely look like a header are told apart by that.
            if header and int(header[1]) > (found[-1][1] if found else 0):
                found.append((line, int(header[1])))
    return tuple(found)


def locate(cells: Cells, line: int) -> tuple[int, int]:
    """Say which cell a line of the joined script is in.

    Args:
        cells: the cells, as `cells_of` returns them.
        line: the line, from 1.

    Returns:
        The number of the cell and the line in it, both from 1; zeros where there is no cell.
    """
    index = bisect.bisect_right(cells, line, key=lambda cell: cell[0]) - 1
    if index < 0:
        return 0, 0
    start, number = cells[index]
    return number, max(1, line - start)


def span_in(cells: Cells, file: str, start: tuple[int, int], end: tuple[int, int]) -> Span:
    """Make a place in a file, or in the cells of a notebook.

    Args:
        cells: the cells; empty for a script.
        file: the file.
        start: line and column of the first character, both from 1.
        end: line and column behind the last one.

    Returns:
        The place.
    """
    return Span(file, *start, *end, *locate(cells, start[0]))


def not_run(source: Source) -> list[Diagnostic]:
    """Tell which lines of a notebook programs leave out, though what follows may need them.

    Args:
        source: the script of its cells.

    Returns:
        A warning for each such line.
    """
    found = []
    for line, text in enumerate(source.lines if source.cells else (), 1):
        match = _LEFT_OUT.fullmatch(text)
        if match:
            effect = f": {match['name'].strip()} is {match['value']} in them" if match["name"] else ""
            column = len(text) - len(text.lstrip()) + 1
            place = span_in(source.cells, source.file, (line, column), (line, len(text) + 1))
            found.append(NOT_RUN.at(place, text=match["text"].strip(), effect=effect))
    return found
