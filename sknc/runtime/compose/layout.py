"""Which column of which submodel speaks about which class.

Submodels of a multiclass block know some classes each: one pair of groups (Skynnet, section 3.1). The rules need
two views of that: every column that speaks about a class, and, for every ordered pair of groups, the columns in
which the first group's classes stand in the submodel that tells the two groups apart. Both views are tables of
column numbers into all submodels' outputs laid side by side, with one padding column behind them, so that a rule
is a gather and a few reductions, whatever the number of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Members = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Layout:
    """Column tables of one decomposition.

    Attributes:
        classes: Number of classes N of the whole problem.
        members: The classes of each submodel, in the order of its outputs.
        groups: The groups: classes that stand in the same submodels, in the order of their smallest class.
        columns: For each class, the columns that speak about it, padded to one length with `padding`.
        cells: `cells[g][i][h]` is the column of group g's i-th class in the submodel of the groups g and h
            (`padding` where there is none: h equal to g, or a group that is shorter than the longest).
        places: For each class k, its position in the groups laid side by side, each at the longest one's length.
    """

    classes: int
    members: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    columns: tuple[tuple[int, ...], ...]
    cells: tuple[tuple[tuple[int, ...], ...], ...]
    places: tuple[int, ...]

    @property
    def padding(self) -> int:
        """Column number of the padding, behind the last column of the last submodel."""
        return sum(len(classes) for classes in self.members)


def layout(members: Members, classes: int) -> Layout:
    """Lay out the columns of a decomposition.

    Args:
        members: The classes of each submodel, in the order of its outputs.
        classes: Number of classes N; classes are 0 .. N-1.

    Returns:
        The column tables.

    Raises:
        ValueError: A class is unknown, stands twice in a submodel or in none of them, or two groups stand
            together in no submodel or in more than one.
    """
    frozen = tuple(tuple(int(k) for k in one) for one in members)
    homes = _homes(frozen, classes)
    groups = _groups(homes)
    starts = _starts(frozen)
    column = {(m, k): starts[m] + position for m, one in enumerate(frozen) for position, k in enumerate(one)}
    padding = sum(len(one) for one in frozen)
    longest = max(len(group) for group in groups)
    widest = max(len(home) for home in homes)
    shared = _shared(groups, homes)
    cells = tuple(
        tuple(
            tuple(column[shared[g, h], group[i]] if h != g and i < len(group) else padding for h in range(len(groups)))
            for i in range(longest)
        )
        for g, group in enumerate(groups)
    )
    columns = tuple(
        tuple(column[m, k] for m in home) + (padding,) * (widest - len(home)) for k, home in enumerate(homes)
    )
    place = {k: g * longest + i for g, group in enumerate(groups) for i, k in enumerate(group)}
    return Layout(classes, frozen, groups, columns, cells, tuple(place[k] for k in range(classes)))


def _homes(members: tuple[tuple[int, ...], ...], classes: int) -> list[tuple[int, ...]]:
    """Return, for each class, the submodels that know it."""
    homes: list[list[int]] = [[] for _ in range(classes)]
    for m, one in enumerate(members):
        if len(set(one)) != len(one):
            raise ValueError(f"submodel {m} has a class twice: {list(one)}")
        for k in one:
            if not 0 <= k < classes:
                raise ValueError(f"submodel {m} has class {k}, which is not one of the {classes} classes")
            homes[k].append(m)
    for k, home in enumerate(homes):
        if not home:
            raise ValueError(f"no submodel has class {k}")
    return [tuple(home) for home in homes]


def _groups(homes: list[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Return the classes that stand in the same submodels, together."""
    found: dict[tuple[int, ...], list[int]] = {}
    for k, home in enumerate(homes):
        found.setdefault(home, []).append(k)
    return tuple(tuple(group) for group in found.values())


def _starts(members: tuple[tuple[int, ...], ...]) -> list[int]:
    """Return each submodel's first column."""
    starts = [0]
    for one in members:
        starts.append(starts[-1] + len(one))
    return starts


def _shared(groups: tuple[tuple[int, ...], ...], homes: list[tuple[int, ...]]) -> dict[tuple[int, int], int]:
    """Return the one submodel in which each pair of groups stands together."""
    shared: dict[tuple[int, int], int] = {}
    for g, first in enumerate(groups):
        for h, second in enumerate(groups[:g]):
            both = set(homes[first[0]]) & set(homes[second[0]])
            if len(both) != 1:
                raise ValueError(
                    f"classes {list(first)} and {list(second)} stand together in {len(both)} submodels; "
                    "each pair of groups needs exactly one"
                )
            shared[g, h] = shared[h, g] = both.pop()
    return shared
