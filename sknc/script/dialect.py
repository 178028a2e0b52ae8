"""The original tool's dialect: reserved names that hold the sizes, `_NEURON_1 = 128`.

In a block that uses them only what uses them is reduced. A name's value is narrowed where it is set, so that
arithmetic on it (`int(_FILTERS_1 / 1.5)`) follows; the highest `_NEURON_k` is the number of outputs and is
replaced at the output layer alone, because scripts use it for their labels as well.
"""

from __future__ import annotations

import re

import libcst as cst

from sknc.decompose.widths import Role
from sknc.script.interpreter import Interpreter
from sknc.script.markers import Block
from sknc.script.python import size_of
from sknc.script.values import Arguments, Layer, Value, whole

_SIZES: dict[str, Role] = {"NEURON": "dense", "FILTERS": "conv", "CELL": "recurrent", "EMBEDDING": "embedding"}
_NAME = re.compile(r"_(NEURON|FILTERS|CELL|EMBEDDING)_(\d*)")


class _Names(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        if isinstance(node.target, cst.Name):
            self.found.add(node.target.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        if isinstance(node.target, cst.Name):
            self.found.add(node.target.value)


def output_name(block: Block) -> str | None:
    """Return the name that holds a block's number of outputs.

    Args:
        block: the block.

    Returns:
        The highest `_NEURON_k`, "" when the dialect is used without one, None when it is not used.
    """
    names = _Names()
    for statement in block.statements:
        statement.visit(names)
    matches = [match for name in names.found if (match := _NAME.fullmatch(name))]
    if not matches:
        return None
    neurons = [int(match[2] or 0) for match in matches if match[1] == "NEURON"]
    return f"_NEURON_{max(neurons)}" if neurons else ""


def width(interp: Interpreter, target: cst.CSTNode, node: cst.BaseExpression, value: Value) -> Value:
    """Make the value of a reserved name a width of the network.

    Args:
        interp: the reading.
        target: what is assigned to.
        node: the expression that is assigned.
        value: its value.

    Returns:
        The value that the name gets.
    """
    if interp.block is None or not isinstance(target, cst.Name):
        return value
    name = target.value
    if name == "_EPOCHS":
        interp.epochs_nodes[interp.block] = node
    if name == "_DATA_TRAIN_GEN_Y":
        interp.generator_nodes[interp.block] = node
    match = _NAME.fullmatch(name)
    if match is None or name == interp.dialect.get(interp.block) or whole(value) is None:
        return value
    layer = Layer(name, Arguments(), node)
    variable = interp.add_slot(layer, "dialect", whole(value), _SIZES[match[1]], node)
    return size_of(variable)
