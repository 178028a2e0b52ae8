"""Plans that may be tried: partitions of a network, and what becomes of each segment."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .cuts import Chain, Partition, partitions
from .flatten import FlatGraph
from .plans import KEEP, MOVING, OFFLOAD, RECOMPUTE, SPILL

# Recomputing part by part computes everything twice again.
NESTED = "nested"
FAMILIES = (RECOMPUTE, NESTED, OFFLOAD, SPILL)
# Moving a byte away and back against computing it again, roughly.
_MOVED_COST = {OFFLOAD: 1.0, SPILL: 4.0}
_KEPT_CHOICES = 12
# Segments that are run part by part are few and long.
_MOST_NESTED = 16


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan that may be tried.

    Attributes:
        sizes: steps of each segment.
        modes: of each segment.
        weights: bytes that each segment makes in all.
        made: bytes that each segment hands on.
        parts: of each segment, the sizes of the parts in which it is run again; empty for one go.
        inner: of each segment with parts, what those hand on and the heaviest of them, in bytes.
    """

    sizes: tuple[int, ...]
    modes: tuple[str, ...]
    weights: tuple[int, ...]
    made: tuple[int, ...]
    parts: tuple[tuple[int, ...], ...]
    inner: tuple[tuple[int, int], ...]

    @property
    def cost(self) -> float:
        """How much is done again, in bytes."""
        rows = zip(self.modes, self.weights, self.made, self.parts, strict=True)
        again = sum(
            (mode != KEEP) * weight * (2 if parts else 1) + _MOVED_COST.get(mode, 0.0) * made
            for mode, weight, made, parts in rows
        )
        return again + 1e-6 * len(self.sizes)

    @property
    def family(self) -> str:
        """What estimates of it have in common with those of others."""
        if any(self.parts):
            return NESTED
        return next((mode for mode in self.modes if mode != KEEP), KEEP)

    def held(self, factor: float) -> float:
        """Estimates what is held besides variables and the like at the worst moment.

        Args:
            factor: what a segment holds while it runs backward, for each byte that it makes.
        """
        passed, worst, kept = 0.0, 0.0, 0.0
        for number, (mode, weight, made) in enumerate(zip(self.modes, self.weights, self.made, strict=True)):
            if mode == KEEP:
                kept += factor * weight
                worst = max(worst, passed + kept)
                continue
            moved = mode in MOVING
            between, heaviest = self.inner[number] if self.parts[number] else (0, weight)
            worst = max(worst, passed + kept + between + factor * heaviest + (made if moved else 0))
            passed += 0 if moved else made
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


def candidates(chain: Chain, alone: frozenset[int], pools: Collection[str]) -> list[Candidate]:
    """Returns the plans that may be tried.

    Args:
        chain: the network.
        alone: places of steps that must not be run a second time.
        pools: modes of the pools that may be used.
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
        for mode in (RECOMPUTE, *(mode for mode in MOVING if mode in pools)):
            for tail in kept if count > 1 else []:
                modes = [KEEP if lone or n >= count - tail else mode for n, lone in enumerate(single)]
                if any(one != KEEP for one in modes):
                    whole = ((),) * count
                    result.append(
                        Candidate(tuple(sizes), tuple(modes), tuple(weights), tuple(made), whole, ((0, 0),) * count)
                    )
        if 1 < count <= _MOST_NESTED:
            modes = [KEEP if lone else RECOMPUTE for lone in single]
            result += _nested(chain, sizes, modes, weights, made)
    return result


def _nested(chain: Chain, sizes: list[int], modes: list[str], weights: list[int], made: list[int]) -> list[Candidate]:
    """The plan in which segments are run again part by part, the last one as well: whole, it would hold most."""
    parts: list[tuple[int, ...]] = []
    inner: list[tuple[int, int]] = []
    start = 0
    for size, mode in zip(sizes, modes, strict=True):
        found = _best_parts(chain, start, start + size) if mode == RECOMPUTE else None
        parts.append(found.sizes if found is not None and len(found.sizes) > 1 else ())
        inner.append((sum(found.made), max(found.weights)) if found is not None else (0, 0))
        start += size
    if not any(parts):
        return []
    return [Candidate(tuple(sizes), tuple(modes), tuple(weights), tuple(made), tuple(parts), tuple(inner))]


def _best_parts(chain: Chain, start: int, end: int) -> Partition:
    """The partition of a segment that holds least while it runs again."""
    tensors = tuple(
        (made - start, min(last, end) - start, size) for made, last, size in chain.tensors if start <= made < end
    )
    options = partitions(Chain(chain.weights[start:end], tensors))
    return min(options, key=lambda option: (sum(option.made) + max(option.weights), len(option.sizes)))
