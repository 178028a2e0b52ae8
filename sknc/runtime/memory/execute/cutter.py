"""The least time for what may be held: where a network is cut, and what becomes of each piece.

Dynamic programming over the places for cuts. At each place stand the best ways to get there: for what they hold,
the least time that is spent again. A segment that is recomputed holds what it reads and what it keeps; a kept one
holds all that its backward pass reads; a spilled one holds nothing meanwhile.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .cuts import LONGEST, NEVER, Chain, Handed, Piece, Way, places
from .plans import KEEP, RECOMPUTE, SPILL

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
# What some ways hold, what they spend, and how they came.
Found = tuple[Ints, Floats, Ints]

# Ways that are remembered for each place; time and memory grow with them.
_WAYS = 16
# Outputs are kept inside of a segment when their seconds a byte are among the best third, two thirds, or at all.
_LEVELS = (0.67, 0.34, 0.0)
# Lengths of parts that are tried, in pieces between places: one more matters less, the more there are.
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
# What a segment costs besides, as its operations wait for each other: too little to outweigh a layer's time, but enough
# that cuts which gain nothing are not made.
_OVERHEAD = 2e-4


class Cutter:
    """Finds ways to train a network.

    Args:
        chain: the network.
        alone: steps that must not be run a second time.
        spill: seconds that putting away and fetching a byte take; None where no pool may be used.
        nested: whether segments may be run again part by part, each part a third time.
    """

    def __init__(
        self,
        chain: Chain,
        alone: frozenset[int] = frozenset(),
        spill: float | None = None,
        nested: bool = False,
    ) -> None:
        self.chain = chain
        self.spill = spill
        self.at = places(chain, alone)
        self.count = len(self.at) - 1
        crossing = chain.crossing()
        self.crossing = np.array([crossing[place] for place in self.at], dtype=np.int64)
        self.saved = [sum(chain.saved[start:end]) for start, end in self._atoms()]
        self.peaks = [self._peak(start, end) for start, end in self._atoms()]
        self.closed = [any(step in alone for step in range(start, end)) for start, end in self._atoms()]
        self.unsaved = self._unsaved()
        self.levels = self._levels()
        self.tails = self._tails()
        self.pairs = _Pairs(self)
        self.parts = _Parts(self.pairs, self.count) if nested else None

    def _atoms(self) -> list[tuple[int, int]]:
        return list(zip(self.at, self.at[1:], strict=False))

    def _peak(self, start: int, end: int) -> int:
        held = most = 0
        for step in range(start, end):
            held += self.chain.saved[step]
            most = max(most, held + self.chain.burst[step])
        return most

    def _unsaved(self) -> list[int]:
        """For each piece between two places what it hands on and no backward pass reads."""
        found = [0] * self.count
        for number, (start, end) in enumerate(self._atoms()):
            found[number] = sum(
                one.size for one in self.chain.handed if start <= one.made < end <= one.last and one.back == NEVER
            )
        return found

    def _levels(self) -> list[frozenset[int]]:
        """For each level the steps whose outputs are kept inside of a recomputed segment."""
        chain = self.chain
        worth = {
            step: chain.spared[step] / chain.output[step]
            for step in range(len(chain.saved))
            if chain.spared[step] > 0 and chain.output[step] > 0
        }
        order = sorted(worth, key=lambda step: worth[step])
        found = [frozenset[int]()]
        for level in _LEVELS:
            bar = worth[order[int(len(order) * level)]] if order else 0.0
            steps = frozenset(step for step in order if worth[step] >= bar)
            if steps not in found:
                found.append(steps)
        return found

    def _tails(self) -> Ints:
        """For each place the most that is held when everything from there on is kept."""
        found = [self.chain.end]
        for saved, peak in zip(reversed(self.saved), reversed(self.peaks), strict=True):
            found.append(max(peak, saved + found[-1]))
        return np.array(found[::-1], dtype=np.int64)

    def smallest(self) -> int:
        """Returns the least that may be held by any way that is found."""
        low, high = 0, max(int(self.tails[0]), 1)
        while high - low > max(1, high // 256):
            middle = (low + high) // 2
            if self.best(middle) is None:
                low = middle
            else:
                high = middle
        return high

    def best(self, held: int) -> Way | None:
        """Returns the quickest way that holds no more than so much, None where there is none.

        Args:
            held: bytes.
        """
        return _Search(self, held).run()


class _Pairs:
    """For each two places what the segment between them holds and takes; rows are ends, columns how far back."""

    def __init__(self, cutter: Cutter) -> None:
        chain, at, count = cutter.chain, cutter.at, cutter.count
        width, levels = min(LONGEST, count), len(cutter.levels)
        shape = (count + 1, width + 1)
        self.width = width
        self.run = np.full(shape, NEVER, dtype=np.int64)
        self.forward = np.full(shape, NEVER, dtype=np.int64)
        self.made = np.zeros(shape, dtype=np.int64)
        self.kept = np.zeros((*shape, levels), dtype=np.int64)
        self.seconds = np.zeros((*shape, levels), dtype=np.float64)
        starting: list[list[Handed]] = [[] for _ in at]
        atom = [number for number in range(count) for _ in range(at[number + 1] - at[number])]
        for one in chain.handed:
            starting[atom[one.made]].append(one)
        spared = [
            [step for step in range(at[number], at[number + 1]) if chain.spared[step] > 0] for number in range(count)
        ]
        seconds = [sum(chain.seconds[at[number] : at[number + 1]]) for number in range(count)]
        forward = [max(chain.forward[at[number] : at[number + 1]], default=0) for number in range(count)]
        for end in range(1, count + 1):
            peak = made = most = 0
            time = np.zeros(levels)
            kept = np.zeros(levels, dtype=np.int64)
            for back in range(1, min(width, end) + 1):
                start = end - back
                if cutter.closed[start]:
                    break
                late, given = 0, set[int]()
                for one in starting[start]:
                    if one.last >= at[end]:
                        made += one.size
                        given.update((*one.before, one.made))
                    if one.back >= at[end] and one.back != NEVER:
                        late += one.size
                peak = max(cutter.peaks[start] - late, cutter.saved[start] - late + peak)
                most = max(most, forward[start])
                time += seconds[start]
                for step in spared[start]:
                    for level, steps in enumerate(cutter.levels):
                        if step in given:
                            time[level] -= chain.spared[step]
                        elif step in steps:
                            time[level] -= chain.spared[step]
                            kept[level] += chain.output[step]
                self.run[end, back], self.made[end, back], self.forward[end, back] = peak, made, most
                self.kept[end, back], self.seconds[end, back] = kept, time + _OVERHEAD


class _Parts:
    """For each two places the least that a segment between them holds when it is run again part by part.

    Args:
        pairs: of all places.
        count: how many pieces there are between places.
    """

    def __init__(self, pairs: _Pairs, count: int) -> None:
        self.run = np.full_like(pairs.run, NEVER)
        self.width = np.zeros_like(pairs.run)
        for end in range(1, count + 1):
            backs = np.arange(1, min(pairs.width, end) + 1)
            for width in _PARTS:
                if width >= len(backs):
                    break
                # All parts but the last one (the nearest to the end) hold what they hand on.
                held, most = np.zeros_like(backs), np.zeros_like(backs)
                for after in range(end, end - len(backs), -width):
                    own = backs[backs > end - after]
                    inside = np.minimum(own - (end - after), width)
                    run, made = pairs.run[after, inside], pairs.made[after, inside]
                    most[own - 1] = np.maximum(most[own - 1], run)
                    if after != end:
                        held[own - 1] += made
                total = np.where(backs > width, held + most, NEVER)
                better = total < self.run[end, backs]
                self.run[end, backs[better]] = total[better]
                self.width[end, backs[better]] = width

    def bounds(self, start: int, end: int) -> list[int]:
        """Returns the places at which the parts of a segment meet, its two ends included.

        Args:
            start: where it starts.
            end: where it ends.
        """
        width = int(self.width[end, end - start])
        return [start, *range(end - (end - start - 1) // width * width, end, width), end]


_KEPT, _SPILLED, _CHANGED, _IN_PARTS = -1, -2, -3, -4
# How a way came to a place: from which place, by which way there, 0 for one that had only spilled, its last choice.
_ORIGIN = 4


class _Ways:
    """The best ways to each place, by what they hold, in rows of equal length; what is not there takes for ever.

    Args:
        count: how many places there are.
    """

    def __init__(self, count: int) -> None:
        self.held = np.full((count, _WAYS), NEVER, dtype=np.int64)
        self.seconds = np.full((count, _WAYS), np.inf)
        self.origin = np.full((count, _WAYS, _ORIGIN), -1, dtype=np.int64)

    def put(self, place: int, held: Ints, seconds: Floats, origin: Ints) -> None:
        """Takes ways to a place, leaves out those that are no better than others, and some that are much like others.

        Args:
            place: the place.
            held: what each way holds.
            seconds: what it spends.
            origin: how it came.
        """
        order = np.lexsort((seconds, held))
        better = np.ones(len(order), dtype=bool)
        better[1:] = seconds[order][1:] < np.minimum.accumulate(seconds[order])[:-1]
        order = order[better]
        if len(order) > _WAYS:
            wanted = np.linspace(held[order[0]], held[order[-1]], _WAYS)
            order = order[np.unique(np.searchsorted(held[order], wanted, side="right") - 1)]
        count = len(order)
        self.held[place, :count] = held[order]
        self.seconds[place, :count] = seconds[order]
        self.origin[place, :count] = origin[order]


class _Search:
    """One search: nothing may ever hold more than so much."""

    def __init__(self, cutter: Cutter, most: int) -> None:
        self.cutter = cutter
        self.most = most
        # Ways that have only spilled so far, and others.
        self.ways = (_Ways(cutter.count + 1), _Ways(cutter.count + 1))
        for kind in (0, 1) if cutter.spill is not None else (1,):
            self.ways[kind].held[0, 0] = self.ways[kind].seconds[0, 0] = 0

    def run(self) -> Way | None:
        """Returns the quickest way, None where there is none."""
        for end in range(1, self.cutter.count + 1):
            found = []
            if self.cutter.spill is not None:
                self.ways[0].put(end, *_joined([self._kept(end, 0), self._spilled(end)]))
                found.append(self._changed(end))
            self.ways[1].put(end, *_joined([*found, self._kept(end, 1), self._recomputed(end)]))
        return self._finished()

    def _changed(self, place: int) -> Found:
        """Ways that do not spill any more: what crosses here is read by segments that hold it."""
        ways = self.ways[0]
        there = np.flatnonzero(ways.seconds[place] < np.inf)
        more = ways.held[place, there] + self.cutter.crossing[place]
        return more, ways.seconds[place, there], _origin(np.full_like(there, place), there, 0, _CHANGED)

    def _kept(self, end: int, kind: int) -> Found:
        cutter, ways, start = self.cutter, self.ways[kind], end - 1
        there = np.flatnonzero(ways.held[start] + cutter.peaks[start] <= self.most)
        more = cutter.saved[start] + (cutter.unsaved[start] if kind else 0)
        origin = _origin(np.full_like(there, start), there, kind, _KEPT)
        return ways.held[start, there] + more, ways.seconds[start, there], origin

    def _spilled(self, end: int) -> Found:
        cutter, pairs, ways = self.cutter, self.cutter.pairs, self.ways[0]
        back = np.arange(1, min(pairs.width, end) + 1)
        starts = end - back
        made = pairs.made[end, back]
        most = np.maximum(cutter.crossing[starts] + pairs.run[end, back], pairs.forward[end, back] + made)
        rows, there = np.nonzero(ways.held[starts] + most[:, None] <= self.most)
        seconds = pairs.seconds[end, back, 0] + made * (cutter.spill or 0.0)
        origin = _origin(starts[rows], there, 0, _SPILLED)
        return ways.held[starts[rows], there], ways.seconds[starts[rows], there] + seconds[rows], origin

    def _recomputed(self, end: int) -> Found:
        cutter, pairs, ways = self.cutter, self.cutter.pairs, self.ways[1]
        back = np.arange(1, min(pairs.width, end) + 1)
        starts = end - back
        held = ways.held[starts]
        forward = (
            np.maximum(held - cutter.crossing[starts][:, None], 0) + pairs.forward[end, back][:, None] <= self.most
        )
        rows, there = np.nonzero(forward & (held + pairs.run[end, back][:, None] <= self.most))
        found = []
        for level in range(len(cutter.levels)):
            more = pairs.made[end, back] + pairs.kept[end, back, level]
            origin = _origin(starts[rows], there, 1, level)
            seconds = ways.seconds[starts[rows], there] + pairs.seconds[end, back, level][rows]
            found.append((held[rows, there] + more[rows], seconds, origin))
        if cutter.parts is not None:
            rows, there = np.nonzero(forward & (held + cutter.parts.run[end, back][:, None] <= self.most))
            twice = ways.seconds[starts[rows], there] + 2 * pairs.seconds[end, back, 0][rows]
            origin = _origin(starts[rows], there, 1, _IN_PARTS)
            found.append((held[rows, there] + pairs.made[end, back][rows], twice, origin))
        return _joined(found)

    def _finished(self) -> Way | None:
        cutter = self.cutter
        best: tuple[float, int, int, int, int] | None = None
        for kind, ways in enumerate(self.ways):
            # What a kept tail reads of spilled pieces is held.
            more = cutter.tails if kind else cutter.tails + cutter.crossing
            for place, way in zip(*np.nonzero(ways.held + more[:, None] <= self.most), strict=True):
                rank = (float(ways.seconds[place, way]), int(ways.held[place, way]), int(place), kind, int(way))
                best = min(best, rank) if best else rank
        return self._followed(*best[2:], best[0]) if best else None

    def _followed(self, place: int, kind: int, way: int, seconds: float) -> Way:
        """Follows a way back to its start."""
        cutter = self.cutter
        pieces: list[Piece] = []
        if place < cutter.count:
            pieces.append(self._piece(place, cutter.count, _KEPT))
        while place:
            start, before, came, choice = (int(part) for part in self.ways[kind].origin[place, way])
            if choice != _CHANGED:
                pieces.append(self._piece(start, place, choice))
            place, way, kind = start, before, came
        joined: list[Piece] = []
        for piece in reversed(pieces):
            if joined and joined[-1].mode == piece.mode == KEEP:
                joined[-1] = Piece(joined[-1].start, piece.end, KEEP, joined[-1].made + piece.made)
            else:
                joined.append(piece)
        return Way(tuple(joined), self.most, seconds)

    def _piece(self, start: int, end: int, choice: int) -> Piece:
        cutter = self.cutter
        first, last = cutter.at[start], cutter.at[end]
        handed = [one for one in cutter.chain.handed if first <= one.made < last <= one.last]
        made = sum(one.size for one in handed)
        if choice == _KEPT:
            return Piece(first, last, KEEP, made)
        if choice == _SPILLED:
            return Piece(first, last, SPILL, made)
        if choice == _IN_PARTS and cutter.parts is not None:
            bounds = [cutter.at[place] for place in cutter.parts.bounds(start, end)]
            sizes = tuple(after - before for before, after in itertools.pairwise(bounds))
            return Piece(first, last, RECOMPUTE, made, (), sizes)
        # What is handed on is held anyway, and need not be made again where its own backward pass reads it.
        given = {one.made for one in handed if one.back < last}
        kept = {step for step in cutter.levels[choice] if first <= step < last} | given
        late = {one.made for one in handed} - given
        # What was in the memory of something that is held need not be made again either.
        late |= {step for one in handed for step in one.before}
        return Piece(first, last, RECOMPUTE, made, tuple(sorted(s for s in kept - late if cutter.chain.spared[s] > 0)))


def _origin(starts: Ints, ways: Ints, kind: int, choice: int) -> Ints:
    """How ways came to a place."""
    return np.stack([starts, ways, np.full_like(ways, kind), np.full_like(ways, choice)], axis=-1)


def _joined(found: Sequence[Found]) -> Found:
    """Ways of several sorts, as one."""
    held, seconds, origin = zip(*found, strict=True)
    return np.concatenate(held), np.concatenate(seconds), np.concatenate(origin)
