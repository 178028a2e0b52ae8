"""Layers whose sizes come through `*` or `**`: `Dense(**settings)`.

A size in a list or dictionary may be changed where nothing but layers reads it; else it stays, and is told.
"""

from __future__ import annotations

import dataclasses

import libcst as cst

from sknc.decompose.widths import Dim, WidthGraph
from sknc.script.interpreter import Interpreter
from sknc.script.values import Arguments, Layer, Mapping, Seq, Star, Value


def note(args: Arguments, arg: cst.Arg, value: Value, count: int = 0) -> None:
    """Remember how arguments are written that come through a star.

    Args:
        args: gets the notes.
        arg: the argument with the star.
        value: what it holds.
        count: for `*`, how many of the last positional arguments it gave.
    """
    if isinstance(value, Mapping):
        args.stars |= {str(key): Star(value.nodes.get(key), arg.value) for key in value.items}
    elif isinstance(value, Seq):
        nodes = value.nodes if len(value.nodes) == count else [None] * count
        first = len(args.positional) - count
        args.stars |= {first + index: Star(node, arg.value) for index, node in enumerate(nodes)}


def site(layer: Layer, argument: str, position: int) -> Star | None:
    """Return where a size stands that came through a star.

    Args:
        layer: the layer.
        argument: the name of its size.
        position: its place among the positional arguments.

    Returns:
        The place, which may be the layer's own line; None when it came otherwise.
    """
    found = layer.args.stars.get(argument if argument in layer.args.keywords else position)
    if found is not None and found.node is not None:
        return found
    return Star(layer.node, layer.node) if isinstance(layer.node, cst.Call) else None


def settle(interp: Interpreter, graph: WidthGraph) -> None:
    """Keep the sizes that came through a star and are not only the layers'.

    Args:
        interp: the reading, at its end.
        graph: the widths of a block.
    """
    layers = {layer.node for layer in interp.kept_alive if isinstance(layer, Layer)}
    own: dict[Star, bool] = {}  # a pass over a long tree takes a tenth of a second: one for each place
    for variable, (star, layer) in interp.starred.items():
        if star not in own:
            own[star] = _is_own(interp, star, layers)
        if variable not in graph.slots or own[star]:
            continue
        known = "'" + interp.source.text(star.through) + "', which holds its size, is used elsewhere as well"
        why = known if star.node is not star.through else "its size is not written as a number of its own"
        graph.slots[variable] = dataclasses.replace(graph.slots[variable], site=layer)
        graph.fix(Dim.var(variable), why)


def _is_own(interp: Interpreter, star: Star, layers: set[cst.CSTNode | None]) -> bool:
    """Whether a size stands in a list or dictionary that is made in one place, for layers alone."""
    if star.node in _written(star.through):
        return True
    if not isinstance(star.through, cst.Name):
        return False
    uses = _Uses(star.through.value)
    interp.source.module.visit(uses)
    made = [value for value in uses.values if star.node in _written(value)]
    return len(made) == len(uses.values) == 1 and uses.calls <= layers and uses.count == 1 + uses.stars


def _written(node: cst.CSTNode | None) -> list[cst.CSTNode]:
    """The elements that a list, tuple or dictionary is written with."""
    if isinstance(node, (cst.Tuple, cst.List)):
        return [e.value for e in node.elements if isinstance(e, cst.Element)]
    if isinstance(node, cst.Dict):
        return [e.value for e in node.elements if isinstance(e, cst.DictElement)]
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "dict":
        return [a.value for a in node.args if a.keyword is not None]
    return []


class _Uses(cst.CSTVisitor):
    """Counts where a name stands: what it is given, and the calls that take it with a star."""

    def __init__(self, name: str) -> None:
        self.name, self.count, self.stars = name, 0, 0
        self.values: list[cst.CSTNode | None] = []
        self.calls: set[cst.CSTNode | None] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.count += node.value == self.name

    def visit_Assign(self, node: cst.Assign) -> None:
        self._given(node.targets[0].target, node.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._given(node.target, node.value)

    def _given(self, target: cst.CSTNode, value: cst.CSTNode | None) -> None:
        if isinstance(target, cst.Name) and target.value == self.name:
            self.values.append(value)

    def visit_Call(self, node: cst.Call) -> None:
        through = [a for a in node.args if a.star and isinstance(a.value, cst.Name) and a.value.value == self.name]
        self.stars += len(through)
        self.calls |= {node} if through else set()
