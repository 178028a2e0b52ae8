"""Edits of training: `model.fit(x, y)` becomes `skn_runtime.fit(model, x, y)`, and where a program ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import libcst as cst

from sknc.rewrite.layout import Spot, chain, extent, has_newline, indentation, line_end
from sknc.rewrite.text import LAST, Edit
from sknc.script.interpreter import Event
from sknc.script.reading import BlockReading
from sknc.script.source import Source


def receiver(source: Source, event: Event) -> str:
    """Return the text of the object that a method is called on."""
    assert isinstance(event.node.func, cst.Attribute)
    return source.text(event.node.func.value)


def sites(events: Iterable[Event]) -> list[Event]:
    """Return one event for each place in the text: a line that is executed several times is rewritten once."""
    return list({id(event.node): event for event in events}.values())


def method_edits(source: Source, call: cst.Call, function: str) -> list[Edit]:
    """Turn `owner.method(...)` into `function(owner, ...)`, line breaks kept."""
    assert isinstance(call.func, cst.Attribute)
    start, end = source.span(call.func.value)
    name_start, name_end = source.span(call.func.attr)
    opened = source.buffer.index(b"(", name_end) + 1
    dot = source.buffer.rindex(b".", end, name_start)
    # Comments and line breaks around the dot stay.
    kept = (source.buffer[end:dot] + source.buffer[dot + 1 : name_start]).decode("utf-8")
    first = source.buffer[opened : opened + 1]
    comma = ("," if first in (b"\n", b"\r") else ", ") if call.args else ""
    return [Edit(start, start, (f"{function}(",), 1), Edit(end, opened, (kept + comma,), -1)]


def function_edit(source: Source, call: cst.Call, function: str) -> Edit:
    """Turn `something(...)` into `function(...)`."""
    start, end = source.span(call.func)
    return Edit(start, end, (function,))


def fit_edits(source: Source, reading: BlockReading) -> list[Edit]:
    """Let the runtime train: it selects the submodel's data."""
    return [e for event in sites(reading.fits) for e in method_edits(source, event.node, "skn_runtime.fit")]


def evaluation_edits(source: Source, reading: BlockReading) -> list[Edit]:
    """Let the runtime evaluate, too: between trainings a submodel is measured on its own classes."""
    mine = [e for e in reading.events if e.what == "use" and e.name == "evaluate" and e.target is reading.model]
    return [e for event in sites(mine) for e in method_edits(source, event.node, "skn_runtime.evaluate")]


def look_edits(source: Source, reading: BlockReading) -> list[Edit]:
    """Leave out statements that only look at the untrained network: a submodel has other outputs to look at."""
    found: list[Edit] = []
    for node in dict.fromkeys(reading.looks):
        start, end = source.span(node)
        breaks = source.buffer[start:end].count(b"\n")
        found.append(Edit(start, end, ("pass" + (f" \\{source.newline}" * breaks),)))
    return found


def composed_edits(source: Source, reading: BlockReading) -> list[Edit]:
    """Let the composed model take the place of the trained one."""
    found: list[Edit] = []
    for event in sites(reading.fits):
        assert isinstance(event.node.func, cst.Attribute)
        owner = event.node.func.value
        found += method_edits(source, event.node, "skn_runtime.trained")
        text = source.text(owner)
        # In a function that is called from the block the name may be another scope's: there the original, which the
        # caller holds, answers as the composed model does.
        called = any(f.what == "call" for f in event.frames[reading.entry_depth :])
        if isinstance(owner, cst.Name) and not called and not isinstance(event.statement, cst.BaseSmallStatement):
            start, end = source.span(owner)
            found += [Edit(start, start, (f"{text} := skn_runtime.composed(",), 2), Edit(end, end, (")",), -2)]
        elif isinstance(owner, cst.Attribute) or (isinstance(owner, cst.Name) and not called):
            at = source.span(event.statement)[0]
            found.append(Edit(at, at, (f"{text} = skn_runtime.composed({text}); ",), 0))
        else:
            start, end = source.span(owner)
            found += [Edit(start, start, ("skn_runtime.composed(",), 2), Edit(end, end, (")",), -2)]
    return found


def in_header(event: Event) -> bool:
    """Say whether a training stands where no statement can: in a lambda, or in a head on something that is no name."""
    assert isinstance(event.node.func, cst.Attribute)
    if any(isinstance(frame.node, cst.Lambda) for frame in event.frames):
        return True
    owner = event.node.func.value
    if event.node.func.lpar:
        return True
    return isinstance(owner, cst.Attribute) and not isinstance(event.statement, cst.BaseSmallStatement)


@dataclass(frozen=True)
class Ending:
    """Where a submodel's program ends.

    Attributes:
        edits: calls of `skn_runtime.finish` inside the text.
        end: where the text is cut, None when it cannot be.
        tail: what follows the cut.
    """

    edits: tuple[Edit, ...]
    end: int | None
    tail: str


_LOOPS = (cst.For, cst.While, cst.Try, cst.TryStar, cst.Match)


def ending(source: Source, reading: BlockReading, own: list[Event]) -> Ending:
    """Decide where a submodel's program ends: after its last training statement.

    Args:
        source: the script.
        reading: the block.
        own: the events that read files which the block writes; those behind the last training restore what a
            callback wrote, and belong to the training.

    Returns:
        The end.
    """
    newest = max(event.order for event in reading.fits)
    after = [event for event in own if event.what in ("load", "weights") and event.order > newest]
    last = max((_block_statement(source, reading, e) for e in (*reading.fits, *after)), key=lambda s: source.span(s)[0])
    found: list[Edit] = []
    inner = _inner(source, reading, [*reading.fits, *after])
    if inner is not None and inner.statement is not last:
        owner = _own_name(source, reading.fits[-1])
        found.append(_finish(source, inner.statement, f"skn_runtime.finish({owner})"))
    hidden = any(frame.what == "call" for frame in reading.fits[-1].frames[reading.entry_depth :])
    close = f"skn_runtime.finish({'' if hidden else _own_name(source, reading.fits[-1])})"
    can_cut = all(isinstance(parent, (cst.If, cst.With)) for parent in reading.block.parents)
    end = line_end(source, max(source.span(last)[1] - 1, 0))
    if not can_cut:
        return Ending((*found, _finish(source, last, close)), None, "")
    start = "" if has_newline(source, end) else source.newline
    tail = start + indentation(source, extent(source, last)[0]) + close + source.newline
    return Ending(tuple(found), end, tail)


def _own_name(source: Source, event: Event) -> str:
    assert isinstance(event.node.func, cst.Attribute)
    owner = event.node.func.value
    return source.text(owner) if isinstance(owner, (cst.Name, cst.Attribute)) else ""


def _finish(source: Source, statement: cst.CSTNode, text: str) -> Edit:
    at = line_end(source, source.span(statement)[1] - 1)
    indent = indentation(source, extent(source, statement)[0])
    start = "" if has_newline(source, at) else source.newline
    return Edit(at, at, (f"{start}{indent}{text}{source.newline}",), LAST)


def _block_statement(source: Source, reading: BlockReading, event: Event) -> cst.CSTNode:
    """Return the statement of the block's own suite that an event happened in."""
    places = [source.span(event.node)[0]]
    places += [source.span(f.callee)[0] for f in event.frames if f.callee is not None]
    start, end = reading.block.begin.start, reading.block.end.end
    for statement in reading.block.statements:
        first, stop = extent(source, statement)
        defines = isinstance(statement, (cst.FunctionDef, cst.ClassDef))
        if not defines and any(start <= p <= end and first <= p < stop for p in places):
            return statement
    return reading.block.statements[-1]


def _inner(source: Source, reading: BlockReading, events: list[Event]) -> Spot | None:
    """Return the deepest statement behind which the training is over; None when that is the block's own."""
    if len({id(e.node) for e in events}) != len(events):
        return None
    chains = [chain(source, source.span(e.node)[0]) for e in events]
    suite = {id(c[-1].suite) for c in chains}
    spots = chains[-1]
    if len(suite) > 1 or isinstance(spots[-1].suite, cst.SimpleStatementSuite):
        return None
    depth = next((i for i, s in enumerate(spots) if s.suite is reading.block.suite), -1)
    loops = [f for e in events for f in e.frames[reading.entry_depth :] if f.what in ("loop", "try")]
    inside = [s for s in spots[depth + 1 :] if isinstance(s.statement, _LOOPS)]
    if loops or inside:
        return None
    return max((c[-1] for c in chains), key=lambda s: source.span(s.statement)[0])
