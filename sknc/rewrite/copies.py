"""Copies of functions and classes from outside a block, put in at its begin with the block's edits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import libcst as cst

from sknc.rewrite.layout import extent, indentation, last_future, line_end
from sknc.rewrite.text import LAST, Chunk, Edit, slices
from sknc.script.reach import Definition
from sknc.script.reading import BlockReading
from sknc.script.source import Source


def holds(source: Source, definition: Definition, edit: Edit) -> bool:
    """Say whether an edit lies in a definition."""
    start, end = extent(source, definition.node)
    return start <= edit.start and edit.end <= end


def copies(source: Source, reading: BlockReading, edits: Iterable[Edit]) -> list[Edit]:
    """Return the edit that puts copies of what the block reaches behind its BEGIN marker.

    Args:
        source: the script.
        reading: the block.
        edits: all edits of the block; those outside it go into the copies.

    Returns:
        At most one edit.
    """
    found = list(edits)
    called = any(isinstance(parent, cst.FunctionDef) for parent in reading.block.parents)
    # A function's own names hide the script's, so with one copy its callers need copies as well.
    every = called and any(holds(source, d, edit) for d in reading.reach for edit in found)
    chunks: list[Chunk] = []
    indent = indentation(source, reading.block.begin.start)
    for definition in reading.reach:
        mine = [edit for edit in found if holds(source, definition, edit)]
        if mine or every or definition.derived:
            chunks += _copy(source, definition, mine, indent)
    if not chunks:
        return []
    future = last_future(reading.block.statements)
    at = line_end(source, reading.block.begin.end if future is None else source.span(future)[1])
    return [Edit(at, at, tuple(chunks), 0)]


def _copy(source: Source, definition: Definition, edits: list[Edit], indent: str) -> list[Chunk]:
    start, end = extent(source, definition.node)
    own = indentation(source, start)
    shifts: list[Edit] = []
    if own != indent:
        shifts = _shifts(source, definition.node, own, indent)
        edits = [_shifted(edit, own, indent) for edit in edits]
    chunks = [Chunk(indent.encode()), *slices(source, [*edits, *shifts], start, end)]
    newline = source.newline.encode()
    if not chunks[-1].text.endswith((b"\n", b"\r")):
        chunks.append(Chunk(newline))
    name = definition.node.name.value
    if definition.receiver:
        bound = f"{indent}{definition.receiver}.{name} = {name}.__get__({definition.receiver})"
        chunks.append(Chunk(bound.encode() + newline))
    return chunks + [Chunk(f"{indent}{alias} = {name}".encode() + newline) for alias in definition.aliases]


def _shifted(edit: Edit, own: str, indent: str) -> Edit:
    """An edit that puts whole lines in, indented like the block; all others stand inside of lines."""
    if edit.order != LAST:
        return edit

    def moved(line: str) -> str:
        return indent + line[len(own) :] if line.strip() and line.startswith(own) else line

    pieces = [
        "".join(map(moved, piece.splitlines(keepends=True))) if isinstance(piece, str) else piece
        for piece in edit.pieces
    ]
    return replace(edit, pieces=tuple(pieces))


class _Texts(cst.CSTVisitor):
    """Collects texts that may run over several lines, whose inner lines must not be moved."""

    def __init__(self) -> None:
        self.found: list[cst.CSTNode] = []

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        self.found.append(node)

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        self.found.append(node)
        return False


def _shifts(source: Source, node: cst.CSTNode, own: str, indent: str) -> list[Edit]:
    """Edits that indent a definition like the block."""
    texts = _Texts()
    node.visit(texts)
    spans = [source.span(text) for text in texts.found]
    start, end = extent(source, node)
    edits: list[Edit] = []
    at = line_end(source, start)
    while at < end:
        stop = line_end(source, at)
        inside = any(a < at < b for a, b in spans)
        blank = not source.buffer[at:stop].strip()
        if not inside and not blank and source.buffer[at:].startswith(own.encode()):
            edits.append(Edit(at, at + len(own.encode()), (indent,), -2))
        at = stop
    return edits
