"""One large tensor after the other: in which order a part of a step holds least, and who waits for whom then.

TensorFlow runs whatever is ready, on several threads, and holds what all of it makes. What waits as said here has one
order, and its peak is that order's, in every step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from .opgraph import Op, OpGraph
from .tfrules import IN_PLACE, SHARING

# Buffers with less than this part of the largest one's bytes are left alone.
_SMALL = 64
# More tasks than these are left in the order in which they were traced: looking for another one takes too long.
_MOST = 3000
_NEW = -1
# TensorFlow adds up to so many one after the other, and more in groups.
ADDED = 9


@dataclass(frozen=True, slots=True)
class Task:
    """One operation.

    Attributes:
        reads: buffers.
        makes: buffers of its own.
        before: places of the tasks that end before it begins.
        takes: whether what it makes may take the place of something that it reads last.
        fused: whether it is run as one with others, as long as it waits for nothing but what it reads.
        bound: whether nothing can wait for it, as it is run as one with something that comes later.
    """

    reads: tuple[int, ...]
    makes: tuple[int, ...]
    before: tuple[int, ...]
    takes: bool = False
    fused: bool = False
    bound: bool = False


def tasks_of(ops: Sequence[Op], numbers: Sequence[int], maker: Mapping[int, int]) -> list[Task]:
    """Returns operations of a graph as tasks; buffers have the numbers of the tensors that were first in them.

    Args:
        ops: of the graph.
        numbers: which of them, as they were traced.
        maker: the operation that makes each tensor.
    """
    places = {number: place for place, number in enumerate(numbers)}

    def root(tensor: int) -> int:
        while tensor in maker and shares(ops[maker[tensor]]):
            tensor = ops[maker[tensor]].reads[0]
        return tensor

    tasks = []
    for number in numbers:
        op = ops[number]
        sources = (*(maker[tensor] for tensor in op.reads if tensor in maker), *op.waits)
        before = tuple(places[source] for source in sources if source in places)
        makes = () if shares(op) else op.makes
        tasks.append(Task(tuple(map(root, op.reads)), makes, before, op.type in IN_PLACE))
    return tasks


def shares(op: Op) -> bool:
    """Whether what an operation makes is in the memory of what it reads.

    Args:
        op: the operation.
    """
    return op.type in SHARING and bool(op.reads)


def _least(tasks: Sequence[Task], sizes: Sequence[int] | Mapping[int, int]) -> int:
    """From so many bytes on a buffer is large."""
    return max((sizes[buffer] for task in tasks for buffer in task.makes), default=0) // _SMALL + 1


def in_order(tasks: Sequence[Task], sizes: Sequence[int] | Mapping[int, int], passing: Collection[int]) -> list[int]:
    """Orders tasks so that they hold little.

    Args:
        tasks: as they were traced.
        sizes: bytes of each buffer.
        passing: buffers made before, which are gone when the last of the tasks has read them.

    Returns:
        Their places.
    """
    least = _least(tasks, sizes)
    choices = (_as_traced, _not_growing, _deep) if len(tasks) <= _MOST else (_as_traced,)
    runs = [_Run(tasks, sizes, passing, least, choice) for choice in choices]
    return min(runs, key=lambda run: (run.peak, run.area)).order


def waits(
    tasks: Sequence[Task], sizes: Sequence[int] | Mapping[int, int], passing: Collection[int]
) -> dict[int, list[int]]:
    """Says who has to wait for whom, so that tasks run in the order of `in_order`.

    Args:
        tasks: as they were traced.
        sizes: bytes of each buffer.
        passing: buffers made before, which are gone when the last of the tasks has read them.

    Returns:
        For each task that makes something large, the places of those that it has to wait for.
    """
    least = _least(tasks, sizes)
    found: dict[int, list[int]] = {}
    front: list[int] = []
    for place in in_order(tasks, sizes, passing):
        task = tasks[place]
        if any(sizes[buffer] >= least for buffer in task.makes):
            found[place] = [] if task.fused else front
            front = [*front, place] if task.fused else [place]
        elif not task.bound and any(sizes[buffer] >= least for buffer in task.reads):
            front = [*front, place]
    return found


def with_sums(graph: OpGraph) -> OpGraph:
    """Returns a graph whose gradients are added two at a time, each as soon as it is there.

    Args:
        graph: as traced.
    """
    maker = {tensor: number for number, op in enumerate(graph.ops) for tensor in op.makes}
    sizes = list(graph.sizes)
    # Each operation with the number of the one after which it stands, and the one that it had.
    rows: list[tuple[int, int, Op]] = []
    for number, op in enumerate(graph.ops):
        if op.type == "AddN" and op.backward and 2 < len(op.reads) <= ADDED:
            total, *others, last = op.reads
            place = maker.get(total, -1)
            for tensor in others:
                place = max(place, maker.get(tensor, -1))
                rows.append((place, _NEW, replace(op, reads=(total, tensor), makes=(len(sizes),), waits=())))
                total = len(sizes)
                sizes.append(sizes[op.makes[0]])
            rows.append((number, number, replace(op, reads=(total, last))))
        else:
            rows.append((number, number, op))
    rows.sort(key=lambda row: (row[0], row[1] == _NEW))
    numbers = {old: new for new, (_, old, _) in enumerate(rows)}
    ops = tuple(replace(op, waits=tuple(numbers[number] for number in op.waits)) for _, _, op in rows)
    gates = tuple(tuple(numbers[number] for number in gate) for gate in graph.gates)
    return replace(graph, ops=ops, sizes=tuple(sizes), gates=gates)


class _Run:
    """Runs tasks one after the other.

    Attributes:
        order: their places.
        peak: most bytes that are held, beside what is there all the time.
        area: bytes that are held after each task, added up.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        sizes: Sequence[int] | Mapping[int, int],
        passing: Collection[int],
        least: int,
        choice: Callable[[_Run, list[int]], int],
    ) -> None:
        self.tasks = tasks
        self.sizes = sizes
        self.least = least
        self.order: list[int] = []
        self.readers: dict[int, int] = {}
        self.ends = set(passing)
        for task in tasks:
            self.ends.update(task.makes)
            for buffer in dict.fromkeys(task.reads):
                self.readers[buffer] = self.readers.get(buffer, 0) + 1
        self.held = self.peak = sum(sizes[buffer] for buffer in passing if buffer in self.readers)
        self.area = 0
        self._all(choice)

    def _all(self, choice: Callable[[_Run, list[int]], int]) -> None:
        waiting = [len(set(task.before)) for task in self.tasks]
        following: list[list[int]] = [[] for _ in self.tasks]
        for place, task in enumerate(self.tasks):
            for other in set(task.before):
                following[other].append(place)
        ready = [place for place, count in enumerate(waiting) if not count]
        while ready:
            place = choice(self, ready)
            ready.remove(place)
            self._one(place)
            for other in following[place]:
                waiting[other] -= 1
                if not waiting[other]:
                    ready.append(other)

    def freed(self, place: int) -> int:
        """What is gone when a task that runs next has ended."""
        reads = dict.fromkeys(self.tasks[place].reads)
        return sum(self.sizes[buffer] for buffer in reads if self.readers[buffer] == 1 and buffer in self.ends)

    def growth(self, place: int) -> int:
        """How much more there is when a task that runs next has ended."""
        return sum(self.sizes[buffer] for buffer in self.tasks[place].makes) - self.freed(place)

    def _one(self, place: int) -> None:
        task = self.tasks[place]
        made, freed = sum(self.sizes[buffer] for buffer in task.makes), self.freed(place)
        self.peak = max(self.peak, self.held + (max(0, made - freed) if task.takes else made))
        self.held += made - freed
        self.area += self.held
        for buffer in dict.fromkeys(task.reads):
            self.readers[buffer] -= 1
        self.held -= sum(self.sizes[buffer] for buffer in task.makes if not self.readers.get(buffer))
        self.order.append(place)


def _as_traced(_: _Run, ready: list[int]) -> int:
    return min(ready)


def _not_growing(run: _Run, ready: list[int]) -> int:
    """The first one that adds nothing large; else the first one."""
    return min(ready, key=lambda place: (run.growth(place) >= run.least, place))


def _deep(run: _Run, ready: list[int]) -> int:
    """The same, but of several the one that became ready last: what was begun is ended first."""
    for place in reversed(ready):
        if run.growth(place) < run.least:
            return place
    return ready[-1]
