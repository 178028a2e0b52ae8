"""What a loop operation (recurrent layers) holds: the lists it fills, and what one turn of it needs.

A `While` operation's lists are variants without a size. Their size is what one turn pushes or sets, times the
turns.
"""

from __future__ import annotations

from math import prod
from typing import Any

LOOPS = frozenset({"While", "StatelessWhile"})
_PUSHES = {"TensorListPushBack": 1, "TensorListSetItem": 2}
# Where neither the loop nor its lists say how often it turns.
UNKNOWN_TURNS = 1
ENDLESS = 2**31 - 1


def shape_bytes(tensor: Any) -> int:
    """Bytes of a tensor inside of a loop; 0 for handles.

    Args:
        tensor: symbolic.

    Returns:
        Its bytes, where a size that is not known counts as one.
    """
    shape = tensor.shape
    if shape.rank is None or tensor.dtype.name in ("variant", "resource"):
        return 0
    return int(prod(size or 1 for size in shape)) * int(tensor.dtype.size or 0)


def body_of(op: Any) -> Any:
    """The graph of one turn of a loop.

    Args:
        op: a While operation, as it was traced.
    """
    return op.graph._get_function(op.get_attr("body").name).graph


def turns(op: Any) -> int:
    """How often a loop turns at most.

    Args:
        op: a While operation.

    Returns:
        The largest of what its limit, its lists and, for a gradient's loop, the forward loop say.
    """
    return max(_said(op), default=UNKNOWN_TURNS)


def says_its_turns(op: Any) -> bool:
    """Whether anything says how often a loop turns at most.

    Args:
        op: a While operation.
    """
    return bool(_said(op))


def _said(op: Any) -> list[int]:
    import tensorflow as tf

    said = []
    limit = tf.get_static_value(op.inputs[1]) if len(op.inputs) > 1 else None
    if limit is not None and getattr(limit, "shape", None) == () and 0 < int(limit) < ENDLESS:
        said.append(int(limit))
    for tensor in op.inputs:
        source = tensor.op
        if source.type == "TensorListReserve":
            length = tf.get_static_value(source.inputs[1])
            said.append(int(length) if length is not None else 0)
        elif source.type == "TensorListFromTensor" and source.inputs[0].shape.rank:
            said.append(source.inputs[0].shape[0] or 0)
        elif source.type in LOOPS:
            said += _said(source)
    return [count for count in said if count > 0]


def loop_sizes(op: Any) -> list[tuple[int, int]]:
    """Bytes of each output of a loop, and in how many pieces they come.

    Args:
        op: a While operation.

    Returns:
        For a list, what all turns put into it, in a piece for each turn; for a tensor, its own bytes.
    """
    count = turns(op)
    body = body_of(op)
    return [
        (count * _put_in_one_turn(body.outputs[place]), count)
        if tensor.dtype.name == "variant"
        else (shape_bytes(tensor), 1)
        for place, tensor in enumerate(op.outputs)
    ]


def _put_in_one_turn(tensor: Any) -> int:
    while tensor.op.type in ("Identity", "TensorListElementShape"):
        tensor = tensor.op.inputs[0]
    place = _PUSHES.get(tensor.op.type)
    return 0 if place is None else shape_bytes(tensor.op.inputs[place])


def loop_scratch(op: Any, backward: bool) -> tuple[int, ...]:
    """Tensors that a loop makes beside its outputs.

    Turns run ahead of each other where nothing orders them: the gradients of a recurrent layer's weights are
    multiplied for as many turns at once as the loop allows, and wait to be added up.

    Args:
        op: a While operation.
        backward: whether it is the loop of a gradient.

    Returns:
        Bytes of one turn's tensors that go into no list, and of the weights' gradients of all turns in
        flight.
    """
    operations = body_of(op).get_operations()
    listed = {inner.inputs[_PUSHES[inner.type]].ref() for inner in operations if inner.type in _PUSHES}
    scratch = []
    in_flight = min(turns(op), int(op.get_attr("parallel_iterations"))) if backward else 1
    for inner in operations:
        if inner.type in ("Placeholder", "Const", "Identity", "Reshape"):
            continue
        ahead = inner.type == "MatMul" and inner.get_attr("transpose_a")
        for tensor in inner.outputs:
            if tensor.ref() not in listed and shape_bytes(tensor):
                scratch += [shape_bytes(tensor)] * (in_flight if ahead else 1)
    return tuple(scratch)
