"""Chooses segments for a budget: the quickest plan whose predicted peak keeps it.

Arithmetic on the step as it was traced without a plan says where to cut for what may be held; what is chosen was
traced as it will run. The difference between the two corrects what arithmetic is asked for next.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ..errors import InfeasibleBudget, StuckStep
from ..units import format_size
from .cuts import Piece, Way
from .cutter import Cutter
from .flatten import FlatGraph
from .moves import moves, within
from .plans import KEEP, MOVING, OFFLOAD, RECOMPUTE, SPILL, Plan, PlannedSegment
from .pools import Pools
from .predicting import Expected, Predictor, fingerprint
from .runner import Runner, obeying
from .shapes import described

# Plans that are traced for one budget; traces and their drawn steps are what planning takes its time for.
_MOST_TRACED = 3
# Seconds that a byte takes to the host's memory (PCI-E 3: 8 GB/s) or to a file (a disk of 300 MB/s), and back.
_SECONDS = {OFFLOAD: 2 / 8e9, SPILL: 1 / 1.5e8}
# What arithmetic is asked for, from the smallest on, each so much more than the one before: a plan for less than it
# could have had holds some percent less at most.
_STEP = 1.06
# A plan that was traced and too large says that the next one has to be estimated at so much less at least; that is less
# than from one rung to the next, so that none is left out.
_LESS = 0.97
# So many of each sort are looked at before a budget is refused: those within a fifth of the smallest.
_SMALLEST = 4
# What order and the allocator add to arithmetic, for what is estimated by arithmetic alone. A guess that only says what
# is traced first: no plan is taken untraced.
_UNSEEN = 1.15
# An estimate is not taken for more than so much too large.
_LEAST_SCALE = 0.6
# Of a plan that the imitation could not run: more than any budget.
_NEVER = Expected(2**62, 2**62)
# A sort of ways beside those that are named like the mode of their pieces.
_PARTS = "parts"


class Chooser:
    """Chooses plans for one model; what it has found out for one budget helps with others.

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
        self.profile = predictor.profile(graph)
        self.plain = self.profile.expected.peak
        self.pools = pools or Pools()
        # What costs least is looked at first.
        self.sorts = [s for s in (RECOMPUTE, OFFLOAD, _PARTS, SPILL) if s not in MOVING or s in self.pools.limits]
        self.ladders: dict[str, _Ladder] = {}
        self.estimates: dict[Way, int] = {}
        self.traced: dict[Way, Expected] = {}
        # What was traced against what was estimated: estimates leave out what segments wait for.
        self.scale = 1.0

    def choose(self, budget: int) -> Plan:
        """Returns the quickest plan that was found to keep a budget.

        Args:
            budget: bytes.

        Raises:
            InfeasibleBudget: none of the plans that were tried keeps it.
        """
        room = budget - self.resident
        if self.plain <= room:
            return self._plan(None, self.profile.expected, budget)
        self._look(room)
        enough = room
        for _ in range(_MOST_TRACED):
            best = self._best(room)
            fitting = [way for way in self.estimates if self._likely(way) <= enough and way not in self.traced]
            way = min(fitting, key=lambda way: (way.seconds, self.estimates[way]), default=None)
            if way is None or (best is not None and best.seconds <= way.seconds):
                break
            if self._trace(way) > room:
                enough = int(_LESS * self._likely(way))
        best = self._best(room) or self._last_resort(room)
        if best is None:
            raise self._refusal(budget)
        ahead = self._expected(best, ahead=True) if any(piece.mode in MOVING for piece in best.pieces) else None
        if ahead is not None and ahead.peak <= room:
            return self._plan(best, ahead, budget, ahead=True)
        return self._plan(best, self.traced[best], budget)

    def _ladder(self, sort: str) -> _Ladder:
        """The ways of one sort; found when they are first needed."""
        if sort not in self.ladders:
            spill = _SECONDS.get(sort)
            cutter = Cutter(self.profile.chain, self.profile.alone, spill, nested=sort == _PARTS)
            self.ladders[sort] = _Ladder(cutter, sort)
        return self.ladders[sort]

    def _look(self, room: int) -> None:
        """Estimates plans around some room, until those that fit are known."""
        fitted = False
        for sort in self.sorts:
            # Part by part or from the disk is for budgets that nothing else keeps.
            if fitted and sort in (_PARTS, SPILL):
                break
            if not self._worth(sort):
                continue
            ladder = self._ladder(sort)
            rung = ladder.rung(room - self.profile.base) + 1
            fitting = 0
            # Order and the allocator make some plans larger than arithmetic has it: one below may not be smaller.
            while rung >= 0 and fitting < 2:
                fitting += self._likely(self._placed(ladder.way(rung), sort)) <= room
                rung -= 1
            fitted = fitted or fitting > 0

    def _worth(self, sort: str) -> bool:
        """Whether a sort of ways gets by with less than recomputing alone."""
        return sort == RECOMPUTE or self._ladder(sort).smallest <= _LESS * self._ladder(RECOMPUTE).smallest

    def _placed(self, way: Way, price: str) -> Way:
        """A way whose spilled pieces use the fastest pool that there is, as far as that is large enough.

        Its seconds were reckoned at another pool's price.
        """
        pool = next((mode for mode in MOVING if mode in self.pools.limits), None)
        modes = [pool if pool is not None and piece.mode == SPILL else piece.mode for piece in way.pieces]
        if pool is not None and pool in modes and sum(piece.made for piece in way.pieces) > self.pools.limits[pool]:
            sizes = [piece.end - piece.start for piece in way.pieces]
            modes = list(within(self.graph, self.predictor.batch_size, sizes, modes, self.pools.limits))
        pieces = tuple(replace(piece, mode=own) for piece, own in zip(way.pieces, modes, strict=True))
        slower = sum(piece.made * (_SECONDS[piece.mode] - _SECONDS[price]) for piece in pieces if piece.mode in MOVING)
        return replace(way, pieces=pieces, seconds=way.seconds + slower)

    def _best(self, room: int) -> Way | None:
        """The quickest plan so far that was traced and keeps within some room."""
        fitting = [way for way, expected in self.traced.items() if expected.peak <= room]
        return min(fitting, key=lambda way: (way.seconds, self.traced[way].peak), default=None)

    def _last_resort(self, room: int) -> Way | None:
        """Traces small plans of each sort, so that what is refused was really looked at."""
        for sort in filter(self._worth, self.sorts):
            ways = [self._placed(self._ladder(sort).way(rung), sort) for rung in range(_SMALLEST)]
            enough = min(map(self._estimate, ways)) / _LESS
            small = [way for way in ways if self.estimates[way] <= enough]
            # The quickest one of those that are about as small as the smallest, and the smallest one.
            quickest = min(small, key=lambda way: (way.seconds, self.estimates[way]))
            smallest = min(small, key=lambda way: (self.estimates[way], way.held))
            if self._trace(quickest) <= room or self._trace(smallest) <= room:
                break
        return self._best(room)

    def _refusal(self, budget: int) -> InfeasibleBudget:
        peaks = [self.plain, *(expected.peak for expected in self.traced.values())]
        smallest = self.resident + min(peaks)
        data = f", {format_size(self.resident)} of them for the training data" if self.resident else ""
        return InfeasibleBudget(
            f"no plan trains '{self.graph.model.name}' with batches of {self.predictor.batch_size} in "
            f"{format_size(budget)}; the smallest budget for which there is one is {smallest} bytes "
            f"({format_size(smallest)}{data}; plain Keras: {format_size(self.plain + self.resident)})",
            smallest,
        )

    def _estimate(self, way: Way) -> int:
        if any(piece.parts for piece in way.pieces):
            size = self.profile.base + int(_UNSEEN * way.held)
            self.estimates[way] = min(size, self.estimates.get(way, size))
        elif way not in self.estimates:
            try:
                self.estimates[way] = self.predictor.estimate(self.profile, way.pieces) + _waiting(way)
            except StuckStep:
                self.estimates[way] = _NEVER.peak
        return self.estimates[way]

    def _likely(self, way: Way) -> int:
        """What a way will hold, going by its estimate and by the last one that was traced."""
        return int(self.scale * self._estimate(way))

    def _trace(self, way: Way) -> int:
        if way not in self.traced:
            try:
                self.traced[way] = self._expected(way)
            except StuckStep:
                # Nobody knows what it would hold. There are others.
                self.traced[way] = _NEVER
            else:
                scale = self.traced[way].peak / max(1, self.estimates.get(way, 0))
                self.scale = min(1.0, max(_LEAST_SCALE, scale))
        return self.traced[way].peak

    def _expected(self, way: Way, ahead: bool = False) -> Expected:
        pieces = way.pieces
        sizes, modes = [p.end - p.start for p in pieces], [p.mode for p in pieces]
        pools, parts, kept = self.pools.stand_ins(modes), [p.parts for p in pieces], [_inner(p) for p in pieces]
        batch = self.predictor.batch_size
        with obeying(Runner(self.graph, sizes, modes, pools, parts, kept, ahead, batch)):
            return self.predictor.expected(self.pools.host or "").plus(_waiting(way, ahead))

    def _plan(self, way: Way | None, expected: Expected, budget: int, ahead: bool = False) -> Plan:
        pieces = way.pieces if way else (Piece(0, len(self.graph.steps), KEEP),)
        sizes, modes = [piece.end - piece.start for piece in pieces], [piece.mode for piece in pieces]
        moved = moves(self.graph, self.predictor.batch_size, sizes, modes)
        segments = []
        for piece, (away, back) in zip(pieces, moved, strict=True):
            steps = self.graph.steps[piece.start : piece.end]
            first, last = steps[0].name, steps[-1].name
            segments.append(
                PlannedSegment(first, last, len(steps), piece.mode, piece.made, piece.parts, _inner(piece), away, back)
            )
        return Plan(
            self.graph.model.name,
            fingerprint(self.graph.model),
            self.predictor.batch_size,
            self.predictor.optimizer_name,
            self.predictor.allocator,
            self.resident,
            budget,
            expected.peak + self.resident,
            self.plain + self.resident,
            tuple(segments),
            ahead,
            expected.peak - expected.scheduled,
            described(self.predictor.shape),
        )


class _Ladder:
    """The ways of one cutter, from the smallest on.

    Args:
        cutter: finds them.
        mode: of its pieces that spill.
    """

    def __init__(self, cutter: Cutter, mode: str = SPILL) -> None:
        self.cutter = cutter
        self.mode = mode
        self.smallest = cutter.smallest()
        self.ways: dict[int, Way] = {}

    def rung(self, held: int) -> int:
        """Returns the last rung that holds no more than so much; negative for none.

        Args:
            held: bytes.
        """
        most = min(held, int(self.cutter.tails[0]))
        return math.floor(math.log(most / self.smallest, _STEP)) if most >= self.smallest else -1

    def way(self, rung: int) -> Way:
        """Returns the way of a rung.

        Args:
            rung: from 0.
        """
        if rung not in self.ways:
            way = self.cutter.best(math.ceil(self.smallest * _STEP**rung))
            assert way is not None, "there is a way at the smallest"
            self.ways[rung] = way
        return self.ways[rung]


def _waiting(way: Way, ahead: bool = False) -> int:
    """What waits to be put away: a tensor stays until that is done, which takes longer than predictions know."""
    sizes = sorted((piece.made for piece in way.pieces if piece.mode in MOVING), reverse=True)
    return sum(sizes[: 2 if ahead else 1])


def _inner(piece: Piece) -> tuple[int, ...]:
    """The places of a piece's kept steps in it."""
    return tuple(step - piece.start for step in piece.kept)
