"""The search behind the planner: schedules by peak and added time, found without knowing the budget.

Every schedule that is tried goes into one archive, and a budget is answered from the archive. The archive
does not depend on the device's budget, so a larger budget can never be answered with a slower plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .errors import TooManyRuns
from .graph import StepGraph
from .machine import Machine
from .offload import offload_schedule
from .recompute import MEMORY, STRATEGIES, recompute_schedule
from .schedule import DISK, HOST, KEEP, RECOMPUTE, Outcome, Schedule, walk

# Work that one search may do, in steps walked; a large graph gets fewer tries.
STEPS_WALKED = 1_200_000
FEWEST_TRIES = 40
LEVELS = 48
# Forward steps that a schedule may run again, for each layer of the graph; what needs more is no plan.
MOST_RUNS = 4
# The largest graph whose schedules are improved one change at a time.
THOROUGH_STEPS = 1200


@dataclass(frozen=True)
class Trial:
    """A schedule and what it costs.

    Attributes:
        schedule: the schedule.
        outcome: what it holds and moves.
        peak: most bytes of data tensors on the device.
        host: most bytes on the host.
        disk: most bytes on disk.
        added: seconds that recomputing and moving add to a step, nothing overlapped.
    """

    schedule: Schedule
    outcome: Outcome
    peak: int
    host: int
    disk: int
    added: float


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to take a tensor off the device, and the least that it costs in seconds."""

    tensor: int
    action: str
    seconds: float


class Search:
    """Tries schedules of one graph and keeps the best.

    Args:
        graph: the step graph.
        machine: its speeds.
        host: bytes the host may hold; 0 for none.
        disk: bytes the disk may hold; 0 for none.
        only: for a tensor, the actions it may take; other tensors may take any.
    """

    def __init__(
        self,
        graph: StepGraph,
        machine: Machine,
        host: int,
        disk: int,
        only: Mapping[int, frozenset[str]] | None = None,
    ) -> None:
        self.graph = graph
        self.machine = machine
        self.limits = {HOST: host, DISK: disk}
        self.only = only or {}
        self.seconds = machine.forward_seconds(graph)
        self.chain_seconds = self.chains()
        self.tries = max(FEWEST_TRIES, STEPS_WALKED // max(1, len(graph.steps)))
        self.archive: list[Trial] = []
        self.seen: dict[tuple[tuple[str, ...], frozenset[int]], Trial] = {}
        # What only the forward pass reads is made again with what is made from it. On a large graph such
        # chains would reach back to its beginning, each time: there it is kept.
        self.thorough = self.tries > 8 * LEVELS and len(graph.steps) <= THOROUGH_STEPS
        self.most_runs = MOST_RUNS * len(graph.nodes) + 1000
        self.base = tuple(
            RECOMPUTE if self.thorough and self.passing(tensor) else KEEP for tensor in range(len(graph.tensors))
        )
        self.everything = frozenset(range(len(graph.nodes)))
        self.choices = {
            tensor: choices
            for tensor in range(len(graph.tensors))
            if graph.kept_for_backward(tensor) and not graph.tensors[tensor].gradient and (choices := self.ways(tensor))
        }

    def chains(self) -> list[float]:
        """For each layer, the seconds to run it again together with what has to run before it."""
        seconds: list[float] = []
        for number, node in enumerate(self.graph.nodes):
            before = {self.graph.tensors[tensor].layer for tensor in node.inputs if self.passing(tensor)}
            seconds.append(self.seconds[number] + sum(seconds[other] for other in before))
        return seconds

    def passing(self, tensor: int) -> bool:
        """Whether a tensor is of the forward pass alone, and may be made again."""
        return self.can_run_again(tensor) and not self.graph.kept_for_backward(tensor)

    def can_run_again(self, tensor: int) -> bool:
        """Whether a tensor may be recomputed at all."""
        allowed = self.only.get(tensor)
        return not self.graph.tensors[tensor].gradient and (allowed is None or RECOMPUTE in allowed)

    def ways(self, tensor: int) -> list[Choice]:
        """How a tensor can leave the device, cheapest first."""
        size = self.graph.size(tensor)
        ways = [Choice(tensor, RECOMPUTE, self.chain_seconds[self.graph.tensors[tensor].layer])]
        if self.limits[HOST]:
            ways.append(Choice(tensor, HOST, 2 * size / self.machine.host))
        if self.limits[DISK]:
            ways.append(Choice(tensor, DISK, 2 * size / self.machine.disk))
        allowed = self.only.get(tensor)
        return sorted((way for way in ways if allowed is None or way.action in allowed), key=lambda way: way.seconds)

    def run(self) -> list[Trial]:
        """Try schedules until the work is used up.

        Returns:
            The trials that no other beats in peak and added time, from the largest peak to the smallest.
        """
        for schedule in self.starts():
            if self.tries <= 0 and self.archive:
                break
            self.attempt(schedule)
        if self.thorough:
            self.refine()
        return self.frontier()

    def starts(self) -> Iterator[Schedule]:
        """Everything kept; everything off; the paper's techniques; the cheapest tensors, more and more."""
        graph = self.graph
        yield Schedule((KEEP,) * len(graph.tensors))
        order = self.cheapest_first()
        yield self.taking(order, self.everything)
        if not self.only:
            if self.limits[HOST]:
                yield offload_schedule(graph, {node.type for node in graph.nodes if node.checkpoint})
            for strategy in STRATEGIES:
                yield recompute_schedule(graph, strategy, offload=self.limits[HOST] > 0)
            yield recompute_schedule(graph, MEMORY, offload=False)
        parts = min(LEVELS, max(8, self.tries // 2))
        for part in range(1, parts + 1):
            few = order[: len(order) * part // parts]
            yield self.taking(few, frozenset())
            if 2 * len(few) > len(order):
                yield self.taking(few, self.everything)

    def cheapest_first(self) -> list[Choice]:
        """One choice for each tensor, least seconds for a byte first, within what host and disk may hold."""
        left = dict(self.limits)
        order = []
        ranked = sorted(
            filter(self.graph.kept_for_backward, self.choices),
            key=lambda tensor: self.choices[tensor][0].seconds / max(1, self.graph.size(tensor)),
        )
        for tensor in ranked:
            size = self.graph.size(tensor)
            for choice in self.choices[tensor]:
                if choice.action == RECOMPUTE or left[choice.action] >= size:
                    if choice.action != RECOMPUTE:
                        left[choice.action] -= size
                    order.append(choice)
                    break
        return order

    def taking(self, choices: list[Choice], memory_centric: frozenset[int]) -> Schedule:
        """The schedule that takes these tensors off the device and keeps the others."""
        actions = list(self.base)
        for choice in choices:
            actions[choice.tensor] = choice.action
        return Schedule(tuple(actions), memory_centric)

    def attempt(self, schedule: Schedule) -> Trial | None:
        """Walk a schedule; None when it needs more of the host or disk than there is."""
        key = (schedule.actions, schedule.memory_centric)
        trial = self.seen.get(key)
        if trial is None:
            self.tries -= 1
            try:
                outcome = walk(self.graph, schedule, self.most_runs)
            except TooManyRuns:
                return None
            added = sum(count * seconds for count, seconds in zip(outcome.recomputed, self.seconds, strict=True))
            added += outcome.moved[HOST] / self.machine.host + outcome.moved[DISK] / self.machine.disk
            host, disk = max(outcome.host, default=0), max(outcome.disk, default=0)
            trial = Trial(schedule, outcome, outcome.timeline.peak.bytes, host, disk, added)
            self.seen[key] = trial
            if host <= self.limits[HOST] and disk <= self.limits[DISK]:
                self.archive.append(trial)
        return trial if trial.host <= self.limits[HOST] and trial.disk <= self.limits[DISK] else None

    def frontier(self) -> list[Trial]:
        """The trials that no other beats in peak and added time, from the largest peak to the smallest."""
        best: list[Trial] = []
        for trial in sorted(self.archive, key=lambda trial: (trial.peak, trial.added)):
            if not best or trial.added < best[-1].added:
                best.append(trial)
        return best[::-1]

    def fastest(self, budget: int) -> Trial | None:
        """The trial of the archive with the least added time within a device budget."""
        within = [trial for trial in self.archive if trial.peak <= budget]
        return min(within, key=lambda trial: (trial.added, trial.peak), default=None)

    def refine(self) -> None:
        """Improve the best trial at evenly spaced peaks, from the largest down."""
        peaks = [trial.peak for trial in self.archive]
        low, high = min(peaks), max(peaks)
        levels = [high - (high - low) * level // LEVELS for level in range(1, LEVELS + 1)]
        for left, budget in zip(range(len(levels), 0, -1), levels, strict=True):
            share = self.tries // left
            until = self.tries - share
            self.descend(budget, until)
            best = self.fastest(budget)
            while best is not None and self.tries > until:
                better = self.improve(best, budget, until)
                if better is None:
                    break
                best = better

    def descend(self, budget: int, until: int) -> None:
        """From everything kept, take what costs least for the bytes that are too many, until the budget is kept."""
        schedule = self.taking([], frozenset())
        while self.tries > until:
            trial = self.attempt(schedule)
            if trial is None or trial.peak <= budget:
                return
            choice = self.relief(trial, budget)
            if choice is None:
                return
            schedule = self.changed(schedule, {choice.tensor: choice.action})

    def relief(self, trial: Trial, budget: int) -> Choice | None:
        """The cheapest way to take a tensor off the device at the step that holds the most."""
        step = trial.outcome.timeline.peak.step - 1
        touched = self.graph.steps[step].touches
        excess = trial.peak - budget
        actions = trial.schedule.actions
        away = [
            choices[0]
            for tensor, choices in self.choices.items()
            if actions[tensor] == KEEP
            and tensor not in touched
            and self.graph.last_forward[tensor] < step < self.graph.last_use[tensor]
        ]
        worth = {choice: choice.seconds / max(1, min(excess, self.graph.size(choice.tensor))) for choice in away}
        return min(away, key=lambda choice: worth[choice], default=None)

    def improve(self, trial: Trial, budget: int, until: int) -> Trial | None:
        """The first neighbour that is faster within the budget, if any is found in time."""
        for schedule in self.neighbours(trial.schedule):
            if self.tries <= until:
                return None
            other = self.attempt(schedule)
            if other is not None and other.peak <= budget and other.added < trial.added:
                return other
        return None

    def neighbours(self, schedule: Schedule) -> Iterator[Schedule]:
        """Schedules that differ in little, the most promising first."""
        taken = [
            (self.cost(tensor, schedule.actions[tensor]), tensor)
            for tensor in self.choices
            if schedule.actions[tensor] != KEEP
        ]
        taken.sort(reverse=True)
        yield from self.lasting(schedule)
        yield from self.otherwise(schedule, [tensor for _, tensor in taken])
        yield from self.exchanged(schedule, taken)

    def lasting(self, schedule: Schedule) -> Iterator[Schedule]:
        """Keep what all layers or one layer recomputed."""
        if schedule.memory_centric:
            yield Schedule(schedule.actions)
        for number in sorted(schedule.memory_centric):
            if any(schedule.actions[tensor] == RECOMPUTE for tensor in self.graph.nodes[number].outputs):
                yield Schedule(schedule.actions, schedule.memory_centric - {number})

    def otherwise(self, schedule: Schedule, taken: list[int]) -> Iterator[Schedule]:
        """Keep one tensor; take one another way; keep what a layer read instead of what it made."""
        for tensor in taken:
            yield self.changed(schedule, {tensor: KEEP})
        for tensor in taken:
            for choice in self.choices[tensor]:
                if choice.action != schedule.actions[tensor]:
                    yield self.changed(schedule, {tensor: choice.action})
        for node in self.graph.nodes:
            # One original for all copies of a FORK, for instance.
            kept = dict.fromkeys(node.inputs, KEEP)
            again = {tensor: RECOMPUTE for tensor in node.outputs if self.can_run_again(tensor)}
            if kept and again:
                yield self.changed(schedule, kept | again)

    def exchanged(self, schedule: Schedule, taken: list[tuple[float, int]]) -> Iterator[Schedule]:
        """Keep one tensor and take a cheaper one instead."""
        for seconds, tensor in taken:
            for choices in self.choices.values():
                for choice in choices:
                    if schedule.actions[choice.tensor] == KEEP and choice.seconds < seconds:
                        yield self.changed(schedule, {tensor: KEEP, choice.tensor: choice.action})

    def cost(self, tensor: int, action: str) -> float:
        """The least seconds that an action on a tensor adds."""
        return next((way.seconds for way in self.choices[tensor] if way.action == action), 0.0)

    @staticmethod
    def changed(schedule: Schedule, changes: Mapping[int, str]) -> Schedule:
        """The schedule with other actions for some tensors."""
        actions = list(schedule.actions)
        for tensor, action in changes.items():
            actions[tensor] = action
        return Schedule(tuple(actions), schedule.memory_centric)
