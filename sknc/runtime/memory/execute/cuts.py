"""A network as arithmetic sees it, where it can be cut, and what becomes of its pieces."""

from __future__ import annotations

from dataclasses import dataclass, field

NEVER = 1 << 60
# Steps are merged until there are at most so many places for a cut, and a segment spans at most so many.
MOST_PLACES, LONGEST = 1000, 64


@dataclass(frozen=True, slots=True)
class Handed:
    """What one step makes and others read.

    Attributes:
        made: the step that makes it.
        last: the last step whose forward pass reads it; the number of steps for an output of the network.
        back: the first step whose backward pass reads it; NEVER for none.
        size: bytes.
        before: steps whose results were in the same memory, and are not there any more.
    """

    made: int
    last: int
    back: int
    size: int
    before: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Chain:
    """A network as arithmetic sees it: for each step what it costs and holds.

    Attributes:
        seconds: that running it again takes.
        spared: of these, what is spared when its outputs are there already.
        output: bytes of its outputs.
        saved: bytes that it makes and backward passes read.
        burst: the most that its own backward pass holds, besides what was saved up to it.
        forward: the most that is held while it runs, when nothing is saved.
        handed: what goes from step to step.
        joined: places before steps that work in the memory of a step before, where a cut would undo that.
        end: what the loss holds besides.
    """

    seconds: tuple[float, ...]
    spared: tuple[float, ...]
    output: tuple[int, ...]
    saved: tuple[int, ...]
    burst: tuple[int, ...]
    forward: tuple[int, ...]
    handed: tuple[Handed, ...]
    joined: frozenset[int] = frozenset()
    end: int = 0

    def crossing(self) -> list[int]:
        """Returns for each place before a step the bytes that are made before it and read from it on."""
        count = len(self.saved)
        change = [0] * (count + 2)
        for one in self.handed:
            if one.last > one.made:
                change[one.made + 1] += one.size
                change[one.last + 1] -= one.size
        total, result = 0, []
        for place in range(count + 1):
            total += change[place]
            result.append(total)
        return result


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive steps, and what becomes of them.

    Attributes:
        start: the first step.
        end: the step after the last one.
        mode: KEEP, RECOMPUTE, OFFLOAD or SPILL.
        made: bytes that it hands on.
        kept: steps whose outputs are kept although it is recomputed.
        parts: how many steps each part of it has, where it is run again part by part.
    """

    start: int
    end: int
    mode: str
    made: int = 0
    kept: tuple[int, ...] = ()
    parts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """A way to train a network; two with the same pieces are the same.

    Attributes:
        pieces: in order.
        held: bytes that may be held with it, as arithmetic has it.
        seconds: that are spent a second time.
    """

    pieces: tuple[Piece, ...]
    held: int = field(compare=False)
    seconds: float = field(compare=False)


def places(chain: Chain, alone: frozenset[int] = frozenset()) -> list[int]:
    """Returns where the chain is worth cutting, its two ends included.

    Args:
        chain: the network.
        alone: steps that must not be run a second time.
    """
    count = len(chain.saved)
    needed = {place for step in alone for place in (step, step + 1)}
    inner = [place for place in range(1, count) if place not in chain.joined or place in needed]
    if len(inner) > MOST_PLACES // 2:
        crossing = chain.crossing()
        # A place where less crosses on either side of it is never much the better one.
        inner = [p for p in inner if p in needed or not crossing[p] > min(crossing[p - 1], crossing[p + 1])]
    free = [place for place in inner if place not in needed]
    # Those that are needed stay, however many they are.
    room = max(MOST_PLACES - (len(inner) - len(free)), MOST_PLACES // 2)
    while len(free) > room:
        free = free[1::2]
    return sorted({0, *free, *(needed & set(inner)), count})
