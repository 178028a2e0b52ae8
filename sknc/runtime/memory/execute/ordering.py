"""Orders a train step: weights are updated before the backward pass goes on to earlier segments.

Left alone, TensorFlow runs what is ready in any order, and the gradients of many layers are held at once. Here
a segment's backward pass waits for all updates that it has no part in. Only waiting is added: what is computed
from what stays as it was traced.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Any

from ...frameworks import tensorflow
from ..tfgraph import GATES
from .dependence import UpdateGroups, ends_before, gates_behind, is_update, leading, variable_of
from .internals import bypass, wait_for


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


def order_updates(graph: Any, handles: Collection[str] = (), optimizer: str = "") -> int:
    """Lets gates wait for the updates that do not depend on them, and updates for each other.

    An update that depends on a gate (of a weight shared with an earlier segment; of any weight where the
    optimiser looks at all gradients together) does not hold it up.

    No circle can arise. Whoever waits for something is behind at least as many gates (the place of the last one
    counts), and a gate is behind more of them than what it waits for. Where it is as many, only operations of the
    optimiser wait: for updates that are earlier in a chain, and for what comes after no operation of the optimiser.

    Args:
        graph: the traced train step.
        handles: names of what stands for the trained variables in the graph.
        optimizer: its name.

    Returns:
        How many updates are waited for by gates.
    """
    # A loop's body is a graph of its own, and has the same collection.
    groups = [group for group in graph.get_collection(GATES) if all(tensor.graph is graph for tensor in group)]
    gates = [[tensor.op for tensor in group] for group in groups]
    operations = graph.get_operations() if gates else []
    if not gates or any(op.type == "NextIteration" for op in operations):
        # A loop of TensorFlow 1 has edges that lead back: traced order says nothing.
        return 0
    places = {op: place for place, op in enumerate(operations)}
    for op in operations:
        # Keras hands all gradients through one operation, for those who train on several devices.
        if op.type == "IdentityN" and places[op] > places[gates[-1][0]]:
            bypass(op)
    before = ends_before(operations)
    behind = gates_behind(operations, before, gates)
    updates = UpdateGroups(operations, before, handles, optimizer)
    updates.decay_late(gates, behind)
    waited: dict[int, list[Any]] = {}
    for op in operations:
        # The gate after the last one that leads to it.
        number = behind[op].bit_length()
        if is_update(op) and number < len(gates) and places[op] > places[gates[number][0]]:
            waited.setdefault(number, []).append(op)
    _chain(updates, behind, places[gates[-1][-1]])
    _read_first(updates, behind)
    for number, found in waited.items():
        for op in gates[number]:
            wait_for(op, found)
    return sum(map(len, waited.values()))


def _chain(updates: UpdateGroups, behind: dict[Any, int], last: int) -> None:
    """Lets one variable be updated after the other, so that what an update needs meanwhile is there once.

    Only operations of the optimiser that lead to the updates of one variable and of no other wait for another one's;
    and those of them that need no gradient (a momentum that is multiplied) for the gradient, or they would be computed,
    and held, from the beginning of the step.

    Args:
        updates: of the step.
        behind: the gates that lead to each operation.
        last: the place of the last gate.
    """
    groups = updates.groups(last)
    leads = leading(updates.operations, updates.before, list(groups.values()))
    chained = [
        (behind[group[0]].bit_length(), -number, number, group)
        for number, group in enumerate(groups.values())
        if len({behind[op].bit_length() for op in group}) == 1
    ]
    gradients = {1 << number: updates.gradients.get(handle, []) for number, handle in enumerate(groups)}
    starts: dict[int, list[Any]] = {}
    for op in updates.operations[last + 1 :]:
        own = leads.get(op, 0)
        idle = bool(gradients.get(own)) and updates.idle(op)
        if idle:
            wait_for(op, gradients[own])
        if idle or (updates.inside(op) and updates.takes_gradient(op)):
            starts.setdefault(own, []).append(op)
    for (*_, first), (_, _, second, _) in pairwise(sorted(chained, key=lambda one: one[:2])):
        for op in starts.get(1 << second, ()):
            wait_for(op, first)


def _read_first(updates: UpdateGroups, behind: dict[Any, int]) -> None:
    """Lets a variable's first update wait until the backward pass has read the variable: TensorFlow would copy it.

    Args:
        updates: of the step.
        behind: the gates that lead to each operation.
    """
    numbers = {handle: number for number, handle in enumerate(updates.trained)}
    for op in updates.operations:
        leads = updates.leads.get(op, 0)
        # What leads to no update may be run by nobody. Who leads to the variable's own is waited for anyway, and what
        # is waited for by name is never fused with others.
        if op in updates.after or not leads:
            continue
        for handle in {variable_of(tensor) for tensor in op.inputs} & numbers.keys():
            first = updates.trained[handle][0]
            if not leads >> numbers[handle] & 1 and behind[op].bit_length() <= behind[first].bit_length():
                wait_for(first, [op])


class _Ordered:
    """Marks a `train_step` of ours, and knows which one stood on the model before."""

    def __init__(self, before: Any) -> None:
        self.before = before


def order_step(model: Any) -> None:
    """Makes a model's `train_step` order its updates.

    Args:
        model: a keras.Model; one may have been put on the object itself.
    """
    run = in_order(model, model.train_step)
    run.ordered = _Ordered(vars(model).get("train_step"))  # type: ignore[attr-defined]  # functions may have any
    model.train_step = run


def in_order(model: Any, step: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that does what a step does; the graph in which it is traced has its updates ordered.

    Args:
        model: a keras.Model.
        step: trains it on a batch.
    """
    tf = tensorflow()

    @functools.wraps(step)
    def run(*args: Any, **kwargs: Any) -> Any:
        results = step(*args, **kwargs)
        if not tf.executing_eagerly():
            # Who traces the step with `tf.function` has Python rewritten, and what is rewritten runs ten times as long.
            tf.autograph.experimental.do_not_convert(_order)(model, tf.compat.v1.get_default_graph())
        return results

    return run


def _order(model: Any, graph: Any) -> None:
    trained = {id(variable.value.handle) for variable in model.trainable_variables}
    handles = {inner.name for outer, inner in getattr(graph, "captures", ()) if id(outer) in trained}
    optimizer = getattr(model, "optimizer", None)
    order_updates(graph, handles, optimizer.name if optimizer is not None else "")


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
