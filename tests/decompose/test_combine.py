"""The combinatorics of the paper, against its own search and its own numbers."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sknc.decompose.combine import NotDecomposable, combine, feasible_near


@pytest.mark.parametrize(
    ("classes", "requested", "expected"),
    [
        (10, 4, (3, 3, 1.5)),
        (10, 6, (6, 4, 2)),
        (10, 16, (15, 6, 3)),
        (10, 100, (45, 10, 5)),
        (102, 16, (15, 6, 3)),
        (102, 45, (45, 10, 5)),
        (1623, 6, (6, 4, 2)),
        (102, 100, (91, 14, 7)),
        (10, 1, (1, 2, 1)),
        (10, 2, (1, 2, 1)),
        (3, 3, (3, 3, 1.5)),
        (3, 9, (3, 3, 1.5)),
        (2, 1, (1, 2, 1)),
    ],
)
def test_known_cases(classes, requested, expected):
    taken = combine(classes, requested)
    assert (taken.submodels, taken.group_count, taken.factor) == expected
    assert taken.whole is (expected[0] == 1)


def test_one_submodel_is_the_original():
    for classes in (1, 2, 3, 10):
        assert list(combine(classes, 1).programs()) == [tuple(range(classes))]


def test_the_groups_of_figure_2():
    assert combine(10, 6).groups == ((0, 1), (2, 3, 4), (5, 6), (7, 8, 9))
    assert list(combine(10, 6).pairs) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert next(combine(10, 6).programs()) == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("requested", [2, 3, 6])
def test_two_classes_are_refused_with_a_hint(requested):
    with pytest.raises(NotDecomposable, match="2 classes") as caught:
        combine(2, requested)
    assert "BINARYCLASS" in caught.value.hint


@pytest.mark.parametrize(("classes", "requested"), [(0, 1), (10, 0), (10, -3)])
def test_nonsense(classes, requested):
    with pytest.raises(ValueError, match="at least 1"):
        combine(classes, requested)


def search(classes, requested):
    """The paper's loops, as written."""
    for submodels in range(requested, 0, -1):
        for groups in range(classes, 1, -1):
            if math.comb(groups, 2) == submodels:
                return submodels, groups
    raise AssertionError


@given(st.integers(3, 40), st.integers(1, 120))
def test_the_closed_form_is_the_papers_search(classes, requested):
    taken = combine(classes, requested)
    assert (taken.submodels, taken.group_count) == search(classes, requested)


@given(st.integers(3, 60), st.integers(1, 400))
def test_groups_and_programs(classes, requested):
    taken = combine(classes, requested)
    sizes = [len(group) for group in taken.groups]
    assert max(sizes) - min(sizes) <= 1
    assert list(itertools.chain(*taken.groups)) == list(range(classes))
    programs = list(taken.programs())
    assert len(programs) == taken.submodels
    assert all(list(program) == sorted(set(program)) for program in programs)
    shared = 1 if taken.whole else taken.group_count - 1
    counts = [sum(each in program for program in programs) for each in range(classes)]
    assert counts == [shared] * classes
    if taken.group_count > 2:  # every two classes are told apart by at least one submodel
        for pair in itertools.combinations(range(min(classes, 12)), 2):
            assert any(set(pair) <= set(program) for program in programs)


@given(st.integers(2, 50), st.integers(1, 2000))
def test_what_else_can_be_had(classes, requested):
    taken, larger = feasible_near(classes, requested)
    assert taken <= requested
    assert larger is None or larger > requested
    assert larger is not None or taken == math.comb(classes, 2)


def test_many_classes_are_one_step():
    taken = combine(1623, 10**9)
    assert (taken.group_count, taken.submodels) == (1623, math.comb(1623, 2))
