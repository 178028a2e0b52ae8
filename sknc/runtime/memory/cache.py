"""The tensor cache: tensors leave the device only when it is full (SuperNeurons, section 3.3.2, Algorithm 2).

A list of tensors by their last use; a step locks what it touches, and the least recently used tensor that is
not locked makes room. A forward output that was copied out once needs no second copy: it does not change. A
gradient may have been added to in place, so that it is copied each time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from .errors import InfeasibleBudget
from .graph import StepGraph


@dataclass(frozen=True, slots=True)
class CacheOutcome:
    """What the cache did in one training iteration.

    Attributes:
        moved_out: bytes copied to the host.
        moved_in: bytes copied back.
        evictions: tensors that had to leave.
        hits: times a step found a tensor on the device.
        misses: times a tensor had to be made or fetched.
        peak: most bytes on the device.
        host_peak: most bytes on the host.
    """

    moved_out: int
    moved_in: int
    evictions: int
    hits: int
    misses: int
    peak: int
    host_peak: int

    @property
    def moved(self) -> int:
        """Bytes copied both ways."""
        return self.moved_out + self.moved_in


class TensorCache:
    """Algorithm 2 over the tensors of a step graph.

    Args:
        graph: the step graph.
        budget: bytes of the device.
        watch: called with each tensor that is evicted and the tensors that are locked then.
    """

    def __init__(
        self, graph: StepGraph, budget: int, watch: Callable[[int, frozenset[int]], None] | None = None
    ) -> None:
        self.graph = graph
        self.budget = budget
        self.watch = watch
        self.recent: OrderedDict[int, None] = OrderedDict()  # the least recently used comes first
        self.locked: frozenset[int] = frozenset()
        self.host: set[int] = set()
        self.held = self.peak = self.on_host = self.host_peak = 0
        self.moved_out = self.moved_in = self.evictions = self.hits = self.misses = 0

    def run(self) -> CacheOutcome:
        """Follow one training iteration.

        Returns:
            What was moved.

        Raises:
            InfeasibleBudget: when one step alone touches more than the device holds.
        """
        smallest = max((self.need(number) for number in range(len(self.graph.steps))), default=0)
        if smallest > self.budget:
            raise InfeasibleBudget(
                f"one step alone touches {smallest} bytes, more than the {self.budget} of the device",
                smallest,
            )
        for number, step in enumerate(self.graph.steps):
            self.locked = frozenset(step.touches)
            for tensor in step.touches:
                self.check(tensor, step.scratch)
            self.peak = max(self.peak, self.held + step.scratch)
            self.locked = frozenset()
            for tensor in step.touches:
                if self.graph.last_use[tensor] == number:
                    self.forget(tensor)
        return CacheOutcome(
            self.moved_out, self.moved_in, self.evictions, self.hits, self.misses, self.peak, self.host_peak
        )

    def need(self, number: int) -> int:
        """Bytes that a step touches by itself."""
        step = self.graph.steps[number]
        return step.scratch + sum(self.graph.size(tensor) for tensor in step.touches)

    def check(self, tensor: int, scratch: int) -> None:
        """The paper's Check: a hit moves the tensor to the front, a miss makes room and places it there."""
        if tensor in self.recent:
            self.hits += 1
            self.recent.move_to_end(tensor)
            return
        self.misses += 1
        self.make_room(self.graph.size(tensor) + scratch)
        if tensor in self.host:
            self.moved_in += self.graph.size(tensor)
            if self.graph.tensors[tensor].gradient:
                self.leave_host(tensor)
        self.recent[tensor] = None
        self.held += self.graph.size(tensor)

    def make_room(self, wanted: int) -> None:
        """The paper's LRU.out: offload the least recently used unlocked tensors until there is room."""
        while self.held + wanted > self.budget:
            victim = next(tensor for tensor in self.recent if tensor not in self.locked)
            if self.watch is not None:
                self.watch(victim, self.locked)
            self.evictions += 1
            del self.recent[victim]
            self.held -= self.graph.size(victim)
            if victim not in self.host:
                self.host.add(victim)
                self.on_host += self.graph.size(victim)
                self.host_peak = max(self.host_peak, self.on_host)
                self.moved_out += self.graph.size(victim)

    def forget(self, tensor: int) -> None:
        """Free a tensor that no later step uses."""
        if tensor in self.recent:
            del self.recent[tensor]
            self.held -= self.graph.size(tensor)
        self.leave_host(tensor)

    def leave_host(self, tensor: int) -> None:
        """Free a tensor's host copy."""
        if tensor in self.host:
            self.host.remove(tensor)
            self.on_host -= self.graph.size(tensor)


def cached_moves(graph: StepGraph, budget: int) -> CacheOutcome:
    """What the tensor cache moves when the device holds so much.

    Args:
        graph: the step graph.
        budget: bytes of the device for data tensors.

    Returns:
        Bytes moved, evictions, hits and misses; nothing is moved while the liveness peak fits.

    Raises:
        InfeasibleBudget: when one step alone touches more than the device holds.
    """
    return TensorCache(graph, budget).run()
