"""The peak that TensorFlow's allocator will show for one training step: a schedule and a stated reserve."""

from __future__ import annotations

from dataclasses import dataclass

from .executor import BUSY, CROWDED, Executor
from .opgraph import OpGraph, UpdateRule, with_updates
from .tfrules import ALLOCATORS

# Steps before the first one that counts: the allocator's chunks settle.
WARM_UP = 2
# Operations imitated by one prediction, at most; a large graph gets fewer draws.
OPERATIONS = 120_000
FEWEST_DRAWS, MOST_DRAWS = 10, 40
# What the imitation misses: this part of the peak is added besides; chosen by bench/memory_accuracy.py.
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
    return Prediction(scheduled, high - scheduled + int(MARGIN * high), peaks[0], peaks[-1], held)
