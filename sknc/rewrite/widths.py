"""Edits of widths: `Dense(64)` becomes `Dense(32)`, `Dense(units)` becomes `Dense(skn_runtime.width(units, 2))`."""

from __future__ import annotations

import libcst as cst

from sknc.decompose.widths import Width
from sknc.rewrite.text import Edit, Hole, wrap
from sknc.script.reading import BlockReading
from sknc.script.source import Source

OUTPUT = "output"
"""The hole that takes the submodel's own output width."""


def number(value: float) -> str:
    """Write a factor: `2` and `1.5`, never `2.0`."""
    return str(int(value)) if value == int(value) else repr(value)


def edits(
    source: Source, reading: BlockReading, widths: dict[int, Width], factor: float, output_known: bool
) -> list[Edit]:
    """Return the edits of all widths of a block.

    Args:
        source: the script.
        reading: the block.
        widths: what becomes of each width.
        factor: the factor that they are divided by.
        output_known: whether the output's width is a number; else its hole takes the arguments behind the user's
            expression in a call of `skn_runtime.units`.

    Returns:
        The edits; those of the output layer hold the hole `OUTPUT`.
    """
    found: list[Edit] = []
    for site, variables in reading.graph.sites():
        mine = [v for v in variables if v in reading.slots]
        if mine and isinstance(site, cst.BaseExpression):
            found += _site(source, site, [widths[v] for v in mine], factor, output_known)
    return found


def _site(
    source: Source, node: cst.BaseExpression, widths: list[Width], factor: float, output_known: bool
) -> list[Edit]:
    start, end = source.span(node)
    actions = {width.action for width in widths}
    if all(w.action == "keep" or (w.old is not None and w.old == w.new) for w in widths):
        return []
    if _has_effects(node) and all(width.old is not None for width in widths):
        return _table(start, end, widths, output_known)
    if actions == {"output"}:
        if output_known:
            return [Edit(start, end, (Hole(OUTPUT),))]
        return wrap(start, end, "skn_runtime.units(", ", ", Hole(OUTPUT), ")")
    if len({(w.old, w.new) for w in widths}) == 1 and widths[0].new is not None:
        return [Edit(start, end, (str(widths[0].new),))]
    if actions == {"reduce"}:
        multiple = widths[0].multiple
        if any(width.multiple != multiple for width in widths) and all(width.new is not None for width in widths):
            return _table(start, end, widths, output_known)
        extra = f", multiple={multiple}" if multiple > 1 else ""
        return wrap(start, end, "skn_runtime.width(", f", {number(factor)}{extra})")
    return _table(start, end, widths, output_known)


class _Effects(cst.CSTVisitor):
    found = False

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self.found = True

    def visit_Call(self, node: cst.Call) -> None:
        name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        self.found = self.found or (isinstance(name, cst.Name) and name.value in ("pop", "popleft", "next"))


def _has_effects(node: cst.BaseExpression) -> bool:
    """Whether an expression has to stay because it does something: `units.pop()`, `(units := 64)`."""
    visitor = _Effects()
    node.visit(visitor)
    return visitor.found


def _table(start: int, end: int, widths: list[Width], output_known: bool) -> list[Edit]:
    """One line that makes several layers: a table of what each width becomes."""
    pieces: list[str | Hole] = ["{"]
    for index, (old, width) in enumerate({w.old: w for w in widths}.items()):
        pieces.append(f"{', ' if index else ''}{old}: ")
        pieces.append(Hole(OUTPUT) if width.action == "output" and output_known else str(width.new))
    return [Edit(start, start, (*pieces, "}["), 1), Edit(end, end, ("]",), -1)]


def two_roles(reading: BlockReading, widths: dict[int, Width], output_known: bool) -> cst.CSTNode | None:
    """Return a line that makes the output layer and layers that cannot be told from it by their width."""
    for site, variables in reading.graph.sites():
        mine = [widths[v] for v in variables if v in reading.slots]
        actions = {width.action for width in mine}
        if "output" in actions and len(actions) > 1:
            by_old = {w.old: w.action for w in mine}
            mixed = any(by_old[w.old] != w.action for w in mine)
            unknown = any(w.old is None or (w.new is None and w.action != "output") for w in mine)
            if mixed or unknown or not output_known:
                return site if isinstance(site, cst.CSTNode) else None
    return None
