"""The train step as TensorFlow runs it: operations over buffers, in the order in which they were traced.

Where the step graph speaks of layers, this speaks of every operation, because what a layer really holds is
not what it outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

NOT_AN_UPDATE = -1
NOT_A_SLOT = -1


@dataclass(frozen=True, slots=True)
class Op:
    """One operation.

    Attributes:
        type: TensorFlow's name of the operation.
        reads: tensors it reads.
        makes: tensors it makes, one an output.
        waits: operations that must have ended before, beside those that make what it reads.
        flops: floating point operations.
        layer: the call of a layer that it belongs to; empty for none.
        backward: whether it belongs to the backward pass.
        scratch: sizes of the tensors that it needs only while it runs.
        updates: the variable or the optimiser's value that it assigns, or NOT_AN_UPDATE.
        again: whether it runs many times in a step, so that TensorFlow soon knows how cheap it is.
    """

    type: str
    reads: tuple[int, ...]
    makes: tuple[int, ...]
    waits: tuple[int, ...] = ()
    flops: int = 0
    layer: str = ""
    backward: bool = False
    scratch: tuple[int, ...] = ()
    updates: int = NOT_AN_UPDATE
    again: bool = False


@dataclass(frozen=True)
class OpGraph:
    """A train step.

    Attributes:
        ops: in traced order: every operation comes after those that make what it reads.
        sizes: bytes of each tensor.
        held: tensors that are there before and after the step: variables and the input batch.
        gradients: the tensor of each variable's gradient, by the variable's tensor.
        layers: for each call of a layer, the layer's class.
        drawn: of the held tensors, those whose first values are drawn at random.
        slots: of the held tensors, those that an optimiser keeps; they start as zeros.
        pieces: for a tensor that is a list, of how many tensors.
    """

    ops: tuple[Op, ...]
    sizes: tuple[int, ...]
    held: frozenset[int]
    gradients: Mapping[int, int] = field(default_factory=dict)
    layers: Mapping[str, str] = field(default_factory=dict)
    drawn: frozenset[int] = frozenset()
    pieces: Mapping[int, int] = field(default_factory=dict)
    slots: tuple[int, ...] = ()

    def bytes_of(self, tensors: Mapping[int, int] | frozenset[int]) -> int:
        """Bytes of some tensors together."""
        return sum(self.sizes[tensor] for tensor in tensors)


@dataclass(frozen=True, slots=True)
class UpdateOp:
    """One operation of an optimiser's rule for a variable.

    Attributes:
        type: TensorFlow's name of the operation.
        reads: earlier operations of the rule whose output it reads; GRADIENT for the gradient.
        waits: earlier operations that must have ended.
        sized: whether its output is as large as the variable.
        assigns: 'variable' or 'slot' when it assigns one, else empty.
        reads_variable: whether it reads the variable itself.
        slot: which of the optimiser's values for the variable it assigns, or NOT_A_SLOT.
    """

    type: str
    reads: tuple[int, ...]
    waits: tuple[int, ...]
    sized: bool
    assigns: str = ""
    reads_variable: bool = False
    slot: int = NOT_A_SLOT


GRADIENT = -1


@dataclass(frozen=True)
class UpdateRule:
    """What an optimiser does to one variable, and how many values it keeps for each of the variable's.

    Attributes:
        name: the optimiser's name.
        ops: its operations in order.
        slots: copies of the variable that it keeps.
    """

    name: str
    ops: tuple[UpdateOp, ...]
    slots: int


def with_updates(graph: OpGraph, rule: UpdateRule) -> OpGraph:
    """Append the optimiser's operations for every variable that has a gradient.

    Args:
        graph: the forward and backward pass.
        rule: the optimiser's rule for one variable.

    Returns:
        The whole train step.
    """
    ops, sizes = list(graph.ops), list(graph.sizes)
    slots: list[int] = []
    for variable, gradient in graph.gradients.items():
        start = len(ops)
        mine = list(range(len(sizes), len(sizes) + rule.slots))
        sizes += [sizes[variable]] * rule.slots
        slots += mine
        made: list[int] = []
        for op in rule.ops:
            sizes.append(sizes[variable] if op.sized else 0)
            made.append(len(sizes) - 1)
            reads = [gradient if source == GRADIENT else made[source] for source in op.reads]
            reads += [variable] if op.reads_variable else []
            new = Op(
                op.type,
                tuple(reads),
                (made[-1],),
                tuple(start + number for number in op.waits),
                backward=True,
                updates=_assigned(op, variable, mine),
            )
            ops.append(new)
    held = graph.held | frozenset(slots)
    return replace(graph, ops=tuple(ops), sizes=tuple(sizes), held=held, slots=tuple(slots))


def _assigned(op: UpdateOp, variable: int, slots: list[int]) -> int:
    if op.assigns == "variable":
        return variable
    return slots[op.slot] if 0 <= op.slot < len(slots) else NOT_AN_UPDATE
