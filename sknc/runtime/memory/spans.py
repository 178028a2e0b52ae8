"""Walking a schedule that says, for each tensor, through which steps it is on the device.

In a step, what runs again runs in the order of the forward pass, each layer at most once. A moved tensor is brought
back right before the first of these layers that reads it, or before the step itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from .actions import DISK, HOST, KEEP, RECOMPUTE, Span
from .device import Device, Outcome
from .errors import PlanError
from .graph import StepGraph


def walk_spans(graph: StepGraph, held: Mapping[int, tuple[Span, ...]]) -> Outcome:
    """Follow spans through one training iteration.

    Args:
        graph: the step graph.
        held: the spans of the tensors that do not follow liveness.

    Returns:
        What it holds, moves and computes again.

    Raises:
        PlanError: when spans do not fit the graph, or a step needs a tensor that is not there.
    """
    return _SpanWalk(graph, held).run()


class _SpanWalk(Device):
    """The state of one walk by spans."""

    def __init__(self, graph: StepGraph, held: Mapping[int, tuple[Span, ...]]) -> None:
        super().__init__(graph)
        self.arriving: dict[int, list[tuple[int, str]]] = {}
        self.leaving: dict[int, list[int]] = {}
        self.copied_at: dict[int, list[tuple[int, str]]] = {}
        self.dropped_at: dict[int, list[tuple[int, str]]] = {}
        made: dict[int, int] = {}
        for number, step in enumerate(graph.steps):
            for tensor in step.writes:
                made.setdefault(tensor, number)
        for tensor, first in made.items():
            self.add(tensor, held.get(tensor) or (Span(first, graph.last_use[tensor]),), first)

    def add(self, tensor: int, spans: tuple[Span, ...], made: int) -> None:
        """Note when a tensor comes and goes."""
        check(self.graph, tensor, spans, made)
        for span in spans:
            self.leaving.setdefault(span.end, []).append(tensor)
            if span.by != KEEP:
                self.arriving.setdefault(span.start, []).append((tensor, span.by))
        # Copied once, when it leaves for the first time, and kept in the other pool until it is there again for good.
        for pool in (HOST, DISK):
            moves = [span.start for span in spans if span.by == pool]
            if moves:
                self.copied_at.setdefault(spans[0].end, []).append((tensor, pool))
                self.dropped_at.setdefault(moves[-1], []).append((tensor, pool))

    def step(self, number: int) -> None:
        graph, step = self.graph, self.graph.steps[number]
        arriving = dict(self.arriving.get(number, ()))
        again = {tensor for tensor, by in arriving.items() if by == RECOMPUTE}
        self.replay(sorted({graph.tensors[tensor].layer for tensor in again}), arriving, again)
        self.bring(tuple(arriving), arriving)
        for tensor in step.reads:
            self.require(tensor)
        for tensor in step.writes:
            self.hold(tensor)
        self.mark(step.scratch)

    def replay(self, chain: list[int], arriving: dict[int, str], again: set[int]) -> None:
        """Run forward steps again; what leaves with this step, and is not of it, goes after its last reader."""
        nodes, touches = self.graph.nodes, self.graph.steps[self.now].touches
        readings = Counter(tensor for node in chain for tensor in nodes[node].inputs)
        ending = set(self.leaving.get(self.now, ())) - set(touches) if chain else set()
        for node in chain:
            self.recomputed[node] += 1
            self.bring(nodes[node].inputs, arriving)
            for tensor in nodes[node].inputs:
                self.require(tensor)
            for tensor in nodes[node].outputs:
                if tensor in again:
                    self.hold(tensor)
            self.mark(self.graph.steps[node].scratch)
            for tensor in nodes[node].inputs:
                readings[tensor] -= 1
                if readings[tensor] == 0 and tensor in ending:
                    self.free(tensor)

    def bring(self, tensors: Iterable[int], arriving: dict[int, str]) -> None:
        """Copy those back that come from another pool in this step, each once."""
        for tensor in tensors:
            if arriving.get(tensor) in (HOST, DISK):
                self.move_in(tensor, arriving.pop(tensor))
                self.hold(tensor)

    def require(self, tensor: int) -> None:
        if tensor not in self.resident:
            raise PlanError(f"tensor '{self.graph.tensors[tensor].name}' is gone at step {self.now + 1}")

    def leave(self, number: int) -> None:
        for tensor in self.leaving.get(number, ()):
            self.free(tensor)
        for tensor, pool in self.copied_at.get(number, ()):
            self.move_out(tensor, pool)
        for tensor, pool in self.dropped_at.get(number, ()):
            self.away[pool] -= self.graph.size(tensor)


def check(graph: StepGraph, tensor: int, spans: tuple[Span, ...], made: int) -> None:
    """Refuse spans that cannot be followed.

    Args:
        graph: the step graph.
        tensor: whose spans.
        spans: in order.
        made: the step that makes the tensor.

    Raises:
        PlanError: when the first span is not the tensor's own step, or spans overlap or say nothing known.
    """
    after = made - 1
    for place, span in enumerate(spans):
        first = place == 0
        known = span.by == KEEP if first else span.by in (RECOMPUTE, HOST, DISK)
        fits = span.start == made if first else span.start > after
        gone = graph.tensors[tensor].gradient and len(spans) > 1
        if not known or not fits or gone or not span.start <= span.end < len(graph.steps):
            raise PlanError(
                f"tensor '{graph.tensors[tensor].name}' cannot be held from step {span.start + 1} to {span.end + 1} "
                f"by '{span.by}'"
            )
        after = span.end
