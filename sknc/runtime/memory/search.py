"""The search behind the planner: schedules by peak and added time, found without knowing the budget.

Every schedule that is tried goes into one archive, and a budget is answered from the archive. The archive
does not depend on the device's budget, so a larger budget can never be answered with a slower plan.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from .errors import TooManyRuns
from .graph import StepGraph
from .lazy import EXACT, Lazy
from .machine import Machine
from .masks import Masks
from .offload import offload_schedule
from .recompute import MEMORY, STRATEGIES, recompute_schedule
from .schedule import DISK, HOST, KEEP, RECOMPUTE, Outcome, Schedule, walk
from .trim import spans_of

# The bounds here and in `lazy` and `drops` trade time for plans: bench/planner_scale.py has the time,
# bench/planner_optimum.py how near plans come to the optimum.
# Work that simple schedules may do, in steps walked; a large graph gets fewer tries.
STEPS_WALKED = 800_000
FEWEST_TRIES = 40
LEVELS = 48
# Forward steps that a schedule may run again, for each layer of the graph; what needs more is no plan.
MOST_RUNS = 4
# The largest graph on which what only the forward pass reads is made again with what is made from it.
CHAINED_STEPS = 1200
# The largest graph whose budgets are searched one by one, in steps, and the work for all of them.
SEARCHED_STEPS = 1200
SEARCH_WORK = 1_000_000
# The smallest graph, in steps, whose thorough search is led by a quick one.
GROUND_STEPS = 40
# A gap between two peaks is halved while it is wider than this part of them all, then searched at its upper end.
FINE = 48
# Added times that are this near are as good as equal: what is added is a part of a step, of which this is a part.
CLOSE = 1.004


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


@dataclass(frozen=True, slots=True)
class Gap:
    """Budgets that have not been searched.

    Attributes:
        low: the smallest of them.
        high: the largest of them.
        above: seconds added by the best plan for a larger budget.
        below: seconds added by the best plan that is known for these.
    """

    low: int
    high: int
    above: float
    below: float

    @property
    def order(self) -> float:
        """Where it stands among all gaps; the one where most may be saved comes first."""
        return -(self.below - self.above) * (self.high - self.low + 1)


class Search:
    """Tries schedules of one graph and keeps the best.

    Args:
        graph: the step graph.
        machine: its speeds.
        host: bytes the host may hold; 0 for none.
        disk: bytes the disk may hold; 0 for none.
    """

    def __init__(self, graph: StepGraph, machine: Machine, host: int, disk: int) -> None:
        self.graph = graph
        self.machine = machine
        self.limits = {HOST: host, DISK: disk}
        self.seconds = machine.forward_seconds(graph)
        self.chain_seconds = self.chains()
        self.tries = max(FEWEST_TRIES, STEPS_WALKED // max(1, len(graph.steps)))
        self.archive: list[Trial] = []
        # What only the forward pass reads is made again with what is made from it. On a large graph such
        # chains would reach back to its beginning, each time: there it is kept.
        chained = len(graph.steps) <= CHAINED_STEPS
        self.most_runs = MOST_RUNS * len(graph.nodes) + 1000
        moved = 2 * sum(tensor.bytes for tensor in graph.tensors) / min(machine.host, machine.disk)
        self.most_seconds = MOST_RUNS * (sum(self.seconds) + (moved if host or disk else 0.0))
        self.small = sum(not tensor.gradient for tensor in graph.tensors) <= EXACT
        self.lazies: list[tuple[Lazy, Mapping[int, str]]] = []
        self.base = tuple(
            RECOMPUTE if chained and self.passing(tensor) else KEEP for tensor in range(len(graph.tensors))
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
        return not self.graph.tensors[tensor].gradient and not self.graph.kept_for_backward(tensor)

    def ways(self, tensor: int) -> list[Choice]:
        """How a tensor can leave the device, cheapest first."""
        size = self.graph.size(tensor)
        ways = [Choice(tensor, RECOMPUTE, self.chain_seconds[self.graph.tensors[tensor].layer])]
        if self.limits[HOST]:
            ways.append(Choice(tensor, HOST, 2 * size / self.machine.host))
        if self.limits[DISK]:
            ways.append(Choice(tensor, DISK, 2 * size / self.machine.disk))
        return sorted(ways, key=lambda way: way.seconds)

    def run(self) -> list[Trial]:
        """Try schedules until the work is used up.

        Returns:
            The trials that no other beats in peak and added time, from the largest peak to the smallest.
        """
        for schedule in self.starts():
            if self.tries <= 0 and self.archive:
                break
            self.attempt(schedule)
        if len(self.graph.steps) <= SEARCHED_STEPS:
            self.refine()
        return self.frontier()

    def starts(self) -> Iterator[Schedule]:
        """Everything kept; everything off; the paper's techniques; the cheapest tensors, more and more."""
        graph = self.graph
        yield Schedule((KEEP,) * len(graph.tensors))
        order = self.cheapest_first()
        yield self.taking(order, self.everything)
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
        self.tries -= 1
        try:
            outcome = walk(self.graph, schedule, self.most_runs)
        except TooManyRuns:
            return None
        added = sum(count * seconds for count, seconds in zip(outcome.recomputed, self.seconds, strict=True))
        added += outcome.moved[HOST] / self.machine.host + outcome.moved[DISK] / self.machine.disk
        host, disk = max(outcome.host, default=0), max(outcome.disk, default=0)
        if host > self.limits[HOST] or disk > self.limits[DISK]:
            return None
        trial = Trial(schedule, outcome, outcome.timeline.peak.bytes, host, disk, added)
        self.archive.append(trial)
        return trial

    def frontier(self) -> list[Trial]:
        """The trials that no other beats in peak and added time, from the largest peak to the smallest."""
        best: list[Trial] = []
        for trial in sorted(self.archive, key=lambda trial: (trial.peak, trial.added)):
            if not best or trial.added < best[-1].added:
                best.append(trial)
        return best[::-1]

    def refine(self) -> None:
        """Search budgets between the peaks of the archive, in several passes."""
        rounds = [(True, SEARCH_WORK)]
        if self.small:
            # Where the thorough search will not get through all budgets, the quick one lays the ground.
            ground = [(True, SEARCH_WORK // 8)] if len(self.graph.steps) > GROUND_STEPS else []
            rounds = [*ground, (False, SEARCH_WORK)]
        for quick, share in rounds:
            self.lazies = list(self.searches(quick))
            passes = self.lazies[0][0].passes
            for number, one in enumerate(passes, 1):
                for lazy, _ in self.lazies:
                    lazy.now = one
                self.fill(share * number // len(passes), halving=number == 1)

    def fill(self, work: int, halving: bool) -> None:
        """Search the gaps between the peaks of the archive, where most time may be saved first.

        A gap is searched at its upper end: what is not found there is not found below it.
        """
        best = self.frontier()
        masks = self.lazies[0][0].masks
        floor = max(own + masks.bytes(touched) for own, touched in zip(masks.own, masks.touched, strict=True))
        span = best[0].peak - floor
        gaps = [Gap(low.peak, high.peak - 1, high.added, low.added) for high, low in pairwise(best)]
        gaps.append(Gap(floor, best[-1].peak - 1, best[-1].added, float("inf")))
        heap = [(gap.order, place, gap) for place, gap in enumerate(gaps) if gap.low <= gap.high]
        heapq.heapify(heap)
        pushed = len(gaps)
        while heap and sum(lazy.work for lazy, _ in self.lazies) < work:
            _, _, gap = heapq.heappop(heap)
            wide = gap.high - gap.low > span // FINE and (halving or gap.below == float("inf"))
            budget = (gap.low + gap.high) // 2 if wide else gap.high
            trial = self.search_at(budget, gap.below)
            parts = [Gap(budget + 1, gap.high, gap.above, gap.below)]
            if trial is not None and trial.added < gap.below:
                parts = [
                    Gap(budget + 1, gap.high, gap.above, trial.added),
                    Gap(gap.low, trial.peak - 1, trial.added, gap.below),
                ]
            for part in parts:
                if part.low <= part.high and part.below > part.above * CLOSE:
                    heapq.heappush(heap, (part.order, pushed, part))
                    pushed += 1

    def searches(self, quick: bool) -> Iterator[tuple[Lazy, Mapping[int, str]]]:
        """The searches for one budget: with the faster pool for every tensor, and so that all fit their pools."""
        tensors = [number for number, tensor in enumerate(self.graph.tensors) if not tensor.gradient]
        left = dict(self.limits)
        fitting: dict[int, str] = {}
        fastest: dict[int, str] = {}
        for tensor in sorted(
            tensors,
            key=lambda tensor: (
                tensor not in self.choices,
                -self.chain_seconds[self.graph.tensors[tensor].layer] / max(1, self.graph.size(tensor)),
            ),
        ):
            ways = [way.action for way in self.ways(tensor) if way.action != RECOMPUTE]
            size = self.graph.size(tensor)
            for pool in ways:
                if left[pool] >= size:
                    fitting[tensor] = pool
                    left[pool] -= size
                    break
            if ways:
                fastest[tensor] = ways[0]
        yield Lazy(Masks(self.graph, self.machine, fastest), quick), fastest
        if fitting != fastest:
            yield Lazy(Masks(self.graph, self.machine, fitting), quick), fitting

    def search_at(self, budget: int, below: float) -> Trial | None:
        """Search one budget for less added time than is known."""
        limit = min(below, self.most_seconds)
        for lazy, pools in self.lazies:
            trace = lazy.find(budget, limit)
            if trace is None:
                continue
            held = spans_of(lazy.masks, trace, pools)
            actions = [KEEP] * len(self.graph.tensors)
            for tensor, spans in held.items():
                actions[tensor] = next((span.by for span in spans if span.by != KEEP), KEEP)
            trial = self.attempt(Schedule(tuple(actions), held=held))
            if trial is not None:
                return trial
        return None
