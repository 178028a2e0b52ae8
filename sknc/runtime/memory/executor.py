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
from math import log
from typing import NamedTuple, NoReturn

from .bfc import Pool, PoolFull
from .errors import StuckStep
from .opgraph import NOT_AN_UPDATE, Op, OpGraph
from .tfrules import IN_PLACE, INEXPENSIVE, SHARING, Allocator

# A CPU core's order of magnitude: only the ratio of the two matters for the order.
FLOPS = 4e10
BANDWIDTH = 6e9
# What fits a core's cache goes faster.
CACHE, CACHED = 2 << 20, 1.5e10
# What starting an operation takes, of the same order: without it small ones would take no time at all.
OVERHEAD = 2e-6
NOTHING = -1
# TensorFlow takes a kernel for cheap below 8,000 cycles (executor.cc, kOpIsExpensiveThresholdCycles), which are some 4
# microseconds. Its estimate begins with 1e8 cycles and moves by a tenth of the difference with each run: no kernel is
# cheap before its ninetieth. Predicted is a step soon after the start of a training, so that here only what runs many
# times a step (`Op.again`: the turns of a loop) ever is.
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
# Operations last longer, each by its own part; or threads lose their cores now and then. These are of no one machine:
# what the draws make of them is set beside measured peaks by bench/memory_accuracy.py.
BUSY = Load(spread=3.0)
CROWDED = Load(spread=1.0, every=0.004, away=0.02)


@dataclass(frozen=True, slots=True)
class Run:
    """One imitated step.

    Attributes:
        peak: most bytes that the allocator shows during the step.
    """

    peak: int


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
    return op.slower * max(op.flops / FLOPS, touched / (CACHED if touched <= CACHE else BANDWIDTH)) + OVERHEAD


class _Output(NamedTuple):
    """An output of an operation.

    Attributes:
        tensor: its number.
        size: bytes.
        counted: bytes as far as the allocator's statistics show them.
        readers: how many operations read it.
        shared: the tensor whose buffer it always has; NOTHING for none.
        sources: tensors whose buffer it may take when nobody else needs it.
    """

    tensor: int
    size: int
    counted: int
    readers: int
    shared: int
    sources: tuple[int, ...]


class Executor:
    """Runs an operation graph, step after step, on one allocator.

    Args:
        graph: the train step.
        allocator: the allocator's constants.
        threads: threads that run operations.
        limit: bytes that the allocator may have, as long as that is enough: more where all threads would wait for
            memory. None when left out.
    """

    def __init__(self, graph: OpGraph, allocator: Allocator, threads: int = 2, limit: int | None = None) -> None:
        self.graph = graph
        self.threads = threads
        self.sizes = graph.sizes
        self.pool = Pool(allocator, limit)
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
        self.outputs = [self._outputs_of(op, allocator) for op in graph.ops]
        # Told apart once: reading is the most frequent event of all.
        self.reads_passing = [tuple(t for t in dict.fromkeys(op.reads) if t not in graph.held) for op in graph.ops]
        self.reads_held = [tuple(t for t in dict.fromkeys(op.reads) if t in graph.held) for op in graph.ops]
        self.seconds = [duration(op, self.sizes) for op in graph.ops]
        self.cheap = [
            op.type in INEXPENSIVE or (op.again and seconds <= CHEAP)
            for op, seconds in zip(graph.ops, self.seconds, strict=True)
        ]

    def _outputs_of(self, op: Op, allocator: Allocator) -> tuple[_Output, ...]:
        """What is known of an operation's outputs before anything runs."""
        found = []
        for place, tensor in enumerate(op.makes):
            size = self.sizes[tensor]
            shared = op.reads[min(place, len(op.reads) - 1)] if op.type in SHARING and op.reads else NOTHING
            # A list of tensors that are too small to be counted is not counted.
            counted = size // self.graph.pieces.get(tensor, 1) >= allocator.counted_from
            sources = op.reads if op.type in IN_PLACE else ()
            readers = len(self.readers.get(tensor, ()))
            found.append(_Output(tensor, size, size if counted else 0, readers, shared, sources))
        return tuple(found)

    def initial(self, tensor: int) -> int:
        """Allocate what is held through all steps; drawing a kernel's first values leaves two holes behind it."""
        size = self.graph.sizes[tensor]
        if tensor not in self.graph.drawn:
            return self.pool.demand(size)
        drafts = [self.pool.demand(size) for _ in range(2)]
        final = self.pool.demand(size)
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
                self.held[slot] = self.pool.demand(size)
            shared[size][0] += 1
        return shared

    def run(self, seed: int = 0, load: Load = CALM) -> Run:
        """Imitate one step.

        Args:
            seed: of the draws.
            load: what else the machine does.

        Returns:
            The peak.

        Raises:
            StuckStep: operations wait for each other.
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
        self.buffer = [NOTHING] * len(executor.sizes)
        self.pool = executor.pool
        self.pool.peak = self.pool.in_use
        self.size: list[int] = []
        self.users: list[int] = []
        self.handle: list[int] = []
        self.slots = frozenset(executor.graph.slots)
        self.left = {tensor: len(executor.readers.get(tensor, ())) for tensor in executor.graph.held}
        self.outdated: dict[int, int] = {}
        self.queues: list[deque[int]] = [deque() for _ in range(executor.threads)]
        self.inline: list[deque[int]] = [deque() for _ in range(executor.threads)]
        self.idle = [True] * executor.threads
        self.events: list[tuple[float, int, int, int, list[int]]] = []
        self.started = 0
        self.full = False
        self.clock = 0.0

    def run(self) -> Run:
        self.queues[0].extend(number for number, count in enumerate(self.waiting) if count == 0)
        self.dispatch()
        events, idle = self.events, self.idle
        while events or self.make_room():
            self.clock, _, number, thread, loose = heapq.heappop(events)
            self.end(number, loose)
            self.hand_on(number, thread)
            idle[thread] = True
            self.dispatch()
        if self.started < len(self.ops):
            self.stuck()
        return Run(self.pool.peak)

    def make_room(self) -> bool:
        """Stretch a full pool until one of the operations that wait for it runs; says whether one does."""
        while self.full and not self.events and self.started < len(self.ops):
            self.full = False
            self.pool.stretch()
            self.dispatch()
        return bool(self.events)

    def stuck(self) -> NoReturn:
        """Say which operations never became ready: the peak of the others means nothing."""
        left = [number for number, count in enumerate(self.waiting) if count]
        op = self.ops[left[0]]
        raise StuckStep(
            f"{len(left)} of {len(self.ops)} operations of the training step wait for each other, the first of them "
            f"{op.type} of {op.layer or 'no layer'}; this is a fault of the planner"
        )

    def dispatch(self) -> None:
        for thread, idle in enumerate(self.idle):
            if idle:
                number = self.take(thread)
                if number is not None:
                    self.idle[thread] = False
                    self.begin(number, thread)

    def take(self, thread: int) -> int | None:
        """What a thread runs next: what it was about to, else its newest, else another one's oldest."""
        if self.inline[thread]:
            return self.inline[thread].popleft()
        if self.queues[thread]:
            return self.queues[thread].popleft()
        full = [queue for queue in self.queues if queue]
        return self.rng.choice(full).pop() if full else None

    def begin(self, number: int, thread: int) -> None:
        """Start an operation; where a limited pool is full, its thread waits with it until something is freed."""
        taken: list[tuple[int, int]] = []
        try:
            self.start(number, thread, taken)
        except PoolFull:
            for buffer, users in taken:
                self.users[buffer] -= users - 1
                self.release(buffer)
            self.full = True
            self.inline[thread].appendleft(number)
            self.idle[thread] = True

    def start(self, number: int, thread: int, taken: list[tuple[int, int]]) -> None:
        op = self.ops[number]
        loose: list[int] = []
        for output in self.ex.outputs[number]:
            buffer = self.output(output)
            if buffer >= 0:
                self.buffer[output.tensor] = buffer
                self.users[buffer] += output.readers or 1
                taken.append((buffer, output.readers or 1))
                if not output.readers:
                    loose.append(buffer)
        for size in op.scratch:
            buffer = self.allocate(size)
            self.users[buffer] += 1
            taken.append((buffer, 1))
            loose.append(buffer)
        if op.updates != NOT_AN_UPDATE:
            self.update(op.updates)
        self.started += 1
        heapq.heappush(self.events, (self.clock + self.lasting(number), self.started, number, thread, loose))

    def update(self, variable: int) -> None:
        if variable in self.slots:
            self.own_slot(variable)
        elif self.left.get(variable, 0) > 0 and variable not in self.outdated:
            # Somebody still reads the variable: the update writes to a copy, and the old value goes with its
            # last reader.
            copy = self.pool.allocate(self.ex.sizes[variable])
            self.outdated[variable], self.ex.held[variable] = self.ex.held[variable], copy

    def own_slot(self, slot: int) -> None:
        """Give a slot that still shares its zeros a buffer of its own; the last one keeps the zeros'."""
        sharing = self.ex.zeros[self.ex.sizes[slot]]
        if slot in self.ex.owned:
            return
        if sharing[0] > 1:
            self.pool.allocate(self.ex.sizes[slot])
        self.ex.owned.add(slot)
        sharing[0] -= 1

    def lasting(self, number: int) -> float:
        """How long an operation takes in this step: exponential draws around what it should take."""
        work = self.ex.seconds[number]
        load, draw = self.load, self.rng.random
        seconds = work * (1 - log(1 - draw()) * load.spread) if load.spread else work
        if load.every:
            done = -log(1 - draw()) * load.every
            while done < work:
                seconds -= log(1 - draw()) * load.away
                done -= log(1 - draw()) * load.every
        return seconds

    def output(self, output: _Output) -> int:
        """The buffer of an output: the input's, or a new one; NOTHING for no bytes, or for a held tensor."""
        if output.shared >= 0:
            return self.buffer[output.shared]
        if not output.size:
            return NOTHING
        for source in output.sources:
            buffer = self.buffer[source]
            if buffer >= 0 and self.size[buffer] == output.size and self.users[buffer] == 1:
                return buffer
        return self.allocate(output.counted)

    def allocate(self, size: int) -> int:
        self.handle.append(self.pool.allocate(size))
        self.size.append(size)
        self.users.append(0)
        return len(self.size) - 1

    def end(self, number: int, loose: list[int]) -> None:
        for tensor in self.ex.reads_held[number]:
            self.left[tensor] -= 1
            if self.left[tensor] == 0 and tensor in self.outdated:
                self.pool.free(self.outdated.pop(tensor))
        for tensor in self.ex.reads_passing[number]:
            buffer = self.buffer[tensor]
            if buffer >= 0:
                self.release(buffer)
        for buffer in loose:
            self.release(buffer)

    def release(self, buffer: int) -> None:
        self.users[buffer] -= 1
        if self.users[buffer] == 0:
            self.pool.free(self.handle[buffer])
            self.size[buffer] = 0

    def hand_on(self, number: int, thread: int) -> None:
        """What has become ready: cheap operations run next on this thread, of the others the last one.

        Cheap are those whose kernels say so, and what runs often enough for TensorFlow to know it: see `CHEAP`.
        """
        heavy = []
        waiting, cheap, inline = self.waiting, self.ex.cheap, self.inline[thread]
        for other in self.ex.following[number]:
            waiting[other] -= 1
            if waiting[other]:
                continue
            if cheap[other]:
                inline.append(other)
            else:
                heavy.append(other)
        if heavy and not inline:
            inline.append(heavy.pop())
        self.queues[thread].extendleft(heavy)
