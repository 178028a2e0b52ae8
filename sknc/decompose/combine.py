"""Skynnet's combinatorics: how many submodels, of which groups of classes (paper, section 3.1).

The paper searches M from the requested number down, and G from the number of classes down, for
C(G, 2) = M. The search has a closed form: the largest G with C(G, 2) <= M^, and G <= N.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator

__all__ = ["Combination", "NotDecomposable", "combine", "feasible_near", "group_bounds"]


class NotDecomposable(ValueError):
    """A task that cannot be cut as asked.

    Args:
        message: why not, with the numbers.
        hint: what to write instead.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclasses.dataclass(frozen=True)
class Combination:
    """N classes in G groups, of which every two make a submodel.

    Args:
        classes: N, the number of classes.
        requested: how many submodels were asked for.
        groups: the classes of each group, in class order; sizes differ by one at most.
    """

    classes: int
    requested: int
    groups: tuple[tuple[int, ...], ...]

    @property
    def group_count(self) -> int:
        """G."""
        return len(self.groups)

    @property
    def submodels(self) -> int:
        """M = C(G, 2); a single group is a single submodel."""
        return max(1, math.comb(len(self.groups), 2))

    @property
    def factor(self) -> float:
        """F = N/n = G/2 before any cap; exact, because a half is exact in binary."""
        return max(1.0, len(self.groups) / 2)

    @property
    def whole(self) -> bool:
        """Whether the one submodel is the original."""
        return self.submodels == 1

    @property
    def pairs(self) -> Iterator[tuple[int, int]]:
        """The two groups of each submodel, in submodel order: (0, 1), (0, 2) ... (1, 2) ..."""
        return itertools.combinations(range(len(self.groups)), 2)

    def programs(self) -> Iterator[tuple[int, ...]]:
        """Yield the classes of each submodel, ascending, in the order of `pairs`."""
        if self.whole:
            yield tuple(range(self.classes))
            return
        for first, second in self.pairs:
            yield self.groups[first] + self.groups[second]


def combine(classes: int, requested: int) -> Combination:
    """Choose M and the groups for a multiclass task.

    Args:
        classes: N, at least 1.
        requested: M^, at least 1.

    Returns:
        The combination with the requested number of submodels, or with the largest possible one below it.

    Raises:
        NotDecomposable: for two classes or fewer, unless one submodel is asked for: there is no third group to
            tell apart.
        ValueError: for numbers below 1.
    """
    if classes < 1 or requested < 1:
        raise ValueError(f"classes and submodels are at least 1, not {classes} and {requested}")
    if classes <= 2 and requested > 1:
        raise NotDecomposable(
            f"{classes} {'classes' if classes > 1 else 'class'} cannot be cut into groups of classes",
            "mark the block BINARYCLASS, which is cut by rows, or ask for one submodel with -m 1",
        )
    count = min(classes, _groups_for(requested))
    bounds = group_bounds(classes, count)
    return Combination(classes, requested, tuple(tuple(range(a, b)) for a, b in itertools.pairwise(bounds)))


def _groups_for(submodels: int) -> int:
    """Return the largest G with C(G, 2) <= `submodels`."""
    return (1 + math.isqrt(1 + 8 * submodels)) // 2


def group_bounds(classes: int, groups: int) -> list[int]:
    """Return where each group begins, and the end.

    The longer groups are spread among the shorter ones, as the paper's Figure 2 draws 10 classes in 4
    groups: 2, 3, 2, 3.
    """
    return [index * classes // groups for index in range(groups + 1)]


def feasible_near(classes: int, requested: int) -> tuple[int, int | None]:
    """Return the number of submodels that is taken for a request, and the next larger one if there is one."""
    count = min(classes, _groups_for(requested))
    return max(1, math.comb(count, 2)), math.comb(count + 1, 2) if count < classes else None
