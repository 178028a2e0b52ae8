"""Orders a train step: weights are updated before the backward pass goes on to earlier segments.

Left alone, TensorFlow runs what is ready in any order, and the gradients of many layers are held at once. Here
a segment's backward pass waits for all updates that it has no part in. Only waiting is added: what is computed
from what stays as it was traced.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

from ...frameworks import tensorflow
from ..tfgraph import GATES
from .internals import bypass, wait_for

_UPDATES = ("Assign", "ResourceApply", "ResourceScatter", "ResourceSparseApply")
# Of operations on a variable; any other is taken for one that changes it.
_READING = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarIsInitializedOp", "VariableShape"})
# oneDNN makes one operation of a bias's gradient and the kernel's, when they read the same gradient.
_BIAS, _KERNEL = "BiasAddGrad", re.compile(r"MatMul|.*BackpropFilter(V2)?")


def mark_gate(tensors: Sequence[Any]) -> None:
    """Remembers where the backward pass of a segment begins.

    Args:
        tensors: all that it computes depends on these; they depend on what later segments' have computed.
    """
    tf = tensorflow()
    if tensors and not tf.executing_eagerly():
        tf.compat.v1.get_default_graph().add_to_collection(GATES, list(tensors))


def gated(tensor: Any) -> Any:
    """Returns a tensor through which the backward pass can be made to wait.

    Args:
        tensor: that one segment hands to later ones.
    """
    tf = tensorflow()
    if not tensor.dtype.is_floating:
        return tensor

    @tf.custom_gradient  # type: ignore[untyped-decorator]  # tensorflow has no types
    def through(value: Any) -> Any:
        def backward(gradient: Any) -> Any:
            if not isinstance(gradient, tf.Tensor):
                return gradient
            handed = tf.identity(gradient)
            mark_gate([handed])
            return handed

        return tf.identity(value), backward

    return through(tensor)


def order_updates(graph: Any, handles: Collection[str] = (), scope: str = "") -> int:
    """Lets gates wait for the updates that do not depend on them, and updates for each other.

    An update that depends on a gate (of a weight shared with an earlier segment; of any weight where the
    optimiser looks at all gradients together) does not hold it up.

    Args:
        graph: the traced train step.
        handles: names of what stands for the trained variables in the graph.
        scope: of the optimiser's operations.

    Returns:
        How many updates are waited for by gates.
    """
    # A loop's body is a graph of its own, and has the same collection.
    groups = [group for group in graph.get_collection(GATES) if all(tensor.graph is graph for tensor in group)]
    gates = [[tensor.op for tensor in group] for group in groups]
    operations = graph.get_operations() if gates else []
    if not gates or any(op.type == "NextIteration" for op in operations):
        return 0
    places = {op: place for place, op in enumerate(operations)}
    for op in operations:
        # Keras hands all gradients through one operation, for those who train on several devices.
        if op.type == "IdentityN" and places[op] > places[gates[-1][0]]:
            bypass(op)
    before = _before(operations)
    behind = _behind(operations, before, gates)
    waited: dict[int, list[Any]] = {}
    for op in operations:
        # The gate after the last one that leads to it. As every gate that is waited for it comes later, no
        # circle can arise.
        number = behind[op].bit_length()
        if op.type.startswith(_UPDATES) and number < len(gates) and places[op] > places[gates[number][0]]:
            waited.setdefault(number, []).append(op)
    _chain(operations[places[gates[-1][-1]] + 1 :], before, behind, (handles, scope))
    _read_first(operations, before, behind, (handles, scope))
    for number, updates in waited.items():
        for op in gates[number]:
            wait_for(op, updates)
    return sum(map(len, waited.values()))


def _chain(
    operations: Sequence[Any], before: dict[Any, list[Any]], behind: dict[Any, int], what: tuple[Collection[str], str]
) -> None:
    """Lets one variable be updated after the other, so that what an update needs meanwhile is there once.

    Only operations that lead to the updates of one variable and of no other wait for another one's. So no circle
    can arise: whoever waits comes later in the chain, and gates are waited for in the order of the chain.
    """
    handles, scope = what
    groups = _groups(operations, handles)
    leads = _leads(operations, before, groups)
    numbers = [{behind[op].bit_length() for op in group} for group in groups]
    chained = [number for number in range(len(groups)) if len(numbers[number]) == 1]
    chained.sort(key=lambda number: (*numbers[number], -number))
    entries: dict[int, list[Any]] = {}
    for op in operations:
        # What takes a gradient: all that is as large as the variable depends on it.
        sources = [tensor.op for tensor in op.inputs if tensor.dtype.name != "resource"]
        if scope in op.name and not _merged(op) and any(scope not in source.name for source in sources):
            entries.setdefault(leads.get(op, 0), []).append(op)
    for first, second in pairwise(chained):
        for op in entries.get(1 << second, ()):
            wait_for(op, groups[first])


def _read_first(
    operations: Sequence[Any], before: dict[Any, list[Any]], behind: dict[Any, int], what: tuple[Collection[str], str]
) -> None:
    """Lets a variable's update wait until the backward pass has read the variable: TensorFlow would copy it.

    No circle can arise: who is waited for does not come after any update, or what leads to one, but through gates;
    and it is behind no more of them than the update.
    """
    handles, scope = what
    updates = [op for op in operations if op.type.startswith(_UPDATES) and _handle(op) in handles]
    numbers = {_handle(op): number for number, op in enumerate(updates)}
    leads = _leads(operations, before, [[op] for op in updates])
    after = set(updates)
    readers: dict[Any, list[Any]] = {}
    for op in operations:
        if op in after or scope in op.name or any(other in after for other in before[op]):
            after.add(op)
            continue
        # Nobody needs what leads to no update. Who leads to the variable's own is waited for anyway, and what is
        # waited for by name is never fused with others.
        for handle in {_variable(tensor) for tensor in op.inputs} & numbers.keys() if leads.get(op, 0) else ():
            update = updates[numbers[handle]]
            if not leads[op] >> numbers[handle] & 1 and behind[op].bit_length() <= behind[update].bit_length():
                readers.setdefault(update, []).append(op)
    for update, found in readers.items():
        wait_for(update, found)


def _handle(op: Any) -> str:
    """The name of the handle of what an update changes."""
    return str(op.inputs[0].name)


def _variable(tensor: Any) -> str:
    """The name of the handle of the variable whose memory a tensor shares; empty for none."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return str(tensor.op.inputs[0].name) if tensor.op.type == "ReadVariableOp" else ""


def _groups(operations: Sequence[Any], handles: Collection[str]) -> list[list[Any]]:
    """The updates, those of one variable together with what its optimiser keeps for it; the last group is the rest."""
    groups: list[list[Any]] = [[]]
    for op in operations:
        if op.type.startswith(_UPDATES):
            groups[-1].append(op)
            if any(tensor.name in handles for tensor in op.inputs):
                groups.append([])
    return groups


def _leads(operations: Sequence[Any], before: dict[Any, list[Any]], groups: Sequence[Sequence[Any]]) -> dict[Any, int]:
    """For each operation, one bit for each group that it leads to."""
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


def _before(operations: Sequence[Any]) -> dict[Any, list[Any]]:
    """For each operation, those that end before it begins.

    TensorFlow lets operations on one variable, and those with other side effects, wait for each other in the
    order in which they were traced. It does so after this, so that it is reckoned with here.
    """
    found: dict[Any, list[Any]] = {}
    written: dict[Any, Any] = {}
    readings: dict[Any, list[Any]] = {}
    for op in operations:
        before = [tensor.op for one in (op, *_merged(op)) for tensor in one.inputs]
        before += [other for one in (op, *_merged(op)) for other in one.control_inputs]
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


def _merged(op: Any) -> list[Any]:
    """The operations that TensorFlow may run as one with this one: it then begins when all of them can."""
    if op.type == _BIAS:
        return [other for other in op.inputs[0].consumers() if _KERNEL.fullmatch(other.type)]
    if _KERNEL.fullmatch(op.type):
        return [other for tensor in op.inputs for other in tensor.consumers() if other.type == _BIAS]
    return []


def _behind(operations: Sequence[Any], before: dict[Any, list[Any]], gates: Sequence[Sequence[Any]]) -> dict[Any, int]:
    """For each operation, one bit for each gate that leads to it."""
    behind: dict[Any, int] = {}
    for number, group in enumerate(gates):
        for op in group:
            behind[op] = behind.get(op, 0) | 1 << number
    settled = False
    # What is run as one with something else depends on operations that were traced later: once is not enough.
    while not settled:
        settled = True
        for op in operations:
            bits = old = behind.get(op, 0)
            for other in before[op]:
                bits |= behind.get(other, 0)
            behind[op] = bits
            settled = settled and bits == old
    return behind


class _Ordered:
    """Marks a `train_step` of ours, and knows which one stood on the model before."""

    def __init__(self, before: Any) -> None:
        self.before = before


def order_step(model: Any) -> None:
    """Makes a model's `train_step` order its updates.

    Args:
        model: a keras.Model; one may have been put on the object itself.
    """
    tf = tensorflow()
    step = model.train_step

    @functools.wraps(step)
    def run(*args: Any, **kwargs: Any) -> Any:
        results = step(*args, **kwargs)
        if not tf.executing_eagerly():
            # Who traces the step with `tf.function` has Python rewritten, and what is rewritten runs ten times as long.
            tf.autograph.experimental.do_not_convert(_order)(model, tf.compat.v1.get_default_graph())
        return results

    run.ordered = _Ordered(vars(model).get("train_step"))  # type: ignore[attr-defined]  # functions may have any
    model.train_step = run


def _order(model: Any, graph: Any) -> None:
    trained = {id(variable.value.handle) for variable in model.trainable_variables}
    handles = {inner.name for outer, inner in getattr(graph, "captures", ()) if id(outer) in trained}
    optimizer = getattr(model, "optimizer", None)
    order_updates(graph, handles, f"{optimizer.name}/" if optimizer is not None else "/")


def restore_step(model: Any) -> None:
    """Takes away what `order_step` put on a model, unless somebody replaced it.

    Args:
        model: a keras.Model.
    """
    found = getattr(vars(model).get("train_step"), "ordered", None)
    if not isinstance(found, _Ordered):
        return
    del model.train_step
    if found.before is not None:
        model.train_step = found.before
