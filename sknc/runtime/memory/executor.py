"""TensorFlow's executor, imitated: which operations run when, and what that holds.

Ready operations run in any order on several threads: one step's peak differs from the next one's. The
imitation follows the executor's own rules (a thread goes on with the last operation that its last one made
ready and hands the others to a pool; idle threads steal the oldest) with drawn durations; the spread over a
few draws is what the reserve for operation order is made from.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from .bfc import Pool
from .opgraph import NOT_AN_UPDATE, Op, OpGraph
from .tfrules import IN_PLACE, INEXPENSIVE, SHARING, Allocator

# A CPU core's order of magnitude: only the ratio of the two matters for the order.
FLOPS = 4e10
BANDWIDTH = 6e9
# What fits a core's cache goes faster.
CACHE, CACHED = 2 << 20, 1.5e10
OVERHEAD = 2e-6
# TensorFlow takes an operation for cheap once it has taken less than this a few dozen times.
CHEAP = 4e-6


@dataclass(frozen=True, slots=True)
class Load:
    """What else the machine does while a step runs.

    Attributes:
        spread: how much longer operations take on average, in parts of their time.
        every: seconds of work after which a thread loses its core, on average; 0 for never.
        away: seconds for which it is gone then, on average.
    """

    spread: float = 0.0
    every: float = 0.0
    away: float = 0.0


CALM = Load()
# Operations last longer, each by its own part; or threads lose their cores now and then.
BUSY = Load(spread=3.0)
CROWDED = Load(spread=1.0, every=0.004, away=0.02)


@dataclass(frozen=True, slots=True)
class Run:
    """One imitated step.

    Attributes:
        peak: most bytes that the allocator shows during the step.
        op: the operation that started when the peak was reached.
    """

    peak: int
    op: int


def duration(op: Op, sizes: Sequence[int]) -> float:
    """A rough time for an operation: the slower of computing and touching its tensors.

    Args:
        op: the operation.
        sizes: bytes of tensors.

    Returns:
        Seconds.
    """
    if op.type in SHARING:
        return OVERHEAD
    touched = sum(sizes[tensor] for tensor in (*op.reads, *op.makes))
    return max(op.flops / FLOPS, touched / (CACHED if touched <= CACHE else BANDWIDTH)) + OVERHEAD


class Executor:
    """Runs an operation graph, step after step, on one allocator.

    Args:
        graph: the train step.
        allocator: the allocator's constants.
        threads: threads that run operations.
    """

    def __init__(self, graph: OpGraph, allocator: Allocator, threads: int = 2) -> None:
        self.graph = graph
        self.threads = threads
        self.sizes = graph.sizes
        self.pool = Pool(allocator)
        slots = frozenset(graph.slots)
        self.held = {tensor: self.initial(tensor) for tensor in sorted(graph.held - slots)}
        self.zeros = self.shared_zeros()
        self.owned: set[int] = set()
        made = {tensor for op in graph.ops for tensor in op.makes}
        self.readers: dict[int, list[int]] = {}
        self.following: list[list[int]] = [[] for _ in graph.ops]
        self.inputs: list[int] = []
        maker = {tensor: number for number, op in enumerate(graph.ops) for tensor in op.makes}
        for number, op in enumerate(graph.ops):
            for tensor in dict.fromkeys(op.reads):
                self.readers.setdefault(tensor, []).append(number)
            before = {maker[tensor] for tensor in op.reads if tensor in made} | set(op.waits)
            for other in before:
                self.following[other].append(number)
            self.inputs.append(len(before))
        self.seconds = [duration(op, self.sizes) for op in graph.ops]
        self.cheap = [
            op.type in INEXPENSIVE or (op.again and seconds <= CHEAP)
            for op, seconds in zip(graph.ops, self.seconds, strict=True)
        ]

    def initial(self, tensor: int) -> int:
        """Allocate what is held through all steps; drawing a kernel's first values leaves two holes behind it."""
        size = self.graph.sizes[tensor]
        if tensor not in self.graph.drawn:
            return self.pool.allocate(size)
        drafts = [self.pool.allocate(size) for _ in range(2)]
        final = self.pool.allocate(size)
        for draft in drafts:
            self.pool.free(draft)
        return final

    def shared_zeros(self) -> dict[int, list[int]]:
        """Give slots of one size one buffer of zeros, as TensorFlow does; who assigns one first gets its own.

        Returns:
            For each size, how many slots still share the buffer.
        """
        shared: dict[int, list[int]] = {}
        for slot in self.graph.slots:
            size = self.sizes[slot]
            if size not in shared:
                shared[size] = [0]
                self.held[slot] = self.pool.allocate(size)
            shared[size][0] += 1
        return shared

    def run(self, seed: int = 0, load: Load = CALM) -> Run:
        """Imitate one step.

        Args:
            seed: of the draws.
            load: what else the machine does.

        Returns:
            The peak and where it is.
        """
        return _Step(self, random.Random(seed), load).run()


class _Step:
    """The state of one imitated step."""

    def __init__(self, executor: Executor, rng: random.Random, load: Load) -> None:
        self.ex = executor
        self.ops = executor.graph.ops
        self.rng = rng
        self.load = load
        self.waiting = list(executor.inputs)
        self.buffer: dict[int, int] = {}
        self.pool = executor.pool
        self.pool.peak = self.pool.in_use
        self.size: list[int] = []
        self.users: list[int] = []
        self.handle: list[int] = []
        self.peak_op = self.now_op = 0
        self.slots = frozenset(executor.graph.slots)
        self.left = {tensor: len(executor.readers.get(tensor, ())) for tensor in executor.graph.held}
        self.outdated: dict[int, int] = {}
        self.queues: list[deque[int]] = [deque() for _ in range(executor.threads)]
        self.inline: list[deque[int]] = [deque() for _ in range(executor.threads)]
        self.events: list[tuple[float, int, int, int, list[int]]] = []
        self.started = 0
        self.clock = 0.0

    def run(self) -> Run:
        idle = set(range(self.ex.threads))
        self.queues[0].extend(number for number, count in enumerate(self.waiting) if count == 0)
        self.dispatch(idle)
        while self.events:
            self.clock, _, number, thread, loose = heapq.heappop(self.events)
            self.end(number, loose)
            self.hand_on(number, thread)
            idle.add(thread)
            self.dispatch(idle)
        return Run(self.pool.peak, self.peak_op)

    def dispatch(self, idle: set[int]) -> None:
        for thread in sorted(idle):
            number = self.take(thread)
            if number is not None:
                idle.discard(thread)
                self.start(number, thread)

    def take(self, thread: int) -> int | None:
        """What a thread runs next: what it was about to, else its newest, else another one's oldest."""
        if self.inline[thread]:
            return self.inline[thread].popleft()
        if self.queues[thread]:
            return self.queues[thread].popleft()
        full = [queue for queue in self.queues if queue]
        return self.rng.choice(full).pop() if full else None

    def start(self, number: int, thread: int) -> None:
        op = self.ops[number]
        self.now_op = number
        loose = []
        for place, tensor in enumerate(op.makes):
            buffer = self.output(number, place, tensor)
            users = len(self.ex.readers.get(tensor, ()))
            if buffer >= 0:
                self.buffer[tensor] = buffer
                self.users[buffer] += users
                if users == 0:
                    self.users[buffer] += 1
                    loose.append(buffer)
        for size in op.scratch:
            buffer = self.allocate(size)
            self.users[buffer] += 1
            loose.append(buffer)
        if op.updates in self.slots:
            self.own_slot(op.updates)
        elif op.updates != NOT_AN_UPDATE and self.left.get(op.updates, 0) > 0 and op.updates not in self.outdated:
            # Somebody still reads the variable: the update writes to a copy, and the old value goes with its
            # last reader.
            self.outdated[op.updates] = self.ex.held[op.updates]
            self.ex.held[op.updates] = self.take_chunk(self.ex.sizes[op.updates])
        self.started += 1
        heapq.heappush(self.events, (self.clock + self.lasting(number), self.started, number, thread, loose))

    def own_slot(self, slot: int) -> None:
        """Give a slot that still shares its zeros a buffer of its own; the last one keeps the zeros'."""
        sharing = self.ex.zeros[self.ex.sizes[slot]]
        if slot in self.ex.owned:
            return
        self.ex.owned.add(slot)
        sharing[0] -= 1
        if sharing[0]:
            self.take_chunk(self.ex.sizes[slot])

    def lasting(self, number: int) -> float:
        work = self.ex.seconds[number]
        load, draw = self.load, self.rng.expovariate
        seconds = work * (1 + draw(1 / load.spread)) if load.spread else work
        if load.every:
            done = draw(1 / load.every)
            while done < work:
                seconds += draw(1 / load.away)
                done += draw(1 / load.every)
        return seconds

    def output(self, number: int, place: int, tensor: int) -> int:
        """The buffer of an output: the input's, or a new one; -1 for nothing, or for a held tensor."""
        op = self.ops[number]
        size = self.ex.sizes[tensor]
        if op.type in SHARING and op.reads:
            return self.buffer.get(op.reads[min(place, len(op.reads) - 1)], -1)
        if not size:
            return -1
        if op.type in IN_PLACE:
            for source in op.reads:
                buffer = self.buffer.get(source, -1)
                if buffer >= 0 and self.size[buffer] == size and self.users[buffer] == 1:
                    return buffer
        count = self.ex.graph.pieces.get(tensor, 1)
        # A list of tensors that are too small to be counted is not counted.
        return self.allocate(size if size // count >= self.pool.allocator.counted_from else 0)

    def allocate(self, size: int) -> int:
        self.size.append(size)
        self.users.append(0)
        self.handle.append(self.take_chunk(size))
        return len(self.size) - 1

    def take_chunk(self, size: int) -> int:
        before = self.pool.peak
        handle = self.pool.allocate(size)
        if self.pool.peak > before:
            self.peak_op = self.now_op
        return handle

    def end(self, number: int, loose: list[int]) -> None:
        op = self.ops[number]
        for tensor in dict.fromkeys(op.reads):
            if tensor in self.left:
                self.left[tensor] -= 1
                if self.left[tensor] == 0 and tensor in self.outdated:
                    self.pool.free(self.outdated.pop(tensor))
            elif tensor in self.buffer:
                self.release(self.buffer[tensor])
        for buffer in loose:
            self.release(buffer)

    def release(self, buffer: int) -> None:
        self.users[buffer] -= 1
        if self.users[buffer] == 0:
            self.pool.free(self.handle[buffer])
            self.size[buffer] = 0

    def hand_on(self, number: int, thread: int) -> None:
        """What has become ready: cheap operations run next on this thread, of the others the last one.

        TensorFlow takes every operation for an expensive one, until it has run some ninety times, but for those whose
        kernels say that they are not.
        """
        heavy = []
        for other in self.ex.following[number]:
            self.waiting[other] -= 1
            if self.waiting[other]:
                continue
            if self.ex.cheap[other]:
                self.inline[thread].append(other)
            else:
                heavy.append(other)
        if heavy and not self.inline[thread]:
            self.inline[thread].append(heavy.pop())
        for other in heavy:
            self.queues[thread].appendleft(other)
