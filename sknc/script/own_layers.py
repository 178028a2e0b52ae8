"""Layers of the script's own classes: their weights have the sizes that the class gives them."""

from __future__ import annotations

import libcst as cst

from sknc.decompose.widths import Dim
from sknc.diagnostics import Diagnostic
from sknc.diagnostics import codes_script as codes
from sknc.script.inner import all_layers
from sknc.script.interpreter import Interpreter
from sknc.script.layers import LAYERS
from sknc.script.values import UNKNOWN, Arguments, Const, Instance, Model, Seq, Size, Tensor, Value, whole

_SIZED = tuple(name for name, rule in LAYERS.items() if rule.slots)


def weight(interp: Interpreter, owner: Instance, args: Arguments) -> Value:
    """Make a weight of such a layer.

    Args:
        interp: the reading.
        owner: the layer.
        args: the arguments of `add_weight`.

    Returns:
        A tensor, whose shape may follow from the width of the layer's input; UNKNOWN when its shape is.
    """
    given = args.get("shape", 0)
    if not isinstance(given, Seq):
        return UNKNOWN
    size = whole(given.items[-1]) if given.items else None
    literal = bool(given.nodes) and isinstance(given.nodes[-1], cst.Integer)
    said = [whole(value) for value in owner.attributes.values() if isinstance(value, Const)]
    # A number that is neither written there nor the layer's own is the size of its input.
    if size is not None and size > 2 and (literal or size in said):
        interp.own_sizes.setdefault(id(owner), size)
    dims = [item.dim if isinstance(item, Size) else Dim.fixed(whole(item)) for item in given.items]
    return Tensor(tuple(dims) or (Dim.fixed(1),))


def kept(interp: Interpreter, model: Model) -> list[Diagnostic]:
    """Say which layers of a network keep a size that their class gives their weights.

    Args:
        interp: the reading.
        model: the network.

    Returns:
        One finding for each line that makes such layers.
    """
    found: dict[cst.CSTNode, Diagnostic] = {}
    for layer in all_layers(model):
        node, size = interp.made_by.get(id(layer)), interp.own_sizes.get(id(layer))
        if not isinstance(layer, Instance) or node is None:
            continue
        if layer.cls.derives(*_SIZED) or (size is not None and layer.cls.derives("Layer")):
            what = "its size" if size is None else f"its size of {size}"
            reason = "it is a layer of a class in this script, and only Keras's own are narrowed"
            found[node] = codes.KEPT.at(interp.source.at(node), size=what, reason=reason)
    return list(found.values())
