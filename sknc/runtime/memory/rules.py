"""What an optimiser does to a variable, found by applying it to a small one.

Some stand inside of a branch: with loss scaling a step whose gradients are not finite changes nothing, and with
accumulation most steps only add. Branches, and functions that are called, are opened here: what both of them do counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from .errors import PlanError
from .opgraph import GRADIENT, NOT_A_SLOT, UpdateOp, UpdateRule
from .tfrules import SHARING
from .tracing import brief

_RULE_SHAPE = (3, 5)
# Elements of the smallest product of such a variable with itself.
_LARGE = 9
# The functions that an operation runs, by the names of its attributes, and how many inputs come before theirs.
_OPENED = {
    "If": (("then_branch", "else_branch"), 1),
    "StatelessIf": (("then_branch", "else_branch"), 1),
    "PartitionedCall": (("f",), 0),
    "StatefulPartitionedCall": (("f",), 0),
}


@dataclass(frozen=True, eq=False, slots=True)
class _Found:
    """An operation of a rule.

    Attributes:
        op: as it was traced.
        inputs: what it reads; where that is handed to a branch, what is handed there.
        decided: the operation that decides whether it runs, None for one that always does.
        inside: whether it is part of another operation.
    """

    op: Any
    inputs: tuple[Any, ...]
    decided: Any = None
    inside: bool = False


def update_rule(optimizer: Any) -> UpdateRule:
    """What an optimiser does to one variable.

    Args:
        optimizer: a Keras optimiser or its name; 'momentum' is SGD with momentum.

    Returns:
        Its rule.

    Raises:
        PlanError: when there is no such optimiser, or it cannot be made anew or applied.
    """
    fresh = fresh_optimizer(optimizer)
    name = optimizer if isinstance(optimizer, str) else type(fresh).__name__.lower()
    try:
        traced = _applied(fresh, 1)
        together = _looks_at_all(optimizer)
    except PlanError:
        raise
    except Exception as error:  # the user's own optimiser
        raise PlanError(
            f"the optimizer '{name}' cannot be applied to one variable: {type(error).__name__}: {brief(error)}"
        ) from error
    graph, (mine,), slots = traced
    found = _opened(graph)
    ops = _rule_ops(found, graph.inputs[0], mine, slots)
    ordered = not any(one.inside for one in found if _assigns(one) and one.inputs[0] is mine)
    return UpdateRule(name, ops, len(slots), together, ordered)


def _applied(fresh: Any, count: int) -> tuple[Any, list[Any], list[Any]]:
    """The graph of an optimiser's step, and what stands there for the variables and for what is kept for each."""
    variables = [keras.Variable(tf.zeros(_RULE_SHAPE)) for _ in range(count)]
    fresh.build(variables)
    kept = [slot for slot in fresh.variables if tuple(slot.shape) == _RULE_SHAPE]
    traced = tf.function(lambda *gradients: fresh.apply(list(gradients), variables), autograph=False)
    graph = traced.get_concrete_function(*[tf.TensorSpec(_RULE_SHAPE)] * count).graph
    handles = {captured.ref(): inner for captured, inner in graph.captures}

    def inside(those: list[Any]) -> list[Any]:
        return [handles.get(one.value.handle.ref()) for one in those]

    return graph, inside(variables), inside(kept)


def _opened(graph: Any) -> list[_Found]:
    """The operations of a graph, with those of branches and functions instead of what runs them."""
    stands: dict[Any, Any] = {}
    found: list[_Found] = []

    def meant(tensor: Any) -> Any:
        while tensor.ref() in stands:
            tensor = stands[tensor.ref()]
        return tensor

    def walk(part: Any, decided: Any, inside: bool) -> None:
        for op in part.get_operations():
            inputs = tuple(map(meant, op.inputs))
            names, skipped = _OPENED.get(op.type, ((), 0))
            for name in names:
                inner = op.graph._get_function(op.get_attr(name).name).graph
                stands.update({own.ref(): given for own, given in zip(inner.inputs, inputs[skipped:], strict=True)})
                walk(inner, inputs[0].op if skipped else decided, inside=True)
                # Of two branches the last one's: what they give is as large.
                stands.update({own.ref(): given for own, given in zip(op.outputs, inner.outputs, strict=True)})
            if op.type == "IdentityN":
                # Keras hands all gradients through one operation, for those who train on several devices.
                stands.update({own.ref(): given for own, given in zip(op.outputs, inputs, strict=True)})
            elif not names:
                found.append(_Found(op, inputs, decided, inside))

    walk(graph, None, inside=False)
    return found


def _needed(found: list[_Found], wanted: list[_Found]) -> set[Any]:
    """The operations that some of them depend on."""
    by_op = {one.op: one for one in found}
    needed: set[Any] = set()
    stack = [one.op for one in wanted]
    while stack:
        op = stack.pop()
        if op in needed:
            continue
        needed.add(op)
        one = by_op.get(op)
        if one is not None:
            stack += [tensor.op for tensor in one.inputs]
            stack += op.control_inputs
            stack += [one.decided] if one.decided is not None else []
    return needed


def _looks_at_all(optimizer: Any) -> bool:
    """Whether one variable's update depends on another one's gradient, as with `global_clipnorm`."""
    graph, (handle, _), _ = _applied(fresh_optimizer(optimizer), 2)
    found = _opened(graph)
    by_op = {one.op: one for one in found}
    writers: dict[Any, list[Any]] = {}
    for one in found:
        if one.op.type != "ReadVariableOp":
            for tensor in one.inputs:
                writers.setdefault(tensor.ref(), []).append(one.op)
    stack, seen = list(writers.get(handle.ref(), ())), set()
    while stack:
        op = stack.pop()
        if op in seen:
            continue
        seen.add(op)
        if op in by_op:
            read = by_op[op].inputs
            stack += [tensor.op for tensor in read]
            stack += [by_op[op].decided] if by_op[op].decided is not None else []
            # What is read of a slot was written into it by this very step.
            stack += [other for one in read if one.dtype.name == "resource" for other in writers.get(one.ref(), ())]
    return graph.inputs[1].op in seen


def fresh_optimizer(optimizer: Any) -> Any:
    """Makes an optimiser like another one.

    Args:
        optimizer: a Keras optimiser or its name; 'momentum' is SGD with momentum.

    Raises:
        PlanError: when there is no such optimiser, or it does not say how to make another one.
    """
    try:
        if optimizer == "momentum":
            return keras.optimizers.SGD(momentum=0.9)
        found = keras.optimizers.get(optimizer)
    except ValueError as error:
        raise PlanError(f"no optimizer '{optimizer}'") from error
    try:
        return type(found).from_config(found.get_config())
    except Exception as error:  # the user's own optimiser
        told = f"{type(error).__name__}: {brief(error)}"
        raise PlanError(
            f"the optimizer '{type(found).__name__}' cannot be made anew to see what it holds: {told}; its get_config "
            "has to return what its constructor takes"
        ) from error


def _assigns(one: _Found) -> bool:
    return bool(one.op.type.startswith("Assign"))


def _rule_ops(found: list[_Found], gradient: Any, handle: Any, slots: list[Any]) -> tuple[UpdateOp, ...]:
    # What leads to no assignment is pruned before the step runs.
    needed = _needed(found, [one for one in found if _assigns(one)])
    numbers: dict[Any, int] = {gradient.op: GRADIENT}
    result: list[UpdateOp] = []
    for one in found:
        op = one.op
        if op.type in ("Placeholder", "Const", "NoOp") or op in numbers or op not in needed:
            continue
        sources = [tensor.op for tensor in one.inputs if tensor.op in numbers]
        if op.type in SHARING and sources:
            numbers[op] = numbers[sources[0]]
            continue
        assigns = _assigns(one)
        mine = bool(one.inputs) and handle is not None and one.inputs[0] is handle
        before = [*op.control_inputs, *([one.decided] if one.decided is not None else [])]
        result.append(
            UpdateOp(
                op.type,
                tuple(dict.fromkeys(numbers[source] for source in sources)),
                tuple(sorted(numbers[other] for other in before if numbers.get(other, GRADIENT) != GRADIENT)),
                # A variable is read where it lies. Products with itself, or turned over (Muon), are as large.
                op.type != "ReadVariableOp" and any((t.shape.num_elements() or 0) >= _LARGE for t in op.outputs),
                ("variable" if mine else "slot") if assigns else "",
                mine and not assigns,
                next((place for place, slot in enumerate(slots) if assigns and one.inputs[0] is slot), NOT_A_SLOT),
            )
        )
        numbers[op] = len(result) - 1
    return tuple(result)
