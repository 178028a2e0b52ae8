"""Schedules and what they cost: one walk over the steps that keeps, moves and recomputes tensors as told.

The liveness timeline, the paper's techniques (sections 3.2 to 3.4) and the planner's own choices are all
schedules; this walk is the only place that says what a schedule holds, moves and computes again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from .actions import ACTIONS, DISK, HOST, KEEP, RECOMPUTE, Span
from .device import Device, Outcome
from .errors import PlanError, TooManyRuns
from .graph import StepGraph
from .spans import walk_spans

__all__ = [
    "ACTIONS",
    "DISK",
    "HOST",
    "KEEP",
    "RECOMPUTE",
    "Outcome",
    "Schedule",
    "Span",
    "keep_everything",
    "last_needed",
    "walk",
]


@dataclass(frozen=True)
class Schedule:
    """What happens to each tensor between its last forward use and its first backward use.

    Attributes:
        actions: one of ACTIONS for each tensor of the graph.
        memory_centric: layers whose recomputed outputs are freed as soon as the chain has read them.
        prefetch: for a step, the moved tensors that it brings back for a later step.
        held: instead of all this, for each tensor that does not follow liveness, the spans through which it is on
            the device; its action is then only a summary.
    """

    actions: tuple[str, ...]
    memory_centric: frozenset[int] = frozenset()
    prefetch: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    held: Mapping[int, tuple[Span, ...]] = field(default_factory=dict)


def keep_everything(graph: StepGraph) -> Schedule:
    """The schedule of liveness alone."""
    return Schedule((KEEP,) * len(graph.tensors))


def last_needed(graph: StepGraph, schedule: Schedule) -> list[int]:
    """The last step for which each tensor has to be at hand, also as the input of a recomputation.

    What is recomputed speed-centric is made again when it is first needed, and stays; memory-centric it may
    be made again until its last use.

    Args:
        graph: the step graph.
        schedule: the action for each tensor.

    Returns:
        For each tensor, a step counted from 0.
    """
    last = list(graph.last_use)
    first = list(graph.first_backward)
    for number in range(len(graph.nodes) - 1, -1, -1):
        node = graph.nodes[number]
        dropped = [
            tensor
            for tensor in node.outputs
            if schedule.actions[tensor] == RECOMPUTE and last[tensor] > graph.last_forward[tensor]
        ]
        if not dropped:
            continue
        start = min(first[tensor] for tensor in dropped)
        end = max(last[tensor] for tensor in dropped) if number in schedule.memory_centric else start
        for tensor in node.inputs:
            last[tensor] = max(last[tensor], end)
            first[tensor] = min(first[tensor], start)
    return last


def walk(graph: StepGraph, schedule: Schedule, most_runs: int | None = None) -> Outcome:
    """Follow a schedule through one training iteration.

    Args:
        graph: the step graph.
        schedule: one action for each tensor.
        most_runs: forward steps that may run again; None for any number.

    Returns:
        What it holds, moves and computes again.

    Raises:
        TooManyRuns: when more than `most_runs` forward steps would run again.
        PlanError: when the schedule does not fit the graph, or drops a tensor that cannot be recomputed.
    """
    if len(schedule.actions) != len(graph.tensors):
        raise PlanError(f"a schedule for {len(schedule.actions)} tensors does not fit a graph of {len(graph.tensors)}")
    for number, action in enumerate(schedule.actions):
        tensor = graph.tensors[number]
        if action not in ACTIONS or (
            action == RECOMPUTE and (tensor.gradient or not graph.nodes[tensor.layer].outputs)
        ):
            raise PlanError(f"'{action}' is no action for tensor '{tensor.name}'")
    if schedule.held:
        return walk_spans(graph, schedule.held)
    return _Walk(graph, schedule, most_runs).run()


class _Walk(Device):
    """The state of one walk by actions."""

    def __init__(self, graph: StepGraph, schedule: Schedule, most_runs: int | None) -> None:
        super().__init__(graph)
        self.runs_left = most_runs
        self.actions = schedule.actions
        self.schedule = schedule
        self.last = last_needed(graph, schedule)
        self.ends: dict[int, list[int]] = {}
        for tensor, number in enumerate(self.last):
            self.ends.setdefault(number, []).append(tensor)
        self.copied: set[int] = set()

    def step(self, number: int) -> None:
        step = self.graph.steps[number]
        self.fetch(step.reads, frozenset(step.reads))
        self.bring_moved(self.schedule.prefetch.get(number, ()))
        for tensor in step.writes:
            self.hold(tensor)
        self.mark(step.scratch)

    def bring(self, tensor: int) -> None:
        if tensor not in self.resident:
            self.move_in(tensor, self.actions[tensor])
            self.hold(tensor)

    def leave(self, number: int) -> None:
        """Free what is not needed on the device after this step."""
        graph = self.graph
        for tensor in self.ends.get(self.now, ()):
            self.free(tensor)
            if tensor in self.copied:
                self.copied.remove(tensor)
                self.away[self.actions[tensor]] -= graph.size(tensor)
        for tensor in graph.steps[number].touches:
            action = self.actions[tensor]
            if action == KEEP or graph.last_forward[tensor] != self.now or self.last[tensor] <= self.now:
                continue
            if action != RECOMPUTE:
                self.copied.add(tensor)
                self.move_out(tensor, action)
            self.free(tensor)

    def fetch(self, wanted: tuple[int, ...], needed: frozenset[int]) -> None:
        """Have tensors on the device: bring back what was moved, compute again what was dropped."""
        chain = self.chain(wanted)
        if chain:
            self.replay(chain, needed)
        self.bring_moved(wanted)

    def bring_moved(self, tensors: tuple[int, ...]) -> None:
        for tensor in tensors:
            if tensor in self.copied:
                self.bring(tensor)

    def replay(self, chain: list[int], needed: frozenset[int]) -> None:
        """Run forward steps again, and free what only they needed."""
        if self.runs_left is not None:
            self.runs_left -= len(chain)
            if self.runs_left < 0:
                raise TooManyRuns(f"more forward steps would run again than allowed by step {self.now + 1}")
        nodes = self.graph.nodes
        readings = Counter(tensor for node in chain for tensor in nodes[node].inputs)
        for node in chain:
            self.recomputed[node] += 1
            self.bring_moved(nodes[node].inputs)
            for tensor in nodes[node].outputs:
                # A copy that nobody will read is not made again.
                if self.last[tensor] >= self.now or readings[tensor]:
                    self.hold(tensor)
            self.mark(self.graph.steps[node].scratch)
            for tensor in nodes[node].inputs:
                readings[tensor] -= 1
                if readings[tensor] == 0 and tensor not in needed:
                    self.after_chain(tensor)
        for node in chain:
            for tensor in nodes[node].outputs:
                if tensor not in needed and self.last[tensor] < self.now:
                    self.free(tensor)

    def after_chain(self, tensor: int) -> None:
        """A chain has read this tensor for the last time; memory-centric, it goes if it was recomputed."""
        memory_centric = self.graph.tensors[tensor].layer in self.schedule.memory_centric
        if memory_centric and self.actions[tensor] == RECOMPUTE:
            self.free(tensor)

    def chain(self, wanted: tuple[int, ...]) -> list[int]:
        """The layers to run again, in order, until every wanted tensor is there."""
        order: list[int] = []
        seen: set[int] = set()
        stack = [(tensor, False) for tensor in reversed(wanted)]
        while stack:
            tensor, ready = stack.pop()
            node = self.graph.tensors[tensor].layer
            if ready:
                order.append(node)
                continue
            if tensor in self.resident or tensor in self.copied or node in seen:
                continue
            if self.actions[tensor] != RECOMPUTE:
                raise PlanError(f"tensor '{self.graph.tensors[tensor].name}' is gone at step {self.now + 1}")
            seen.add(node)
            stack.append((tensor, True))
            stack.extend((source, False) for source in reversed(self.graph.nodes[node].inputs))
        return order
