"""Orders a train step: weights are updated before the backward pass goes on to earlier segments.

Left alone, TensorFlow runs what is ready in any order, and the gradients of many layers are held at once. Here
a segment's backward pass waits for all updates that it has no part in. Only waiting is added: what is computed
from what stays as it was traced.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ...frameworks import tensorflow
from ..tfgraph import GATES
from .internals import bypass, wait_for

_UPDATES = ("Assign", "ResourceApply", "ResourceScatter", "ResourceSparseApply")
# Of operations on a variable; any other is taken for one that changes it.
_READING = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarIsInitializedOp", "VariableShape"})


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


def order_updates(graph: Any) -> int:
    """Lets gates wait for the updates that do not depend on them.

    An update that does (of a weight shared with an earlier segment; of any weight where the optimiser looks at
    all gradients together) does not hold it up.

    Args:
        graph: the traced train step.

    Returns:
        How many updates are waited for.
    """
    gates = [[tensor.op for tensor in group] for group in graph.get_collection(GATES)]
    operations = graph.get_operations() if gates else []
    if any(op.type == "NextIteration" for op in operations):
        return 0
    places = {op: place for place, op in enumerate(operations)}
    for op in operations:
        # Keras hands all gradients through one operation, for those who train on several devices.
        if op.type == "IdentityN" and places[op] > places[gates[-1][0]]:
            bypass(op)
    behind = _behind(operations, gates)
    waited: dict[int, list[Any]] = {}
    for op in operations:
        # The gate after the last one that leads to it. As every gate that is waited for it comes later, no
        # circle can arise.
        number = behind[op].bit_length()
        if op.type.startswith(_UPDATES) and number < len(gates) and places[op] > places[gates[number][0]]:
            waited.setdefault(number, []).append(op)
    for number, updates in waited.items():
        for op in gates[number]:
            wait_for(op, updates)
    return sum(map(len, waited.values()))


def _behind(operations: Sequence[Any], gates: Sequence[Sequence[Any]]) -> dict[Any, int]:
    """For each operation, one bit for each gate that leads to it.

    TensorFlow lets operations on one variable, and those with other side effects, wait for each other in the
    order in which they were traced. It does so after this, so that it is reckoned with here.
    """
    own: dict[Any, int] = {}
    for number, group in enumerate(gates):
        for op in group:
            own[op] = own.get(op, 0) | 1 << number
    behind: dict[Any, int] = {}
    written: dict[Any, int] = {}
    readings: dict[Any, int] = {}
    for op in operations:
        bits = own.get(op, 0)
        for other in (*(tensor.op for tensor in op.inputs), *op.control_inputs):
            bits |= behind.get(other, 0)
        handles = [tensor.name for tensor in op.inputs if tensor.dtype.name == "resource"]
        touched = handles or ([None] if op.op_def is not None and op.op_def.is_stateful else [])
        reading = op.type in _READING
        for handle in touched:
            bits |= written.get(handle, 0) | (0 if reading else readings.get(handle, 0))
        for handle in touched:
            kept = readings if reading else written
            kept[handle] = kept.get(handle, 0) | bits
        behind[op] = bits
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
            order_updates(tf.compat.v1.get_default_graph())
        return results

    run.ordered = _Ordered(vars(model).get("train_step"))  # type: ignore[attr-defined]  # functions may have any
    model.train_step = run


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
