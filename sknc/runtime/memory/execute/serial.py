"""Lets the backward pass of a segment make one large tensor after the other.

What is read here is the graph as it is being traced; `..serial` says who has to wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...frameworks import tensorflow
from ..serial import ADDED, Task, waits
from ..tfgraph import in_sum
from ..tfrules import IN_PLACE, SHARING
from .dependence import BIAS, ends_before, merged, origin
from .internals import replace_operation, wait_for

_UNKNOWN = -1


def one_by_one(start: int, backward: int, batch: int | None) -> dict[str, Any]:
    """Orders the last operations of the graph that is being traced, and adds up gradients as they come.

    Args:
        start: the number of operations that were there before the segment's second run.
        backward: the number of those that were there before its backward pass, which is what is ordered.
        batch: samples in a batch, where shapes do not say it.

    Returns:
        What stands for a tensor now, by the tensor's name.
    """
    graph = tensorflow().compat.v1.get_default_graph()
    operations = graph.get_operations()[start:]
    ordered, sums = _sums(operations[backward - start :])
    _Segment(operations[: backward - start], ordered, batch or 1).order()
    return sums


def _sums(operations: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Adds two at a time: TensorFlow holds all that one operation adds up, and for large ones keeps zeros besides.

    It sorts what it adds by name, and adds up to nine one after the other: so does this, and no bit is another one.

    Args:
        operations: as they were traced.

    Returns:
        The operations, each addition where it can first run; and what stands for a sum, by the sum's name.
    """
    raw = tensorflow().raw_ops
    places = {op: place for place, op in enumerate(operations)}
    new: dict[int, list[Any]] = {}
    sums: dict[str, Any] = {}
    for op in operations:
        if op.type != "AddN" or not 2 < len(op.inputs) <= ADDED:
            continue
        total, *others = in_sum(op)
        place = places.get(total.op, -1)
        for number, tensor in enumerate(others):
            place = max(place, places.get(tensor.op, -1))
            if number and total.shape.rank is not None:
                # Or TensorFlow makes one addition of both again.
                total = raw.EnsureShape(input=total, shape=total.shape)
                new[place] = [*new.get(place, ()), total.op]
            total = raw.AddN(inputs=[total, tensor])
            new[place] = [*new.get(place, ()), total.op]
        sums[op.outputs[0].name] = total
        places[total.op] = places[op]
        replace_operation(op, total.op)
    ordered = list(new.get(-1, ()))
    for place, op in enumerate(operations):
        if not op.outputs or op.outputs[0].name not in sums:
            ordered.append(op)
        ordered += new.get(place, ())
    return ordered, sums


class _Segment:
    """What one segment runs again, and its backward pass.

    Args:
        own: the operations of the second run.
        operations: of the backward pass.
        batch: samples in a batch.
    """

    def __init__(self, own: Sequence[Any], operations: Sequence[Any], batch: int) -> None:
        self.own = own
        self.operations = operations
        self.batch = batch
        self.numbers: dict[str, int] = {}
        self.sizes: dict[int, int] = {}

    def order(self) -> None:
        """Adds what has to be waited for."""
        places = {op: place for place, op in enumerate(self.operations)}
        before = ends_before(self.operations)
        tasks = [self._task(op, before[op], places) for op in self.operations]
        self._guess(tasks)
        passing = [self._number(tensor) for op in self.own if not _shares(op) for tensor in op.outputs]
        for place, others in waits(tasks, self.sizes, passing).items():
            if others:
                wait_for(self.operations[place], [self.operations[other] for other in others])

    def _task(self, op: Any, sources: list[Any], places: dict[Any, int]) -> Task:
        bound = merged(op)
        # What is run as one with a kernel's gradient comes when that does.
        late = bool(bound) and op.type == BIAS
        before = tuple(places[source] for source in sources + bound * late if source in places)
        reads = tuple(self._number(tensor) for tensor in op.inputs)
        makes = () if _shares(op) else tuple(self._number(tensor) for tensor in op.outputs)
        return Task(reads, makes, before, op.type in IN_PLACE, bool(bound), late)

    def _number(self, tensor: Any) -> int:
        """The number of the buffer that a tensor is in."""
        tensor = origin(tensor)
        if tensor.name not in self.numbers:
            self.numbers[tensor.name] = len(self.numbers)
            self.sizes[self.numbers[tensor.name]] = self._bytes(tensor)
        return self.numbers[tensor.name]

    def _bytes(self, tensor: Any) -> int:
        """Negative where the shape does not say it."""
        if tensor.dtype.name in ("resource", "variant", "string"):
            return 0
        if tensor.shape.rank is None:
            return _UNKNOWN
        return int(prod(self.batch if size is None else size for size in tensor.shape.as_list()) * tensor.dtype.size)

    def _guess(self, tasks: Sequence[Task]) -> None:
        """Takes what says no shape for as large as what is made of it."""
        unknown = {buffer for buffer, size in self.sizes.items() if size == _UNKNOWN}
        self.sizes.update(dict.fromkeys(unknown, 0))
        for task in reversed(tasks if unknown else ()):
            size = max((self.sizes[buffer] for buffer in task.makes), default=0)
            for buffer in unknown.intersection(task.reads):
                self.sizes[buffer] = max(self.sizes[buffer], size)


def _shares(op: Any) -> bool:
    return op.type in SHARING and len(op.inputs) > 0
