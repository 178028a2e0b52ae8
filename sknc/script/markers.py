"""The marker language: comments that say where a block stands and of which kind it is."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import libcst as cst

from sknc.diagnostics import Diagnostic
from sknc.diagnostics import codes_markers as codes
from sknc.script.source import Source

Kind = Literal["multiclass", "binary", "regression", "local_regression"]
KINDS: dict[str, Kind] = {
    "MULTICLASS": "multiclass",
    "BINARYCLASS": "binary",
    "BINARY": "binary",
    "REGRESSION": "regression",
    "LOCAL_REGRESSION": "local_regression",
}
MEASURES = {"ACC": "acc", "LOSS": "loss"}
_KEYS = ("classes", "compose", "epochs")
RULES = ("product", "coupling", "certainty", "concatenation")
_LIKE_MARKER = re.compile(r"^#+[\s:]*(sk\w{2,7}t)\s*[:;._\- ]\s*(\w+.*)$", re.IGNORECASE)
_MARKER = re.compile(r"^#[ \t]*SKYNNET[ \t]*:[ \t]*([A-Z_]+)(?:[ \t]+(.*?))?[ \t]*$")


@dataclass(frozen=True)
class Marker:
    """One marker comment.

    Attributes:
        word: "BEGIN", "END" or "KEEP".
        start, end: byte offsets of the comment.
        kind: the kind of block, None when it is to be inferred.
        measures: what is to be printed of the composed prediction, of "acc" and "loss".
        keys: the settings behind the kind.
    """

    word: str
    start: int
    end: int
    kind: Kind | None = None
    measures: tuple[str, ...] = ()
    keys: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """What stands between a BEGIN and its END.

    Attributes:
        index: 0 for the first block of the file.
        begin, end: the markers.
        suite: the statement list that holds the block.
        statements: the statements of the block, all of one suite.
        parents: the compound statements around the block, outermost first.
    """

    index: int
    begin: Marker
    end: Marker
    suite: cst.Module | cst.IndentedBlock
    statements: tuple[cst.CSTNode, ...]
    parents: tuple[cst.CSTNode, ...]


@dataclass(frozen=True)
class Suite:
    """A list of statements with the compound statements around it."""

    node: cst.Module | cst.IndentedBlock
    parents: tuple[cst.CSTNode, ...]

    @property
    def statements(self) -> tuple[cst.CSTNode, ...]:
        """Return the statements in order."""
        return tuple(self.node.body)


class _Walker(cst.CSTVisitor):
    """Collects comments (with whether they stand inside brackets) and suites."""

    def __init__(self) -> None:
        self.comments: list[tuple[cst.Comment, bool]] = []
        self.suites: list[Suite] = []
        self._brackets = 0
        self._parents: list[cst.CSTNode] = []

    def visit_ParenthesizedWhitespace(self, node: cst.ParenthesizedWhitespace) -> None:
        self._brackets += 1

    def leave_ParenthesizedWhitespace(self, original_node: cst.ParenthesizedWhitespace) -> None:
        self._brackets -= 1

    def visit_Comment(self, node: cst.Comment) -> None:
        self.comments.append((node, self._brackets > 0))

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.Module, cst.IndentedBlock)):
            self.suites.append(Suite(node, tuple(self._parents)))
        if isinstance(node, cst.BaseCompoundStatement):
            self._parents.append(node)
        return super().on_visit(node)

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.BaseCompoundStatement):
            self._parents.pop()
        super().on_leave(original_node)


@dataclass(frozen=True)
class Markers:
    """All that the markers of a file say.

    Attributes:
        blocks: the blocks in the order of the file.
        keeps: lines whose layers keep their size.
        diagnostics: what is wrong.
    """

    blocks: tuple[Block, ...]
    keeps: dict[int, Marker]
    diagnostics: tuple[Diagnostic, ...]


def find_blocks(source: Source) -> Markers:
    """Find the marked blocks of a script.

    Args:
        source: the parsed script.

    Returns:
        The blocks, the lines marked with KEEP, and the diagnostics; blocks with an error are left out.
    """
    walker = _Walker()
    source.module.visit(walker)
    found: list[Diagnostic] = []
    keeps: dict[int, Marker] = {}
    ends: list[Marker] = []
    for comment, bracketed in sorted(walker.comments, key=lambda pair: source.span(pair[0])):
        marker = _parse(source, comment, found)
        if marker is None:
            continue
        if marker.word == "KEEP":
            keeps[source.line(marker.start)] = marker
        elif bracketed:
            found.append(codes.IN_BRACKETS.at(source.at(comment), line=_statement_line(source, walker, marker)))
        elif not _alone(source, marker):
            where = "above" if marker.word == "BEGIN" else "below"
            found.append(codes.NOT_ALONE.at(source.at(comment), where=where))
        else:
            ends.append(marker)
    blocks = tuple(_pair(source, walker.suites, ends, found))
    if not blocks and not found:
        found.append(codes.NO_BLOCK.at(source.place(0)))
    return Markers(blocks, keeps, tuple(found))


def _alone(source: Source, marker: Marker) -> bool:
    line_start = source.line_starts[source.line(marker.start) - 1]
    return not source.buffer[line_start : marker.start].strip()


def _statement_line(source: Source, walker: _Walker, marker: Marker) -> int:
    starts = [
        source.span(statement)[0]
        for suite in walker.suites
        for statement in suite.statements
        if source.span(statement)[0] <= marker.start < source.span(statement)[1]
    ]
    return source.line(max(starts, default=marker.start))


def _parse(source: Source, comment: cst.Comment, found: list[Diagnostic]) -> Marker | None:
    """Read one comment; None when it is no marker, or a wrong one (then `found` has the reason)."""
    start, end = source.span(comment)
    match = _MARKER.match(comment.value)
    if match is None:
        like = _LIKE_MARKER.match(comment.value)
        if like and _close(like[1].upper(), "SKYNNET") and _word_like_marker(like[2]):
            found.append(codes.MALFORMED.at(source.at(comment), found=comment.value, nearest=_nearest(like[2])))
        return None
    word, settings = match[1], match[2] or ""
    if word in ("END", "KEEP") and not settings:
        return Marker(word, start, end)
    parsed = _begin_word(word)
    if parsed is None:
        nearest = "#SKYNNET:" + word if word in ("END", "KEEP") else _nearest(word)
        found.append(codes.MALFORMED.at(source.at(comment), found=comment.value, nearest=nearest))
        return None
    keys = _keys(source, comment, settings, found)
    return Marker("BEGIN", start, end, parsed[0], parsed[1], keys)


def _begin_word(word: str) -> tuple[Kind | None, tuple[str, ...]] | None:
    if word != "BEGIN" and not word.startswith("BEGIN_"):
        return None
    rest = word[len("BEGIN") :].lstrip("_")
    kind: Kind | None = None
    for name in sorted(KINDS, key=len, reverse=True):
        if rest == name or rest.startswith(name + "_"):
            kind, rest = KINDS[name], rest[len(name) :].lstrip("_")
            break
    measures = rest.split("_") if rest else []
    if any(measure not in MEASURES for measure in measures) or len(set(measures)) != len(measures):
        return None
    return kind, tuple(MEASURES[measure] for measure in measures)


def _keys(source: Source, comment: cst.Comment, settings: str, found: list[Diagnostic]) -> dict[str, str]:
    keys: dict[str, str] = {}
    for item in settings.split():
        name, equals, value = item.partition("=")
        fix = _bad_key(name, value) if equals else _not_a_key(item)
        if fix:
            found.append(codes.BAD_KEY.at(source.at(comment), found=item, fix=fix))
        else:
            keys[name] = value
    return keys


def _not_a_key(item: str) -> str:
    if item.lower() in _KEYS:
        return "write settings as key=value, e.g. classes=101"
    nearest = _nearest(f"BEGIN_{item}")
    if nearest != "#SKYNNET:BEGIN" and _close(f"#SKYNNET:BEGIN_{item.upper()}", nearest):
        return f"write {nearest}"
    return "write settings as key=value, e.g. classes=101"


def _bad_key(name: str, value: str) -> str | None:
    allowed: dict[str, tuple[str, ...]] = {"compose": RULES, "epochs": ("keep", "reduce")}
    if name == "classes":
        return None if value.isdecimal() and int(value) > 0 else "write a whole number, e.g. classes=101"
    if name in allowed:
        choices = allowed[name]
        return None if value in choices else f"write {name}= one of {', '.join(choices)}"
    close = difflib.get_close_matches(name.lower(), _KEYS, n=1, cutoff=0.7)
    return f"write {close[0]}={value}" if close else f"the settings are {', '.join(_KEYS)}"


def _close(word: str, right: str) -> bool:
    return difflib.SequenceMatcher(None, word, right).ratio() >= 0.75


def _word_like_marker(text: str) -> bool:
    word = re.split(r"[\s_\-.:]", text.upper(), maxsplit=1)[0]
    return bool(difflib.get_close_matches(word, ("BEGIN", "END", "KEEP", "START"), n=1, cutoff=0.66))


def _nearest(text: str) -> str:
    """The right spelling nearest to what someone wrote behind `#SKYNNET:`."""
    word, _, rest = text.strip().partition(" ")
    spellings = ["END", "KEEP", "BEGIN"]
    for kind in KINDS:
        spellings += [f"BEGIN_{kind}{tail}" for tail in ("", "_ACC", "_LOSS", "_ACC_LOSS")]
    wanted = re.sub(r"[\s\-.:]+", "_", word.upper()).replace("START", "BEGIN")
    close = difflib.get_close_matches(wanted, spellings, n=1, cutoff=0.0)[0]
    joined = difflib.get_close_matches(f"{wanted}_{rest.upper()}", spellings, n=1, cutoff=0.9)
    if joined and "=" not in rest:
        return f"#SKYNNET:{joined[0]}"
    return f"#SKYNNET:{close}" + (f" {rest}" if "=" in rest else "")


def _pair(source: Source, suites: list[Suite], ends: list[Marker], found: list[Diagnostic]) -> Iterator[Block]:
    opened: Marker | None = None
    index = nested = 0
    for marker in ends:
        place = source.place(marker.start, marker.end)
        if marker.word == "BEGIN" and opened is not None:
            found.append(codes.NESTED.at(place, line=source.line(opened.start)))
            nested += 1
        elif marker.word == "BEGIN":
            opened = marker
        elif nested:
            nested -= 1
        elif opened is None:
            # A begin that was refused has been told already.
            if not any(d.code == codes.MALFORMED.code and d.span.line < place.line for d in found):
                found.append(codes.NO_BEGIN.at(place))
        else:
            block = _block(source, suites, index, opened, marker, found)
            opened = None
            if block is not None:
                index += 1
                yield block
    if opened is not None:
        found.append(codes.NO_END.at(source.place(opened.start, opened.end)))


def _block(
    source: Source, suites: list[Suite], index: int, begin: Marker, end: Marker, found: list[Diagnostic]
) -> Block | None:
    """Find the suite that a pair of markers stands in, and what of it lies between them."""
    inside = [
        (source.span(statement)[0], -depth, suite)
        for depth, suite in enumerate(suites)
        for statement in suite.statements
        if begin.start < source.span(statement)[0] < end.start
    ]
    place = source.place(begin.start, begin.end)
    if not inside:
        found.append(codes.EMPTY.at(place))
        return None
    first = min(start for start, _, _ in inside)
    suite = min((item for item in inside if item[0] == first), key=lambda item: len(item[2].parents))[2]
    cut = _cut(source, suite, begin, end) or _elsewhere(source, suite, end, [start for start, _, _ in inside])
    if cut is not None:
        found.append(codes.CUTS.at(source.place(cut[0].start, cut[0].end), line=cut[1]))
        return None
    statements = tuple(s for s in suite.statements if begin.start < source.span(s)[0] < end.start)
    column = _column(source, source.span(statements[0])[0])
    for marker in (begin, end):
        if _column(source, marker.start) != column:
            line = source.line(source.span(statements[0])[0])
            found.append(codes.INDENT.at(source.place(marker.start, marker.end), line=line))
            return None
    for parent in suite.parents:
        if isinstance(parent, (cst.For, cst.While)):
            found.append(codes.REPEATED.at(place, line=source.line(source.span(parent)[0])))
            return None
    return Block(index, begin, end, suite.node, statements, suite.parents)


def _cut(source: Source, suite: Suite, begin: Marker, end: Marker) -> tuple[Marker, int] | None:
    """Return the marker that stands inside a statement which its partner is outside of, and that statement's line."""
    for marker, other in ((begin, end), (end, begin)):
        for statement in suite.statements:
            start, stop = source.span(statement)
            if start < marker.start < stop and not start < other.start < stop:
                return marker, source.line(start)
    for parent in suite.parents:
        start, stop = source.span(parent)
        for marker, other in ((begin, end), (end, begin)):
            if start < marker.start < stop and not start < other.start <= _reach(source, stop):
                return marker, source.line(start)
    return None


def _elsewhere(source: Source, suite: Suite, end: Marker, starts: list[int]) -> tuple[Marker, int] | None:
    """A block that ends in another branch of the statement around it."""
    for start in starts:
        if not any(source.span(s)[0] <= start < source.span(s)[1] for s in suite.statements):
            return end, source.line(source.span(suite.parents[-1])[0]) if suite.parents else source.line(start)
    return None


def _reach(source: Source, stop: int) -> int:
    """How far the comments below a suite still belong to it: up to the next line that holds code."""
    for line in range(source.line(stop), len(source.line_starts)):
        text = source.lines[line].strip()
        if text and not text.startswith("#"):
            return source.line_starts[line]
    return len(source.buffer)


def _column(source: Source, offset: int) -> bytes:
    return source.buffer[source.line_starts[source.line(offset) - 1] : offset]
