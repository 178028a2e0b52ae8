"""Widths: rounded up, never below two, in proportion."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sknc.decompose.factor import cap_factor, reduce_epochs, reduce_width

factors = st.integers(2, 4000).map(lambda groups: groups / 2)


@pytest.mark.parametrize(
    ("factor", "widths", "expected"),
    [
        (100, [96, 256, 384, 4096], 48),  # AlexNet, as the paper says
        (2, [96, 256], 2),
        (3, [4, 64], 2),
        (3, [2, 1, 64], 3),  # a layer of two or fewer stays and does not count
        (3, [3, 64], 1.5),
        (5, [], 5),
        (0.5, [64], 1),
    ],
)
def test_the_cap(factor, widths, expected):
    assert cap_factor(factor, widths) == expected


@pytest.mark.parametrize(
    ("width", "factor", "expected"),
    [(64, 2, 32), (96, 1.5, 64), (64, 1.5, 43), (5, 2, 3), (2, 10, 2), (1, 10, 1), (4096, 2.5, 1639), (7, 1, 7)],
)
def test_widths(width, factor, expected):
    assert reduce_width(width, factor) == expected


def test_widths_that_have_to_be_multiples():
    assert reduce_width(64, 3, multiple=8) == 24
    assert reduce_width(12, 1.2, multiple=8) == 12  # never wider than in the script


def test_epochs():
    assert [reduce_epochs(10, factor) for factor in (1, 1.5, 3, 100)] == [10, 7, 4, 1]


@given(st.lists(st.integers(1, 10**6), min_size=1), factors)
def test_every_layer_keeps_two(widths, factor):
    capped = cap_factor(factor, widths)
    assert 1 <= capped <= factor
    for width in widths:
        reduced = reduce_width(width, capped)
        assert min(2, width) <= reduced <= width
        if width > 2:
            assert reduced == -(-Fraction(width) // Fraction(capped))  # exact, no floor was needed


@given(st.integers(3, 10**6), factors, st.integers(1, 64))
def test_multiples(width, factor, multiple):
    reduced = reduce_width(width, factor, multiple)
    assert reduced == width or (reduced % multiple == 0 and reduced >= reduce_width(width, factor))
