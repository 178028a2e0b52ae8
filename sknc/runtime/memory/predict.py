"""The peak that TensorFlow's allocator will show for one training step: a schedule and a stated reserve."""

from __future__ import annotations

from dataclasses import dataclass

from .executor import BUSY, CALM, CROWDED, Executor
from .opgraph import OpGraph, UpdateRule, with_updates
from .tfrules import ALLOCATORS

# Steps before the first one that counts: the allocator's chunks settle.
WARM_UP = 2
# Operations imitated by one prediction, at most; a large graph gets fewer draws.
OPERATIONS = 120_000
FEWEST_DRAWS, MOST_DRAWS = 10, 40
# The same for the least limit of an allocator: its holes grow from step to step, and other ones in each process.
LIMIT_OPERATIONS = 400_000
FEWEST_LIMIT_STEPS, MOST_LIMIT_STEPS = 24, 60
LIMIT_POOLS = 3
LIMIT_MARGIN = 0.12
# What the imitation misses: this part of what a step holds beside weights is added; chosen by bench/memory_accuracy.py.
MARGIN = 0.03


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the allocator will show.

    Attributes:
        scheduled: the peak when operations last as long as they should.
        reserve: what the largest of the drawn peaks adds, with a margin.
        low: the smallest of the drawn peaks.
        high: the largest of the drawn peaks.
        held: bytes in use before the first step.
    """

    scheduled: int
    reserve: int
    low: int
    high: int
    held: int

    @property
    def peak(self) -> int:
        """The predicted peak."""
        return self.scheduled + self.reserve


def predict_peak(
    graph: OpGraph, rule: UpdateRule, allocator: str = "default", threads: int = 2, most_draws: int = MOST_DRAWS
) -> Prediction:
    """Predict what `get_memory_info` will show as the peak of a warmed training step.

    Args:
        graph: forward and backward pass.
        rule: what the optimiser does to one variable.
        allocator: 'default' or 'bfc'.
        threads: threads that run operations.
        most_draws: steps that are drawn at most.

    Returns:
        The schedule's peak and the reserve.
    """
    whole = with_updates(graph, rule)
    calm = Executor(whole, ALLOCATORS[allocator], threads)
    held = calm.pool.in_use
    scheduled = max(calm.run().peak for _ in range(WARM_UP + 1))
    draws = min(most_draws, max(FEWEST_DRAWS, OPERATIONS // max(1, len(whole.ops))))
    busy = Executor(whole, ALLOCATORS[allocator], threads)
    loads = (BUSY, CROWDED)
    peaks = sorted([busy.run(seed, loads[seed % 2]).peak for seed in range(WARM_UP + draws)][WARM_UP:])
    high = max(scheduled, peaks[-1])
    return Prediction(scheduled, high - scheduled + int(MARGIN * (high - held)), peaks[0], peaks[-1], held)


def least_limit(
    graph: OpGraph, rule: UpdateRule, start: int, allocator: str = "bfc", threads: int = 2, rough: bool = False
) -> int:
    """Predict the least hard limit under which an allocator that asks for regions as it goes trains all steps.

    Limits are about what the allocator has asked the system for, and best fit leaves holes: a step may fail under a
    limit that is far above what it holds. Pools are imitated over many steps, and given more whenever all threads wait
    for memory.

    Args:
        graph: forward and backward pass.
        rule: what the optimiser does to one variable.
        start: bytes that are given first; no less than the least limit is looked for.
        allocator: 'default' or 'bfc'.
        threads: threads that run operations.
        rough: whether one pool is enough, and half the steps.

    Returns:
        Bytes: what the largest of the pools was given, with a margin and one hole more, as large as the largest tensor.
    """
    whole = with_updates(graph, rule)
    steps = LIMIT_OPERATIONS // max(1, len(whole.ops))
    steps = min(MOST_LIMIT_STEPS, max(FEWEST_LIMIT_STEPS, steps)) // (2 if rough else 1)
    loads = (CALM, BUSY, CROWDED)
    limit = held = 0
    for pool in range(1 if rough else LIMIT_POOLS):
        executor = Executor(whole, ALLOCATORS[allocator], threads, start)
        held = executor.pool.in_use
        for step in range(steps):
            executor.run(pool * steps + step, loads[step % len(loads)])
        limit = max(limit, executor.pool.limit or 0)
    largest = max((whole.sizes[tensor] for op in whole.ops for tensor in op.makes), default=0)
    return limit + int((limit - held) * LIMIT_MARGIN) + largest
