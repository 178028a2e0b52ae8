"""Shares cover the whole, once, in parts that numpy would cut as well."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sknc.decompose.combine import NotDecomposable
from sknc.decompose.shares import choose_grid, halves, part_bounds, part_sizes, parts, patches


@given(st.integers(1, 5000), st.integers(1, 60))
def test_sizes_are_numpys(width, count):
    assert part_sizes(width, count) == [len(part) for part in np.array_split(np.arange(width), count)]
    assert [list(range(*bound)) for bound in part_bounds(width, count)] == [
        part.tolist() for part in np.array_split(np.arange(width), count)
    ]


def test_parts():
    cut = parts(10, 4)
    assert [(part.start, part.stop, part.width) for part in cut] == [(0, 3, 3), (3, 6, 3), (6, 8, 2), (8, 10, 2)]
    assert cut[2].share == [2, 4]
    assert [part.width for part in parts(1, 1)] == [1]


def test_a_scalar_has_no_parts():
    with pytest.raises(NotDecomposable, match="single number") as caught:
        parts(1, 2)
    assert "-m 1" in caught.value.hint


def test_a_target_narrower_than_the_number_of_submodels():
    with pytest.raises(NotDecomposable, match=r"3 numbers .* 4 parts") as caught:
        parts(3, 4)
    assert "3 submodels" in caught.value.hint


@pytest.mark.parametrize(
    ("count", "height", "width", "expected"),
    [
        (6, 64, 64, (2, 3)),
        (4, 32, 32, (2, 2)),
        (1, 5, 7, (1, 1)),
        (3, 28, 28, (1, 3)),
        (2, 64, 32, (2, 1)),
        (8, 28, 28, (2, 4)),
        (6, 64, 96, (2, 3)),
        (6, 96, 64, (3, 2)),
        (4, 8, 7, (2, 2)),
        (5, 100, 4, (5, 1)),
        (12, 30, 28, (4, 3)),
    ],
)
def test_grids(count, height, width, expected):
    assert choose_grid(count, height, width) == expected


def test_no_grid_fits():
    with pytest.raises(NotDecomposable, match=r"7 patches .* 4x4") as caught:
        choose_grid(7, 4, 4)
    assert "6 submodels" in caught.value.hint


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 24))
def test_patches_cover_the_image_once(height, width, count):
    try:
        cut = patches(height, width, count)
    except NotDecomposable:
        assert not any(count % r == 0 and count // r <= width for r in range(1, height + 1))
        return
    covered = np.zeros((height, width), int)
    for patch in cut:
        covered[slice(*patch.rows), slice(*patch.columns)] += 1
        assert min(patch.shape) >= 1
    assert (covered == 1).all()
    assert [patch.share for patch in cut] == [[index, count] for index in range(count)]
    starts = [(patch.rows[0], patch.columns[0]) for patch in cut]
    assert starts == sorted(starts)


def test_halves():
    assert [half.share for half in halves()] == [[0, 2], [1, 2]]


@pytest.mark.parametrize("call", [lambda: parts(0, 1), lambda: choose_grid(0, 4, 4), lambda: patches(4, -1, 2)])
def test_nonsense(call):
    with pytest.raises(ValueError, match="at least 1"):
        call()
