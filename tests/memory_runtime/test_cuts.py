"""Where networks are cut: arithmetic on chains that can be checked by hand."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from sknc.runtime.memory.execute.cuts import Chain, partition, partitions, places


def chain(sizes: list[int], readers: dict[int, int] | None = None) -> Chain:
    """A chain in which each step reads the one before, and some tensors are read later than that."""
    last = {number: number + 1 for number in range(len(sizes))} | (readers or {})
    return Chain(tuple(sizes), tuple((number, last[number], size) for number, size in enumerate(sizes)))


def price(found: Any, net: Chain) -> int:
    """What the segments hand on, counted tensor by tensor."""
    ends = list(itertools.accumulate(found.sizes))
    total = 0
    for made, last, size in net.tensors:
        total += size * (last >= next(end for end in ends if end > made))
    return total


def test_one_segment_hands_on_the_output_alone() -> None:
    net = chain([4, 4, 4])
    assert partition(net, 12, [0, 1, 2, 3]).sizes == (3,)
    assert partition(net, 12, [0, 1, 2, 3]).made == (4,)


def test_cuts_lie_where_little_crosses() -> None:
    net = chain([8, 8, 1, 8, 8, 1, 8, 8])
    found = partition(net, 17, list(range(9)))
    assert found.sizes == (3, 3, 2)
    assert found.weights == (17, 17, 16)
    assert found.made == (1, 1, 8)


def test_a_long_skip_is_paid_once() -> None:
    net = chain([5, 1, 1, 1, 1, 1], {0: 5})
    found = partition(net, 5, list(range(7)))
    assert sum(found.made) == price(found, net)
    assert found.made[0] == 5


@pytest.mark.parametrize("cap", [3, 6, 9, 14])
def test_no_other_partition_hands_on_less(cap: int) -> None:
    net = chain([3, 1, 2, 3, 1, 3, 2], {0: 4, 2: 6})
    found = partition(net, cap, list(range(8)))
    assert max(found.weights) <= cap
    best = min(
        price(type("P", (), {"sizes": sizes}), net)
        for count in range(1, 8)
        for sizes in itertools.product(range(1, 8), repeat=count)
        if sum(sizes) == 7 and all(w <= cap for w in _weights(net, sizes))
    )
    assert sum(found.made) == best == price(found, net)


def _weights(net: Chain, sizes: tuple[int, ...]) -> list[int]:
    ends = list(itertools.accumulate(sizes))
    return [sum(net.weights[end - size : end]) for end, size in zip(ends, sizes, strict=True)]


def test_partitions_go_from_coarse_to_fine_and_cover_everything() -> None:
    net = chain([7, 3] * 50)
    found = partitions(net)
    assert len(found) > 4
    assert found[0].sizes == (100,)
    assert [len(p.sizes) for p in found] == sorted(len(p.sizes) for p in found)
    assert all(sum(p.sizes) == 100 for p in found)


def test_places_of_a_long_network_are_few() -> None:
    assert len(places(chain([1] * 10_000))) <= 402
