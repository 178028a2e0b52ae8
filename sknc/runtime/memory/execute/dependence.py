"""What of a traced train step depends on what: gates, updates, and who reads a variable before it is updated."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

from ..tfrules import SHARING

_UPDATES = ("Assign", "ResourceApply", "ResourceScatter", "ResourceSparseApply")
_READ = "ReadVariableOp"
# Of operations on a variable; any other is taken for one that changes it.
_READING = frozenset({_READ, "ResourceGather", "ResourceGatherNd", "VarIsInitializedOp", "VariableShape"})
# oneDNN makes one operation of a bias's gradient and the kernel's, when they read the same gradient.
BIAS, _KERNEL = "BiasAddGrad", re.compile(r"MatMul|.*BackpropFilter(V2)?")
# What TensorFlow takes out of a graph, also where it waits for something.
_SAME = frozenset({"Identity", "StopGradient", "PreventGradient"})


def is_update(op: Any) -> bool:
    """Says whether an operation changes a variable."""
    return bool(op.type.startswith(_UPDATES))


def origin(tensor: Any, through: Collection[str] = SHARING) -> Any:
    """Returns the tensor that was first in the memory that a tensor is in.

    Args:
        tensor: of a graph.
        through: types of operations that hand on what they read.
    """
    while tensor.op.type in through and len(tensor.op.inputs):
        tensor = tensor.op.inputs[min(tensor.value_index, len(tensor.op.inputs) - 1)]
    return tensor


def variable_of(tensor: Any) -> str:
    """Returns the name of the handle of the variable whose memory a tensor shares; empty for none.

    Args:
        tensor: of a graph.
    """
    tensor = origin(tensor, SHARING - {_READ})
    return str(tensor.op.inputs[0].name) if tensor.op.type == _READ else ""


class UpdateGroups:
    """The updates of trained variables, and what of the optimiser belongs to them.

    Args:
        operations: of the train step, as they were traced.
        before: what `ends_before` says of them.
        handles: names of what stands for the trained variables in the graph.
        optimizer: its name; its operations are in a scope of that name. Empty: all operations count as its own.

    Attributes:
        trained: for each trained variable's handle, its updates as they were traced.
        gradients: for each of them, what makes the gradient that the optimiser takes; without those that come after
            one of the optimiser's own operations.
        leads: for each operation, one bit for each trained variable to whose updates it leads.
    """

    def __init__(
        self, operations: Sequence[Any], before: dict[Any, list[Any]], handles: Collection[str], optimizer: str
    ) -> None:
        self.operations = operations
        self.before = before
        self._scope = re.compile(rf"(^|/){re.escape(optimizer)}(_\d+)?/" if optimizer else "")
        self.trained: dict[str, list[Any]] = {}
        for op in operations:
            if is_update(op) and (handle := str(op.inputs[0].name)) in handles:
                self.trained.setdefault(handle, []).append(op)
        self.leads = leading(operations, before, list(self.trained.values()))
        self.gradients: dict[str, list[Any]] = {}
        self._takers = self._find_gradients()

    def inside(self, op: Any) -> bool:
        """Whether an operation is one of the optimiser's."""
        return self._scope.search(op.name) is not None

    def takes_gradient(self, op: Any) -> bool:
        """Whether an operation of the optimiser reads something that is not of the optimiser."""
        sources = [tensor.op for tensor in op.inputs if tensor.dtype.name != "resource"]
        return not merged(op) and any(not self.inside(source) for source in sources)

    @cached_property
    def after(self) -> set[Any]:
        """All that is of the optimiser or an update of a trained variable, or depends on these."""
        found = {op for ops in self.trained.values() for op in ops}
        found |= {op for op in self.operations if self.inside(op)}
        size = -1
        while size < len(found):
            size = len(found)
            found |= {op for op in self.operations if any(other in found for other in self.before[op])}
        return found

    def _find_gradients(self) -> dict[Any, int]:
        """Finds whose gradient each operation of the optimiser takes: one bit for each variable."""
        handles = list(self.trained)
        readers: dict[str, set[int]] = {}
        tensors: dict[str, Any] = {}
        for op in filter(self.inside, self.operations):
            bits = self.leads.get(op, 0)
            if bits and not bits & bits - 1 and not merged(op):
                for tensor in op.inputs:
                    if tensor.dtype.name != "resource" and not self.inside(tensor.op) and not variable_of(tensor):
                        readers.setdefault(tensor.name, set()).add(bits)
                        tensors[tensor.name] = tensor
        takers: dict[Any, int] = {}
        for name, found in readers.items():
            # What several variables' updates read is a learning rate or the like.
            if len(found) == 1:
                (bits,) = found
                if tensors[name].op not in self.after:
                    self.gradients.setdefault(handles[bits.bit_length() - 1], []).append(tensors[name].op)
                for reader in filter(self.inside, tensors[name].consumers()):
                    takers[reader] = takers.get(reader, 0) | bits
        return takers

    @cached_property
    def _fed(self) -> dict[Any, int]:
        """For each operation, one bit for each variable whose gradient the optimiser has put into it."""
        fed = dict(self._takers)
        spread(self.operations, self.before, fed)
        return fed

    def groups(self, last: int) -> dict[str, list[Any]]:
        """Returns each trained variable's updates and those of what the optimiser keeps for it.

        Args:
            last: the place of the last gate; updates before it are left out.
        """
        late = self.operations[last + 1 :]
        places = {op: place for place, op in enumerate(late)}
        found = {
            handle: [op for op in ops if op in places]
            for handle, ops in self.trained.items()
            if any(op in places for op in ops)
        }
        handles = list(self.trained)
        own = {op for ops in self.trained.values() for op in ops}
        for op in late:
            bits = self._fed.get(op, 0)
            if is_update(op) and op not in own and self.inside(op) and bits and not bits & bits - 1:
                handle = handles[bits.bit_length() - 1]
                if handle in found:
                    found[handle].append(op)
        return found

    def idle(self, op: Any) -> bool:
        """Whether an operation reads, for the optimiser, something large to compute with before there is a gradient.

        What computes with it is not asked to wait by name: TensorFlow would not simplify it as it does otherwise.
        """
        if op.type != _READ or not self.inside(op) or all(self._fed.get(one, 0) for one in op.outputs[0].consumers()):
            return False
        return (op.outputs[0].shape.num_elements() or 0) > 1

    def decay_late(self, gates: Sequence[Sequence[Any]], behind: dict[Any, int]) -> None:
        """Counts a variable's first update as being behind the gates that its last one is behind.

        A weight's decay needs no gradient. Ready when the step begins, it would write to a copy of the weight, and
        gates would wait for it. Left as they are are updates to which a gate leads: those of a step with two.

        Args:
            gates: of the step.
            behind: what `gates_behind` says; is changed.
        """
        leads = leading(self.operations, self.before, gates)
        for ops in self.trained.values():
            if not leads.get(ops[0], 0):
                behind[ops[0]] |= behind[ops[-1]]
        spread(self.operations, self.before, behind)


def leading(operations: Sequence[Any], before: dict[Any, list[Any]], groups: Sequence[Sequence[Any]]) -> dict[Any, int]:
    """Returns for each operation one bit for each group that it leads to.

    Args:
        operations: as they were traced.
        before: what `ends_before` says of them.
        groups: of operations; each leads to its own group.
    """
    leads: dict[Any, int] = {op: 1 << number for number, group in enumerate(groups) for op in group}
    settled = False
    while not settled:
        settled = True
        for op in reversed(operations):
            for other in before[op]:
                old = leads.get(other, 0)
                leads[other] = old | leads.get(op, 0)
                settled = settled and leads[other] == old
    return leads


def ends_before(operations: Sequence[Any]) -> dict[Any, list[Any]]:
    """Returns for each operation those that end before it begins.

    TensorFlow lets operations on one variable, and those with other side effects, wait for each other in the
    order in which they were traced. It does so after this, so that it is reckoned with here.

    Args:
        operations: as they were traced.
    """
    found: dict[Any, list[Any]] = {}
    written: dict[Any, Any] = {}
    readings: dict[Any, list[Any]] = {}
    for op in operations:
        before = [tensor.op for one in (op, *merged(op)) for tensor in one.inputs]
        before += [other for one in (op, *merged(op)) for other in one.control_inputs]
        handles = {tensor.name for tensor in op.inputs if tensor.dtype.name == "resource"}
        for handle in handles or ({""} if op.op_def is not None and op.op_def.is_stateful else ()):
            before += [written[handle]] if handle in written else []
            if op.type in _READING:
                readings.setdefault(handle, []).append(op)
            else:
                before += readings.pop(handle, [])
                written[handle] = op
        found[op] = before
    return found


def of_bias(gradient: Any) -> bool:
    """Says whether a gradient is a bias's.

    Args:
        gradient: a tensor.
    """
    return hasattr(gradient, "op") and bool(origin(gradient).op.type == BIAS)


def merged(op: Any) -> list[Any]:
    """Returns the operations that TensorFlow may run as one with this one: it then begins when all of them can.

    Args:
        op: of a graph.
    """
    if op.type == BIAS:
        return [other for other in _reading(op.inputs[0]) if _KERNEL.fullmatch(other.type)]
    if _KERNEL.fullmatch(op.type):
        return [other for tensor in op.inputs for other in _reading(tensor) if other.type == BIAS]
    return []


def _reading(tensor: Any) -> list[Any]:
    """All that reads a tensor, by whatever name."""
    found: list[Any] = []
    stack = [origin(tensor, _SAME)]
    while stack:
        for other in stack.pop().consumers():
            if other.type in _SAME:
                stack += other.outputs
            else:
                found.append(other)
    return found


def gates_behind(
    operations: Sequence[Any], before: dict[Any, list[Any]], gates: Sequence[Sequence[Any]]
) -> dict[Any, int]:
    """Returns for each operation one bit for each gate that leads to it.

    Args:
        operations: as they were traced.
        before: what `ends_before` says of them.
        gates: groups of operations.
    """
    behind: dict[Any, int] = {}
    for number, group in enumerate(gates):
        for op in group:
            behind[op] = behind.get(op, 0) | 1 << number
    spread(operations, before, behind)
    return behind


def spread(operations: Sequence[Any], before: dict[Any, list[Any]], bits: dict[Any, int]) -> None:
    """Gives each operation the bits of all that end before it begins.

    Args:
        operations: as they were traced.
        before: what `ends_before` says of them.
        bits: of operations; is changed.
    """
    settled = False
    # What is run as one with something else depends on operations that were traced later: once is not enough.
    while not settled:
        settled = True
        for op in operations:
            found = old = bits.get(op, 0)
            for other in before[op]:
                found |= bits.get(other, 0)
            bits[op] = found
            settled = settled and found == old
