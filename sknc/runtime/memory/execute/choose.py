"""Chooses segments for a budget: the cheapest plan whose predicted peak keeps it.

Candidates are partitions of the network, each with its last segments kept (they are the first to be freed) and
the others recomputed or spilled. An estimate orders them; what is chosen was traced as it will run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import InfeasibleBudget
from ..units import format_size
from .candidates import FAMILIES, Candidate, candidates, chain_of
from .flatten import FlatGraph
from .moves import moves, within
from .plans import KEEP, MOVING, RECOMPUTE, Plan, PlannedSegment
from .pools import Pools
from .predicting import Peak, Predictor
from .purity import kept_steps
from .runner import Runner

_MOST_TRACED = 6


class Chooser:
    """Chooses a plan for one model.

    Args:
        graph: the model's flat graph.
        predictor: of the model.
        resident: bytes that the input pipeline keeps on the device.
        pools: that may be used; the usual ones when left out.
    """

    def __init__(self, graph: FlatGraph, predictor: Predictor, resident: int = 0, pools: Pools | None = None) -> None:
        self.graph = graph
        self.predictor = predictor
        self.resident = resident
        self.pools = pools or Pools()
        self.chain = chain_of(graph, predictor.batch_size)
        self.plain = self._peak(None)
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
        alone = kept_steps(self.graph, self.predictor.batch_size)
        options = [self._within(option) for option in candidates(self.chain, alone, self.pools.limits)]
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
        peak = self._peak(best, ahead=True) if self._moves(best) else None
        if peak is not None and peak.bytes <= room:
            return self._plan(best, peak, budget, ahead=True)
        return self._plan(best, self.traced[best], budget)

    @staticmethod
    def _moves(option: Candidate) -> bool:
        return any(mode in MOVING for mode in option.modes)

    def _within(self, option: Candidate) -> Candidate:
        """The same within the pools' budgets."""
        limits = self.pools.limits
        tight = any(sum(option.made) > limit for mode, limit in limits.items() if mode in option.modes)
        if not tight:
            return option
        return replace(option, modes=within(self.graph, self.predictor.batch_size, option.sizes, option.modes, limits))

    def _last_resort(self, options: Sequence[Candidate], room: int) -> Candidate | None:
        """Tries the smallest plans of each family, so that what is refused was really looked at."""
        for family in (*FAMILIES, None):
            # The last try is where least was held so far.
            least = min(self.traced, key=lambda option: self.traced[option].bytes).family if family is None else family
            left = [option for option in options if option.family == least and option not in self.traced]
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

    def _peak(self, option: Candidate | None, ahead: bool = False) -> Peak:
        if option is None:
            return self.predictor.peak(self.graph, self.chain.weights, 0)
        rows = list(zip(option.modes, option.weights, option.made, strict=True))
        running = max(weight for mode, weight, _ in rows if mode != KEEP)  # parts of a segment are not looked into
        kept = [weight if mode == KEEP else made if mode == RECOMPUTE else 0 for mode, weight, made in rows]
        runner = Runner(
            self.graph, option.sizes, option.modes, self.pools.stand_ins(option.modes), option.parts, ahead=ahead
        )
        with obeying(runner):
            peak = self.predictor.peak(self.graph, kept, running, self.pools.host or "")
        # A tensor stays until it is put away, which takes longer than the prediction knows.
        waiting = sorted((made for mode, _, made in rows if mode in MOVING), reverse=True)
        return Peak(peak.bytes + sum(waiting[: 2 if ahead else 1]), peak.fixed, peak.method)

    def _plan(self, option: Candidate | None, peak: Peak, budget: int, ahead: bool = False) -> Plan:
        count = len(self.graph.steps)
        sizes = option.sizes if option else (count,)
        modes = option.modes if option else (KEEP,)
        made = option.made if option else (0,)
        parts = option.parts if option else ((),)
        moved = moves(self.graph, self.predictor.batch_size, sizes, modes)
        segments, start = [], 0
        for size, mode, handed, own, (away, back) in zip(sizes, modes, made, parts, moved, strict=True):
            steps = self.graph.steps[start : start + size]
            first, last = steps[0].name, steps[-1].name
            segments.append(PlannedSegment(first, last, size, mode, handed, own, written_bytes=away, read_bytes=back))
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
            ahead,
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
