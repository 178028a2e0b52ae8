"""Chooses segments for a budget: the quickest plan whose predicted peak keeps it.

Arithmetic on the step as it was traced without a plan says where to cut for what may be held; what is chosen was
traced as it will run. The difference between the two corrects what arithmetic is asked for next.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InfeasibleBudget
from ..units import format_size
from .cuts import KEEP, RECOMPUTE, SPILL, Cutter, Piece, Way
from .flatten import FlatGraph
from .plans import Plan, PlannedSegment
from .predicting import Peak, Predictor
from .runner import Runner, obeying
from .spill import TracedPool

_MOST_TRACED = 5
# A plan that uses so much of the room is not improved on.
_NEAR = 0.94
# Where a plan was too large, the next one is smaller by so much at least.
_STEP = 0.97
# Seconds that a byte takes to a file and back.
_SPILL_SECONDS = 1 / 1.5e8
# Where the smallest plan is looked for, in what arithmetic finds to be the smallest.
_SMALLEST = (1.0, 1.12)


@dataclass(frozen=True, slots=True)
class Tried:
    """A plan that was traced.

    Attributes:
        way: as arithmetic found it.
        peak: what was predicted for it.
    """

    way: Way
    peak: Peak


class Chooser:
    """Chooses plans for one model; what it has traced for one budget helps with others.

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
        self.profile = predictor.profile(graph)
        self.plain = self.profile.peak
        self.spill = spill
        self.traced: dict[tuple[Piece, ...], Tried] = {}
        self._cutter: Cutter | None = None
        self._smallest: int | None = None

    @property
    def cutter(self) -> Cutter:
        """What finds ways to cut the network."""
        if self._cutter is None:
            self._cutter = Cutter(self.profile.chain, self.profile.alone, _SPILL_SECONDS if self.spill else None)
        return self._cutter

    @property
    def smallest(self) -> int:
        """The least that arithmetic can have held."""
        if self._smallest is None:
            self._smallest = self.cutter.smallest()
        return self._smallest

    def choose(self, budget: int) -> Plan:
        """Returns the quickest plan that was found to keep a budget.

        Args:
            budget: bytes.

        Raises:
            InfeasibleBudget: none of the plans that were tried keeps it.
        """
        room = budget - self.resident
        if self.plain.bytes <= room:
            return self._plan(None, self.plain, budget)
        self._search(room)
        best = self._best(room) or self._last_resort(room)
        if best is None:
            raise self._refusal(budget)
        return self._plan(best.way, best.peak, budget)

    def _search(self, room: int) -> None:
        """Traces ways until one uses nearly all of the room."""
        held, low, high = self._asked(room), 0, int(self.cutter.tails[0])
        left = _MOST_TRACED
        while left and low < held < high:
            way = self.cutter.best(held)
            if way is None:
                return
            known = way.pieces in self.traced
            left -= not known
            peak = self._trace(way).peak.bytes
            if peak > room:
                high = held
                held = min(self._asked(room), int(_STEP * held))
            elif peak >= _NEAR * room or known:
                return
            else:
                low = held
                held = self._asked(room)

    def _asked(self, room: int) -> int:
        """What arithmetic has to be asked for so that the traced peak will be as large as the room."""
        base = self.profile.base
        known = [(tried.way.held, tried.peak.bytes - base) for tried in self.traced.values()]
        known.append((int(self.cutter.tails[0]), self.plain.bytes - base))
        wanted = max(1, room - base)
        # What was off by a factor near this size will be so again.
        held, peak = min(known, key=lambda pair: abs(pair[1] - wanted))
        return int(held * 0.99 * wanted / max(1, peak))

    def _best(self, room: int) -> Tried | None:
        """The quickest plan so far that keeps within some room."""
        fitting = [tried for tried in self.traced.values() if tried.peak.bytes <= room]
        return min(fitting, key=lambda tried: (tried.way.seconds, tried.peak.bytes), default=None)

    def _last_resort(self, room: int) -> Tried | None:
        """Tries the smallest plans, so that what is refused was really looked at."""
        for factor in _SMALLEST:
            way = self.cutter.best(int(self.smallest * factor))
            if way is not None:
                self._trace(way)
        return self._best(room)

    def _refusal(self, budget: int) -> InfeasibleBudget:
        peaks = [self.plain.bytes, *(tried.peak.bytes for tried in self.traced.values())]
        smallest = self.resident + min(peaks)
        data = f", {format_size(self.resident)} of them for the training data" if self.resident else ""
        return InfeasibleBudget(
            f"no plan trains '{self.graph.model.name}' with batches of {self.predictor.batch_size} in "
            f"{format_size(budget)}; the smallest budget for which there is one is {smallest} bytes "
            f"({format_size(smallest)}{data}; plain Keras: {format_size(self.plain.bytes + self.resident)})",
            smallest,
        )

    def _trace(self, way: Way) -> Tried:
        if way.pieces not in self.traced:
            self.traced[way.pieces] = Tried(way, self._peak(way))
        return self.traced[way.pieces]

    def _peak(self, way: Way) -> Peak:
        chain, pieces = self.profile.chain, way.pieces
        weights = [sum(chain.saved[piece.start : piece.end]) for piece in pieces]
        rows = list(zip(pieces, weights, strict=True))
        running = max((weight for piece, weight in rows if piece.mode != KEEP), default=0)
        kept = [weight if p.mode == KEEP else p.made if p.mode == RECOMPUTE else 0 for p, weight in rows]
        sizes, modes = [p.end - p.start for p in pieces], [p.mode for p in pieces]
        with obeying(Runner(self.graph, sizes, modes, TracedPool(), None, [_inner(p) for p in pieces])):
            peak = self.predictor.peak(self.graph, kept, running)
        # A tensor stays until its file is written, which takes longer than the prediction knows.
        waiting = max((piece.made for piece in pieces if piece.mode == SPILL), default=0)
        return Peak(peak.bytes + waiting, peak.fixed, peak.method)

    def _plan(self, way: Way | None, peak: Peak, budget: int) -> Plan:
        pieces = way.pieces if way else (Piece(0, len(self.graph.steps), KEEP),)
        segments = []
        for piece in pieces:
            steps = self.graph.steps[piece.start : piece.end]
            first, last = steps[0].name, steps[-1].name
            segments.append(PlannedSegment(first, last, len(steps), piece.mode, piece.made, (), _inner(piece)))
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


def _inner(piece: Piece) -> tuple[int, ...]:
    """The places of a piece's kept steps in it."""
    return tuple(step - piece.start for step in piece.kept)
