"""Programs as the user's text with holes: rendered per submodel, everything between the edits sliced out as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sknc.script.source import Source


@dataclass(frozen=True)
class Hole:
    """A place whose text depends on the submodel.

    Attributes:
        name: which text it takes.
    """

    name: str


@dataclass(frozen=True)
class Chunk:
    """A stretch of a program: a slice of the source with its line there, new text (line 0), or a hole."""

    text: bytes = b""
    line: int = 0
    hole: str = ""


Piece = str | Hole | Chunk


LAST = -3
"""The order of an edit that ends what stands before it."""


@dataclass(frozen=True)
class Edit:
    """A replacement of a stretch of the buffer.

    Attributes:
        start, end: byte offsets; equal ones insert.
        pieces: the new text.
        order: edits at one place are applied in this order (inserts that close brackets before those that open).
    """

    start: int
    end: int
    pieces: tuple[Piece, ...]
    order: int = 0


def wrap(start: int, end: int, before: str, *after: Piece) -> list[Edit]:
    """Put text around a stretch of the buffer."""
    return [Edit(start, start, (before,), 1), Edit(end, end, tuple(after), -1)]


@dataclass(frozen=True)
class Template:
    """A program with holes.

    Attributes:
        source: the script.
        chunks: the stretches of the program.
    """

    source: Source
    chunks: tuple[Chunk, ...] = field(repr=False)

    def render(self, values: Mapping[str, str]) -> bytes:
        """Fill the holes.

        Args:
            values: the text of each hole.

        Returns:
            The program as bytes in the encoding of the script.
        """
        body = b"".join(c.text if not c.hole else values[c.hole].encode("utf-8") for c in self.chunks)
        return self.source.encode(body)

    def lines(self, values: Mapping[str, str]) -> list[list[int]]:
        """Say which lines of the program are which lines of the script: [program line, script line, count]."""
        found: list[list[int]] = []
        line = 1
        for chunk in self.chunks:
            text = chunk.text if not chunk.hole else values[chunk.hole].encode("utf-8")
            breaks = text.count(b"\n")
            if chunk.line and text:
                last = found[-1] if found else None
                count = breaks + (0 if text.endswith(b"\n") else 1)
                if last is not None and last[0] - last[1] == line - chunk.line and line <= last[0] + last[2]:
                    last[2] = line + count - last[0]
                elif count:
                    found.append([line, chunk.line, count])
            line += breaks
        return found


def template(source: Source, edits: Iterable[Edit], end: int | None = None, tail: Iterable[Piece] = ()) -> Template:
    """Apply edits to a script.

    Args:
        source: the script.
        edits: the replacements; they do not overlap.
        end: where the program ends, for one that stops early.
        tail: what follows there.

    Returns:
        The program with its holes.
    """
    stop = len(source.buffer) if end is None else end
    if end is not None:
        # What begins at the cut belongs to what is cut off, but for what ends the program there.
        edits = [edit for edit in edits if edit.start < stop or edit.order == LAST]
    chunks = [*slices(source, edits, 0, stop), *(_piece(piece) for piece in tail)]
    return Template(source, tuple(chunks))


def slices(source: Source, edits: Iterable[Edit], start: int, end: int) -> list[Chunk]:
    """Return a stretch of the script with those edits applied that lie in it."""
    chunks: list[Chunk] = []
    at = start
    inside = [e for e in edits if start <= e.start and e.end <= end]
    for edit in sorted(inside, key=lambda e: (e.start, e.order, e.end)):
        if edit.start < at:
            if edit.end > at:
                raise ValueError(f"two edits of the same place: {edit}")
            continue  # what it stands in is replaced as a whole
        if edit.start > at:
            chunks.append(Chunk(source.buffer[at : edit.start], source.line(at)))
        chunks += [_piece(piece) for piece in edit.pieces]
        at = edit.end
    if at < end:
        chunks.append(Chunk(source.buffer[at:end], source.line(at)))
    return chunks


def _piece(piece: Piece) -> Chunk:
    if isinstance(piece, Chunk):
        return piece
    return Chunk(hole=piece.name) if isinstance(piece, Hole) else Chunk(piece.encode("utf-8"))
