"""Where a network can be cut: partitions of its steps into segments, from few long ones to many short ones.

Pure arithmetic. A tensor that is read beyond the end of its segment is held until the backward pass, so the
price of a partition is what its segments hand on; what it saves is bounded by its heaviest segment.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

# Steps are merged until there are at most so many places for a cut: the search is quadratic in them.
MOST_PLACES = 400
# Each cap on a segment's weight is so much smaller than the one before.
_SHRINK = 0.62


@dataclass(frozen=True, slots=True)
class Chain:
    """A network as arithmetic sees it.

    Attributes:
        weights: for each step, the bytes that it makes.
        tensors: for each tensor that is not an input: where it is made, where it is read last, its bytes.
    """

    weights: tuple[int, ...]
    tensors: tuple[tuple[int, int, int], ...]

    def crossing(self) -> list[int]:
        """Returns for each place before a step the bytes that are made before it and read from it on."""
        change = [0] * (len(self.weights) + 2)
        for made, last, size in self.tensors:
            if last > made:
                change[made + 1] += size
                change[last + 1] -= size
        total, result = 0, []
        for place in range(len(self.weights) + 1):
            total += change[place]
            result.append(total)
        return result


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of a chain.

    Attributes:
        sizes: steps of each segment.
        weights: bytes that each segment makes in all.
        made: bytes that each segment hands on to others.
    """

    sizes: tuple[int, ...]
    weights: tuple[int, ...]
    made: tuple[int, ...]


def places(chain: Chain) -> list[int]:
    """Returns where the chain is worth cutting, its two ends included.

    Args:
        chain: the network.
    """
    crossing = chain.crossing()
    count = len(chain.weights)
    # A place where less crosses on either side of it is never the better one.
    inner = [p for p in range(1, count) if crossing[p] <= crossing[p - 1] or crossing[p] <= crossing[p + 1]]
    inner = [p for p in inner if not (crossing[p] > crossing[p - 1] or crossing[p] > crossing[p + 1])] or inner
    while len(inner) > MOST_PLACES:
        inner = inner[::2]
    return [0, *inner, count]


def partition(chain: Chain, cap: int, at: Sequence[int]) -> Partition:
    """Returns the partition that hands on least, with no segment heavier than a cap where that can be.

    Args:
        chain: the network.
        cap: bytes.
        at: places for cuts, ascending, from 0 to the number of steps.
    """
    before = [0]
    for weight in chain.weights:
        before.append(before[-1] + weight)
    index = {place: number for number, place in enumerate(at)}
    atom = _atoms(chain, at)
    starting: list[list[tuple[int, int]]] = [[] for _ in at]
    for made, last, size in chain.tensors:
        starting[atom[made]].append((atom[last], size))
    best: list[tuple[int, int, int]] = [(0, 0, 0)]
    handed: dict[tuple[int, int], int] = {}
    for end in range(1, len(at)):
        options = []
        made = 0
        for start in range(end - 1, -1, -1):
            if before[at[end]] - before[at[start]] > cap and start < end - 1:
                break
            made += sum(size for last, size in starting[start] if last >= end)
            handed[start, end] = made
            cost, parts, _ = best[start]
            options.append((cost + made, parts + 1, start))
        best.append(min(options))
    ends = [len(at) - 1]
    while ends[-1] > 0:
        ends.append(best[ends[-1]][2])
    bounds = [at[number] for number in reversed(ends)]
    pairs = list(itertools.pairwise(bounds))
    return Partition(
        tuple(end - start for start, end in pairs),
        tuple(before[end] - before[start] for start, end in pairs),
        tuple(handed[index[start], index[end]] for start, end in pairs),
    )


def _atoms(chain: Chain, at: Sequence[int]) -> list[int]:
    """For each step, and for the place after the last one, which piece between two places it belongs to."""
    atom, number = [], 0
    for step in range(len(chain.weights)):
        while at[number + 1] <= step:
            number += 1
        atom.append(number)
    return [*atom, len(at) - 1]


def partitions(chain: Chain) -> list[Partition]:
    """Returns the partitions that are worth a look, from the coarsest to the finest.

    Args:
        chain: the network.
    """
    at = places(chain)
    cap = sum(chain.weights)
    finest = max(chain.weights, default=0)
    found: dict[tuple[int, ...], Partition] = {}
    while cap >= 1:
        made = partition(chain, cap, at)
        found.setdefault(made.sizes, made)
        if cap <= finest:
            break
        cap = int(cap * _SHRINK)
    return list(found.values())
