"""A script file as text, tree and positions.

Everything downstream works on one UTF-8 buffer and on byte offsets into it, so that what is not edited can be
sliced out unchanged, whatever its encoding, line ends or indentation.
"""

from __future__ import annotations

import bisect
import codecs
import dataclasses
import io
import re
import tokenize
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

from sknc.diagnostics import Diagnostic, Span
from sknc.diagnostics.codes_script import NOT_DECODABLE, NOT_PYTHON
from sknc.script.cells import CellLine, Cells, cells_of, span_in


class SourceError(Exception):
    """The file cannot be read as Python.

    Args:
        diagnostic: what is wrong, with its place.
    """

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


@dataclass(frozen=True)
class Source:
    """A parsed script.

    Attributes:
        file: the path as the user wrote it.
        raw: the bytes of the file.
        buffer: the text as UTF-8 without a byte order mark; all offsets point into it.
        encoding: the file's encoding.
        bom: whether the file starts with a UTF-8 byte order mark.
        module: the LibCST tree.
        spans: (start, end) of each node of the tree, white space excluded.
        cells: where the cells of a notebook begin; see `cells_of`.
    """

    file: str
    raw: bytes
    buffer: bytes
    encoding: str
    bom: bool
    module: cst.Module = field(repr=False)
    spans: dict[cst.CSTNode, tuple[int, int]] = field(repr=False)
    cells: Cells = ()

    @cached_property
    def line_starts(self) -> list[int]:
        """Offsets at which lines start."""
        starts = [0]
        for index, byte in enumerate(self.buffer):
            if byte == 10 or (byte == 13 and self.buffer[index + 1 : index + 2] != b"\n"):
                starts.append(index + 1)
        return starts

    @cached_property
    def lines(self) -> list[str]:
        """The text of each line, without its end."""
        ends = [*self.line_starts[1:], len(self.buffer)]
        pairs = zip(self.line_starts, ends, strict=True)
        return [self.buffer[a:b].decode("utf-8").rstrip("\r\n") for a, b in pairs]

    @property
    def newline(self) -> str:
        """The line end that the file uses."""
        return self.module.default_newline

    def line(self, offset: int) -> int:
        """Return the 1-based line of a byte offset; in a message it is written as the line of its cell, if any."""
        line = bisect.bisect_right(self.line_starts, offset)
        return CellLine(line, self.cells) if self.cells else line

    def place(self, start: int, end: int | None = None) -> Span:
        """Turn byte offsets into a span of lines and columns (both 1-based, columns in characters)."""
        first = self._line_col(start)
        return span_in(self.cells, self.file, first, first if end is None else self._line_col(end))

    def _line_col(self, offset: int) -> tuple[int, int]:
        line = bisect.bisect_right(self.line_starts, offset)
        start = self.line_starts[line - 1]
        return line, len(self.buffer[start:offset].decode("utf-8", "replace")) + 1

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return the (start, end) byte offsets of a node, its brackets included."""
        start, end = self.spans[node]
        if isinstance(node, cst.BaseExpression) and node.lpar and node.rpar:
            return self.spans[node.lpar[0]][0], self.spans[node.rpar[-1]][1]
        return start, end

    def at(self, node: cst.CSTNode) -> Span:
        """Return the place of a node, for a diagnostic."""
        return self.place(*self.span(node))

    def text(self, node: cst.CSTNode) -> str:
        """Return the user's own text of a node."""
        start, end = self.span(node)
        return self.buffer[start:end].decode("utf-8")

    def encode(self, buffer: bytes) -> bytes:
        """Turn an edited UTF-8 buffer back into the file's own encoding."""
        data = buffer.decode("utf-8").encode(self.encoding)
        return codecs.BOM_UTF8 + data if self.bom else data


def read_source(path: str | Path) -> Source:
    """Read and parse a script.

    Args:
        path: the script.

    Returns:
        The parsed source.

    Raises:
        SourceError: the file is not text in its encoding, or not Python.
        OSError: the file cannot be read.
    """
    return parse_source(Path(path).read_bytes(), str(path))


def _not_python(file: str, text: str, line: int, column: int, problem: str) -> SourceError:
    cells = cells_of(text, file)
    if not cells:
        return SourceError(NOT_PYTHON.at(Span(file, line, column, line, column), problem=problem))
    # Python's own messages name lines, too: "'(' was never closed on line 7".
    problem = re.sub(r"(?<=\bline )\d+", lambda number: str(CellLine(int(number[0]), cells)), problem)
    found = NOT_PYTHON.at(span_in(cells, file, (line, column), (line, column)), problem=problem)
    return SourceError(dataclasses.replace(found, hint="running the cell in Jupyter shows the same place"))


def _check(text: str, file: str) -> None:
    """Refuse what Python itself refuses: its messages are clearer, and it sees more than a grammar does."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        line, column = max(1, getattr(error, "lineno", 1) or 1), max(1, getattr(error, "offset", 1) or 1)
        problem = getattr(error, "msg", None) or str(error)
        raise _not_python(file, text, line, column, problem) from None


def parse_source(raw: bytes, file: str) -> Source:
    """Parse the bytes of a script; see `read_source`."""
    bom = raw.startswith(codecs.BOM_UTF8)
    body = raw[len(codecs.BOM_UTF8) :] if bom else raw
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        encoding = "utf-8" if bom else encoding
        text = body.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise SourceError(NOT_DECODABLE.at(Span(file, 1, 1, 1, 1), problem=str(error))) from None
    _check(text, file)
    try:
        module = cst.parse_module(text)
    except RecursionError:
        raise _not_python(file, text, 1, 1, "its expressions are nested too deeply") from None
    except cst.ParserSyntaxError as error:
        raise _not_python(file, text, error.editor_line, error.editor_column, error.message) from None
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    positions = wrapper.resolve(ByteSpanPositionProvider)
    spans = {node: (at.start, at.start + at.length) for node, at in positions.items()}
    return Source(file, raw, text.encode("utf-8"), encoding, bom, module, spans, cells_of(text, file))
