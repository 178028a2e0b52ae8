"""What a plan moves: which tensors go to which pool, how often, and how many bytes that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .flatten import FlatGraph, has_gradient
from .plans import MOVING, RECOMPUTE
from .replay import variables_of
from .segments import Segment, make_segments


def without_gradient(segments: Sequence[Segment]) -> frozenset[int]:
    """Returns the numbers of the first segments, up to the first trained variable: they have no backward pass.

    Args:
        segments: of the whole model, in order.
    """
    found = []
    for number, segment in enumerate(segments):
        if variables_of(segment.steps)[0]:
            break
        found.append(number)
    return frozenset(found)


def moves(graph: FlatGraph, batch: int, sizes: Sequence[int], modes: Sequence[str]) -> list[tuple[int, int]]:
    """Returns for each segment the bytes that are put away for it, and fetched.

    Args:
        graph: the flat graph.
        batch: samples in a batch.
        sizes: steps of each segment.
        modes: of each segment.
    """
    segments = make_segments(graph, sizes)
    idle = without_gradient(segments)
    away = set(graph.inputs)
    result = []
    for number, (segment, mode) in enumerate(zip(segments, modes, strict=True)):
        if mode not in MOVING or number in idle or not _runs_twice(graph, segment):
            result.append((0, 0))
            continue
        keys = [key for key in segment.reads if key not in graph.inputs and has_gradient(graph.specs[key])]
        written = sum(graph.size(key, batch) for key in keys if key not in away)
        away.update(keys)
        result.append((written, sum(graph.size(key, batch) for key in keys)))
    return result


def within(
    graph: FlatGraph, batch: int, sizes: Sequence[int], modes: Sequence[str], limits: Mapping[str, int]
) -> tuple[str, ...]:
    """Returns modes that keep the pools' budgets: what does not fit goes to the next pool, or stays.

    Segments go from the first one on, because theirs is the longest way back.

    Args:
        graph: the flat graph.
        batch: samples in a batch.
        sizes: steps of each segment.
        modes: of each segment.
        limits: bytes of each pool that may be used, by its mode, the fastest first.
    """
    found = list(modes)
    order = [mode for mode in MOVING if mode in limits]
    for mode, instead in zip(order, [*order[1:], RECOMPUTE], strict=True):
        while _held(moves(graph, batch, sizes, found), found, mode) > limits[mode]:
            found[found.index(mode)] = instead
    return tuple(found)


def _held(moved: Sequence[tuple[int, int]], modes: Sequence[str], mode: str) -> int:
    return sum(written for (written, _), own in zip(moved, modes, strict=True) if own == mode)


def _runs_twice(graph: FlatGraph, segment: Segment) -> bool:
    dense = not any(getattr(graph.specs[key], "sparse", False) for key in segment.reads)
    return dense and any(has_gradient(graph.specs[key]) for key in segment.makes)
