"""Where networks are cut: arithmetic on chains that can be checked by hand, and by trying everything."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from sknc.runtime.memory.execute.cuts import Chain, Handed, Piece, Way, places
from sknc.runtime.memory.execute.cutter import Cutter
from sknc.runtime.memory.execute.plans import KEEP, RECOMPUTE, SPILL


def chain(sizes: list[int], readers: dict[int, int] | None = None, seconds: list[float] | None = None) -> Chain:
    """Steps that each read the one before, forward and backward; some are read later as well."""
    last = {number: number + 1 for number in range(len(sizes))} | (readers or {})
    return Chain(
        tuple(seconds or [1.0] * len(sizes)),
        (0.0,) * len(sizes),
        tuple(sizes),
        tuple(sizes),
        (0,) * len(sizes),
        (0,) * len(sizes),
        tuple(Handed(number, last[number], number, size) for number, size in enumerate(sizes)),
    )


def held(net: Chain, way: Way) -> int:
    """What a way holds at its worst moment, counted piece by piece from the end."""
    worst, before = 0, 0
    for piece in way.pieces:
        steps = range(piece.start, piece.end)
        own = sum(net.saved[step] for step in steps)
        worst = max(worst, before + own)
        made = sum(one.size for one in net.handed if one.made in steps and one.last >= piece.end)
        stored = sum(net.output[step] for step in piece.kept if net.handed[step].last < piece.end)
        before += {KEEP: own, RECOMPUTE: made + stored, SPILL: 0}[piece.mode]
    return worst


def pieces(way: Way | None) -> list[tuple[int, int, str]]:
    assert way is not None
    return [(piece.start, piece.end, piece.mode) for piece in way.pieces]


def test_what_fits_is_kept_in_one_piece() -> None:
    way = Cutter(chain([4, 4, 4])).best(12)
    assert pieces(way) == [(0, 3, KEEP)]
    assert way is not None and way.seconds == 0


def test_cuts_lie_where_little_crosses_and_the_end_is_kept() -> None:
    net = chain([8, 8, 1, 8, 8, 1, 8, 8])
    assert pieces(Cutter(net).best(18)) == [(0, 3, RECOMPUTE), (3, 6, RECOMPUTE), (6, 8, KEEP)]
    assert Cutter(net).best(16) is None


def test_an_output_is_kept_inside_where_that_spares_most() -> None:
    net = replace(chain([8, 8, 8, 8, 8, 8], seconds=[1.0] * 6), spared=(0.0, 0.9, 0.0, 0.0, 0.0, 0.0))
    net = replace(net, output=(8, 1, 8, 8, 8, 8))
    way = Cutter(net).best(34)
    assert way is not None
    assert (1,) in [piece.kept for piece in way.pieces]


def test_steps_that_must_not_run_twice_are_kept() -> None:
    way = Cutter(chain([8, 1, 8, 8, 1, 8]), frozenset({1})).best(27)
    assert way is not None
    assert next(piece.mode for piece in way.pieces if piece.start <= 1 < piece.end) == KEEP


def test_no_cut_where_a_step_works_in_the_memory_of_another() -> None:
    net = replace(chain([8, 8, 8, 8]), joined=frozenset({2}))
    assert places(net) == [0, 1, 3, 4]
    assert places(net, frozenset({1})) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("most", [11, 12, 13, 14, 18, 19])
def test_nothing_else_takes_less_time(most: int) -> None:
    net = chain([3, 1, 2, 5, 1, 3, 4], {0: 4, 2: 6}, [1.0, 4.0, 1.0, 2.0, 1.0, 3.0, 1.0])
    count = len(net.saved)
    best = None
    for ends in itertools.product((False, True), repeat=count - 1):
        bounds = [0, *(place + 1 for place, cut in enumerate(ends) if cut), count]
        pairs = list(itertools.pairwise(bounds))
        for modes in itertools.product((KEEP, RECOMPUTE), repeat=len(pairs)):
            made = [Piece(start, end, mode) for (start, end), mode in zip(pairs, modes, strict=True)]
            spent = sum(sum(net.seconds[p.start : p.end]) for p in made if p.mode == RECOMPUTE)
            if held(net, Way(tuple(made), 0, spent)) <= most:
                best = min(best, spent) if best is not None else spent
    way = Cutter(net).best(most)
    assert (way is None) == (best is None) == (most < 12)
    if way is not None and best is not None:
        assert held(net, way) <= most
        # Each segment is charged a little besides.
        assert best - 1e-9 <= way.seconds <= best + 0.01


def test_a_spilled_start_holds_nothing() -> None:
    net = chain([8, 8] * 8)
    with_disk, without = Cutter(net, spill=1e-3), Cutter(net)
    assert with_disk.smallest() < without.smallest()
    way = with_disk.best(with_disk.smallest())
    assert way is not None and way.pieces[0].mode == SPILL
    way = with_disk.best(1000)
    assert way is not None and all(piece.mode == KEEP for piece in way.pieces)


def test_more_room_never_takes_longer() -> None:
    net = chain([7, 3, 5, 2] * 10)
    cutter = Cutter(net)
    found = [cutter.best(most) for most in range(cutter.smallest(), 180, 12)]
    seconds = [way.seconds for way in found if way is not None]
    assert len(seconds) == len(found)
    assert seconds == sorted(seconds, reverse=True)


def test_the_places_of_a_long_network_are_few_and_its_smallest_way_grows_slowly() -> None:
    assert len(places(chain([1] * 10_000))) <= 1002
    small, large = (Cutter(chain([100] * count)).smallest() for count in (50, 200))
    # Four times as long takes twice as much; with everything kept these are 5,000 and 20,000.
    assert small < 1250 and large < 2.5 * small


def test_places_that_are_needed_stay_however_many_they_are() -> None:
    alone = frozenset(range(0, 2000, 3))
    found = places(chain([1] * 2100), alone)
    assert {0, 2100} <= set(found) <= set(range(2101))
    assert {place for step in alone for place in (step, step + 1)} <= set(found)
    assert len(found) <= 2 * len(alone) + 502
