"""Chooses segments for a budget: the cheapest plan whose predicted peak keeps it.

Candidates are partitions of the network, each with its last segments kept (they are the first to be freed) and
the others recomputed or spilled. An estimate orders them; what is chosen was traced as it will run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InfeasibleBudget
from ..units import format_size
from .cuts import Chain, Partition, partitions
from .flatten import FlatGraph
from .plans import KEEP, RECOMPUTE, SPILL, Plan, PlannedSegment
from .predicting import Peak, Predictor
from .purity import kept_steps
from .runner import Runner
from .spill import TracedPool

# Writing and reading a byte against computing it again, roughly.
_SPILL_COST = 4.0
_MOST_TRACED = 6
_KEPT_CHOICES = 12


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan that may be tried.

    Attributes:
        sizes: steps of each segment.
        modes: of each segment.
        weights: bytes that each segment makes in all.
        made: bytes that each segment hands on.
    """

    sizes: tuple[int, ...]
    modes: tuple[str, ...]
    weights: tuple[int, ...]
    made: tuple[int, ...]

    @property
    def cost(self) -> float:
        """How much is done again, in bytes."""
        rows = zip(self.modes, self.weights, self.made, strict=True)
        return sum(
            (mode != KEEP) * weight + (mode == SPILL) * _SPILL_COST * made for mode, weight, made in rows
        ) + 1e-6 * len(self.sizes)

    @property
    def family(self) -> str:
        """What estimates of it have in common with those of others."""
        return next((mode for mode in self.modes if mode != KEEP), KEEP)

    def held(self, factor: float) -> float:
        """Estimates what is held besides variables and the like at the worst moment.

        Args:
            factor: what a segment holds while it runs backward, for each byte that it makes.
        """
        spilled = SPILL in self.modes
        passed, worst, kept = 0.0, 0.0, 0.0
        for mode, weight, made in zip(self.modes, self.weights, self.made, strict=True):
            if mode == KEEP:
                kept += factor * weight
                worst = max(worst, passed + kept)
                continue
            worst = max(worst, passed + kept + factor * weight + (made if spilled else 0))
            passed += 0 if spilled else made
        return max(worst, passed + kept)


def chain_of(graph: FlatGraph, batch: int) -> Chain:
    """Returns a network as arithmetic sees it.

    Args:
        graph: the flat graph.
        batch: samples in a batch.
    """
    last = {key: len(graph.steps) for key in graph.outputs}
    for place, step in reversed(list(enumerate(graph.steps))):
        for _, key in step.reads:
            last.setdefault(key, place)
    weights, tensors = [], []
    for place, step in enumerate(graph.steps):
        sizes = [0 if step.enters else graph.size(key, batch) for key in step.makes]
        weights.append(sum(sizes))
        tensors += [(place, last.get(key, place), size) for key, size in zip(step.makes, sizes, strict=True)]
    return Chain(tuple(weights), tuple(tensors))


def _isolated(found: Partition, chain: Chain, alone: frozenset[int]) -> tuple[list[int], list[int], list[bool]]:
    """Splits segments so that some steps stand alone: sizes, starts, and which ones are alone."""
    sizes: list[int] = []
    single: list[bool] = []
    start = 0
    for size in found.sizes:
        run = 0
        for place in range(start, start + size):
            if place in alone:
                sizes += [run, 1] if run else [1]
                single += [False, True] if run else [True]
                run = 0
            else:
                run += 1
        if run:
            sizes.append(run)
            single.append(False)
        start += size
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    return sizes, starts, single


def candidates(chain: Chain, alone: frozenset[int], spill: bool) -> list[Candidate]:
    """Returns the plans that may be tried.

    Args:
        chain: the network.
        alone: places of steps that must not be run a second time.
        spill: whether the disk may be used.
    """
    result = []
    for found in partitions(chain):
        sizes, starts, single = _isolated(found, chain, alone)
        weights = [sum(chain.weights[start : start + size]) for start, size in zip(starts, sizes, strict=True)]
        made = [0] * len(sizes)
        owner = [number for number, size in enumerate(sizes) for _ in range(size)]
        for at, last, size in chain.tensors:
            if last >= starts[owner[at]] + sizes[owner[at]]:
                made[owner[at]] += size
        count = len(sizes)
        kept = sorted({1, *(round(count * part / _KEPT_CHOICES) for part in range(1, _KEPT_CHOICES))} - {count})
        for mode in (RECOMPUTE, SPILL) if spill else (RECOMPUTE,):
            for tail in kept if count > 1 else []:
                modes = [KEEP if lone or n >= count - tail else mode for n, lone in enumerate(single)]
                if any(one != KEEP for one in modes):
                    result.append(Candidate(tuple(sizes), tuple(modes), tuple(weights), tuple(made)))
    return result


class Chooser:
    """Chooses a plan for one model.

    Args:
        graph: the model's flat graph.
        predictor: of the model.
        resident: bytes that the input pipeline keeps on the device.
        spill: whether the disk may be used.
    """

    def __init__(self, graph: FlatGraph, predictor: Predictor, resident: int = 0, spill: bool = True) -> None:
        self.graph = graph
        self.predictor = predictor
        self.resident = resident
        self.chain = chain_of(graph, predictor.batch_size)
        self.plain = self._peak(None)
        self.spill = spill
        self.traced: dict[Candidate, Peak] = {}
        self.ratios: dict[str, float] = {}

    def choose(self, budget: int) -> Plan:
        """Returns the cheapest plan that was found to keep a budget.

        Args:
            budget: bytes.

        Raises:
            InfeasibleBudget: none of the plans that were tried keeps it.
        """
        room = budget - self.resident
        if self.plain.bytes <= room:
            return self._plan(None, self.plain, budget)
        options = candidates(self.chain, kept_steps(self.graph, self.predictor.batch_size), self.spill)
        best: Candidate | None = None
        for _ in range(_MOST_TRACED):
            cheaper = [
                option
                for option in options
                if option not in self.traced
                and self._estimate(option) <= room
                and (not best or option.cost < best.cost)
            ]
            if not cheaper:
                break
            tried = min(cheaper, key=lambda option: (option.cost, self._estimate(option)))
            if self._trace(tried).bytes <= room:
                best = tried
        if best is None:
            best = self._last_resort(options, room)
        if best is None:
            raise self._refusal(budget)
        return self._plan(best, self.traced[best], budget)

    def _last_resort(self, options: Sequence[Candidate], room: int) -> Candidate | None:
        """Tries the smallest plans of each family, so that what is refused was really looked at."""
        for _ in range(2):
            for family in (RECOMPUTE, SPILL):
                left = [option for option in options if option.family == family and option not in self.traced]
                if left:
                    tried = min(left, key=lambda option: (self._estimate(option), option.cost))
                    if self._trace(tried).bytes <= room:
                        return tried
        return None

    def _refusal(self, budget: int) -> InfeasibleBudget:
        smallest = self.resident + min([self.plain.bytes, *(peak.bytes for peak in self.traced.values())])
        data = f", {format_size(self.resident)} of them for the training data" if self.resident else ""
        return InfeasibleBudget(
            f"no plan trains '{self.graph.model.name}' with batches of {self.predictor.batch_size} in "
            f"{format_size(budget)}; the smallest budget for which there is one is {smallest} bytes "
            f"({format_size(smallest)}{data}; plain Keras: {format_size(self.plain.bytes + self.resident)})",
            smallest,
        )

    def _estimate(self, option: Candidate) -> float:
        everything = max(1, sum(self.chain.weights))
        factor = max(0.25, (self.plain.bytes - self.plain.fixed) / everything)
        return self.plain.fixed + self.ratios.get(option.family, 1.0) * option.held(factor)

    def _trace(self, option: Candidate) -> Peak:
        peak = self._peak(option)
        self.traced[option] = peak
        estimate = (self._estimate(option) - self.plain.fixed) / self.ratios.get(option.family, 1.0)
        self.ratios[option.family] = max(0.1, (peak.bytes - self.plain.fixed) / max(1.0, estimate))
        return peak

    def _peak(self, option: Candidate | None) -> Peak:
        if option is None:
            return self.predictor.peak(self.graph, self.chain.weights, 0)
        rows = list(zip(option.modes, option.weights, option.made, strict=True))
        running = max(weight for mode, weight, _ in rows if mode != KEEP)
        kept = [weight if mode == KEEP else made if mode == RECOMPUTE else 0 for mode, weight, made in rows]
        with obeying(Runner(self.graph, option.sizes, option.modes, TracedPool())):
            peak = self.predictor.peak(self.graph, kept, running)
        # A tensor stays until its file is written, which takes longer than the prediction knows.
        waiting = max((made for mode, _, made in rows if mode == SPILL), default=0)
        return Peak(peak.bytes + waiting, peak.fixed, peak.method)

    def _plan(self, option: Candidate | None, peak: Peak, budget: int) -> Plan:
        count = len(self.graph.steps)
        sizes = option.sizes if option else (count,)
        modes = option.modes if option else (KEEP,)
        made = option.made if option else (0,)
        segments, start = [], 0
        for size, mode, handed in zip(sizes, modes, made, strict=True):
            steps = self.graph.steps[start : start + size]
            segments.append(PlannedSegment(steps[0].name, steps[-1].name, size, mode, handed))
            start += size
        return Plan(
            self.graph.model.name,
            self.predictor.batch_size,
            self.predictor.optimizer_name,
            self.predictor.allocator,
            self.resident,
            budget,
            peak.bytes + self.resident,
            self.plain.bytes + self.resident,
            peak.method,
            tuple(segments),
        )


class obeying:  # noqa: N801  # used like a function
    """A scope in which a model runs by a plan.

    Args:
        runner: takes the place of the model's `call`.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.model = runner.graph.model
        self.before: Any = None

    def __enter__(self) -> None:
        self.before = vars(self.model).get("call")
        self.model.call = self.runner

    def __exit__(self, *_: object) -> None:
        if self.before is None:
            del self.model.call
        else:
            self.model.call = self.before
