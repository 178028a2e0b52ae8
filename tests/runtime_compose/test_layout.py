"""Which column speaks about which class."""

from __future__ import annotations

import pytest

from sknc.runtime.compose.layout import layout


def test_single_classes_are_groups_of_one() -> None:
    tables = layout([[0, 1], [0, 2], [1, 2]], 3)
    assert tables.groups == ((0,), (1,), (2,))
    assert tables.columns == ((0, 2), (1, 4), (3, 5))
    assert tables.padding == 6


def test_groups_are_found_from_the_members() -> None:
    tables = layout([[0, 1, 2, 3], [0, 1, 4], [2, 3, 4]], 5)
    assert tables.groups == ((0, 1), (2, 3), (4,))
    # Group 1's class 3 in the submodel of groups 1 and 2 is that submodel's second column.
    assert tables.cells[1][1] == (3, tables.padding, 8)
    assert tables.cells[2][1] == (tables.padding,) * 3
    assert tables.places == (0, 1, 2, 3, 4)


def test_places_bring_scattered_groups_into_order() -> None:
    tables = layout([[0, 2, 1], [0, 2, 3], [1, 3]], 4)
    assert tables.groups == ((0, 2), (1,), (3,))
    assert tables.places == (0, 2, 1, 4)


@pytest.mark.parametrize(
    ("members", "classes", "message"),
    [
        ([[0, 1], [0, 2]], 3, "stand together in 0 submodels"),
        ([[0, 1], [0, 1, 2], [1, 2], [0, 2]], 3, "stand together in"),
        ([[0, 1]], 3, "no submodel has class 2"),
        ([[0, 3], [1, 2]], 3, "class 3, which is not one of the 3 classes"),
        ([[0, 0, 1]], 2, "a class twice"),
    ],
)
def test_what_is_no_decomposition_is_refused(members: list[list[int]], classes: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        layout(members, classes)
