"""The train step as TensorFlow runs it: operations over buffers, in the order in which they were traced.

Where the step graph speaks of layers, this speaks of every operation, because what a layer really holds is
not what it outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        waits: operations that must have ended before, beside those that make what it reads; of them, updates may
            come later in the list.
        flops: floating point operations.
        layer: the call of a layer that it belongs to; empty for none.
        backward: whether it belongs to the backward pass.
        scratch: sizes of the tensors that it needs only while it runs.
        updates: the variable or the optimiser's value that it assigns, or NOT_AN_UPDATE.
        slower: how many times longer it takes than its work and its bytes say.
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
    slower: int = 1


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
        gates: groups of operations that wait for all updates which do not depend on them, in traced order.
    """

    ops: tuple[Op, ...]
    sizes: tuple[int, ...]
    held: frozenset[int]
    gradients: Mapping[int, int] = field(default_factory=dict)
    layers: Mapping[str, str] = field(default_factory=dict)
    drawn: frozenset[int] = frozenset()
    pieces: Mapping[int, int] = field(default_factory=dict)
    slots: tuple[int, ...] = ()
    gates: tuple[tuple[int, ...], ...] = ()


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
        together: whether it looks at all gradients before it changes any variable.
        ordered: whether updates can be made to wait: none that stands inside of a branch can.
    """

    name: str
    ops: tuple[UpdateOp, ...]
    slots: int
    together: bool = False
    ordered: bool = True


def with_updates(graph: OpGraph, rule: UpdateRule) -> OpGraph:
    """Append the optimiser's operations for every variable that has a gradient, and let gates wait for them.

    Args:
        graph: the forward and backward pass.
        rule: the optimiser's rule for one variable.

    Returns:
        The whole train step.
    """
    ops, sizes = list(graph.ops), list(graph.sizes)
    slots: list[int] = []
    makers = {tensor: number for number, op in enumerate(ops) for tensor in op.makes}
    everything = {makers[gradient] for gradient in graph.gradients.values() if gradient in makers}
    everything = everything if rule.together else set()
    gated = bool(graph.gates) and rule.ordered
    ordered = gated and not rule.together
    behind = _gates_behind(graph, makers) if ordered else []
    places = _first_gates(graph, makers, behind) if ordered else {}
    readers = _readers(graph, makers, behind) if ordered else {}
    idle = _idle(rule) if ordered else frozenset()
    # With gates, one variable is updated after the other: first those that the first gate waits for.
    pairs = list(graph.gradients.items())
    before: tuple[int, ...] = ()
    if gated:
        pairs.reverse()
        pairs.sort(key=lambda pair: places.get(pair[0], len(graph.gates)))
    for variable, gradient in pairs:
        start, made_by = len(ops), [makers[gradient]] if gradient in makers else []
        mine = list(range(len(sizes), len(sizes) + rule.slots))
        sizes += [sizes[variable]] * rule.slots
        slots += mine
        made: list[int] = []
        for place, op in enumerate(rule.ops):
            sizes.append(sizes[variable] if op.sized else 0)
            made.append(len(sizes) - 1)
            reads = [gradient if source == GRADIENT else made[source] for source in op.reads]
            reads += [variable] if op.reads_variable else []
            waits = [start + number for number in op.waits]
            waits += sorted(everything - {makers.get(gradient, NOT_AN_UPDATE)}) if GRADIENT in op.reads else []
            waits += before if GRADIENT in op.reads or place in idle else ()
            waits += made_by if place in idle else ()
            waits += readers.get(variable, ()) if op.assigns == "variable" else ()
            new = Op(
                op.type,
                tuple(reads),
                (made[-1],),
                tuple(waits),
                backward=True,
                updates=_assigned(op, variable, mine),
            )
            ops.append(new)
        assigning = tuple(start + number for number, op in enumerate(rule.ops) if op.assigns)
        for number in graph.gates[places[variable]] if variable in places else ():
            ops[number] = replace(ops[number], waits=(*ops[number].waits, *assigning))
        before = assigning if gated else ()
    held = graph.held | frozenset(slots)
    return replace(graph, ops=tuple(ops), sizes=tuple(sizes), held=held, slots=tuple(slots))


def _idle(rule: UpdateRule) -> frozenset[int]:
    """Which operations of a rule compute something large from what the optimiser keeps, and nothing from the gradient.

    They wait for it all the same, where there are gates, or they would hold what they make from the beginning.
    """
    fed: set[int] = {GRADIENT}
    for number, op in enumerate(rule.ops):
        if fed & {*op.reads, *op.waits}:
            fed.add(number)
    return frozenset(
        number
        for number, op in enumerate(rule.ops)
        if op.sized and not op.assigns and number not in fed and not any(rule.ops[read].sized for read in op.reads)
    )


def _assigned(op: UpdateOp, variable: int, slots: list[int]) -> int:
    if op.assigns == "variable":
        return variable
    return slots[op.slot] if 0 <= op.slot < len(slots) else NOT_AN_UPDATE


def _gates_behind(graph: OpGraph, makers: Mapping[int, int]) -> list[int]:
    """For each operation, one bit for each gate that leads to it."""
    own: dict[int, int] = {}
    for place, group in enumerate(graph.gates):
        for number in group:
            own[number] = own.get(number, 0) | 1 << place
    behind: list[int] = []
    for number, op in enumerate(graph.ops):
        bits = own.get(number, 0)
        for other in (*(makers[tensor] for tensor in op.reads if tensor in makers), *op.waits):
            bits |= behind[other]
        behind.append(bits)
    return behind


def _first_gates(graph: OpGraph, makers: Mapping[int, int], behind: Sequence[int]) -> dict[int, int]:
    """For each variable, the number of the gate after the last one that leads to its gradient."""
    found = {}
    for variable, gradient in graph.gradients.items():
        place = behind[makers[gradient]].bit_length() if gradient in makers else len(graph.gates)
        if place < len(graph.gates):
            found[variable] = place
    return found


def _readers(graph: OpGraph, makers: Mapping[int, int], behind: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """For each variable, the operations that read it and that are not behind more gates than its gradient."""
    found: dict[int, list[int]] = {variable: [] for variable in graph.gradients}
    for number, op in enumerate(graph.ops):
        for variable in found.keys() & set(op.reads):
            gradient = makers.get(graph.gradients[variable])
            if gradient is not None and behind[number].bit_length() <= behind[gradient].bit_length():
                found[variable].append(number)
    return {variable: tuple(numbers) for variable, numbers in found.items()}
