"""What each submodel is given: classes, a half of the rows, a part of the output, a patch of an image.

Only sizes and places are decided here; the rows themselves are selected where the training runs.
"""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

from sknc.decompose.combine import NotDecomposable

__all__ = ["Half", "Part", "Patch", "choose_grid", "halves", "part_bounds", "part_sizes", "parts", "patches"]


@dataclasses.dataclass(frozen=True)
class Half:
    """One half of the rows of a binary task (paper, section 3.2)."""

    index: int
    of: int = 2

    @property
    def share(self) -> list[int]:
        """As the manifest writes it."""
        return [self.index, self.of]


@dataclasses.dataclass(frozen=True)
class Part:
    """A stretch of the last axis of a regression target (paper, section 3.3)."""

    index: int
    of: int
    start: int
    stop: int

    @property
    def width(self) -> int:
        """How many outputs the submodel has."""
        return self.stop - self.start

    @property
    def share(self) -> list[int]:
        """As the manifest writes it."""
        return [self.index, self.of]


@dataclasses.dataclass(frozen=True)
class Patch:
    """A rectangle of an image-shaped regression target."""

    index: int
    grid: tuple[int, int]
    rows: tuple[int, int]
    columns: tuple[int, int]

    @property
    def of(self) -> int:
        """M."""
        return self.grid[0] * self.grid[1]

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.rows[1] - self.rows[0], self.columns[1] - self.columns[0]

    @property
    def share(self) -> list[int]:
        """As the manifest writes it."""
        return [self.index, self.of]


def halves() -> tuple[Half, Half]:
    """Return the two halves of a binary task: M is always 2."""
    return Half(0), Half(1)


def part_sizes(width: int, count: int) -> list[int]:
    """Cut a width in parts as `numpy.array_split` does: the first `width % count` are one longer."""
    size, longer = divmod(width, count)
    return [size + (index < longer) for index in range(count)]


def part_bounds(width: int, count: int) -> list[tuple[int, int]]:
    """Return start and stop of each part of `part_sizes`."""
    return list(itertools.pairwise(itertools.accumulate(part_sizes(width, count), initial=0)))


def parts(width: int, count: int) -> tuple[Part, ...]:
    """Cut the last axis of a regression target.

    Args:
        width: the length of the axis.
        count: M.

    Returns:
        M parts that follow each other.

    Raises:
        NotDecomposable: when the target is a scalar, or narrower than M.
        ValueError: for numbers below 1.
    """
    _positive(width, count)
    if count > 1 and width == 1:
        raise NotDecomposable(
            "a target of a single number has no parts to share out",
            "ask for one submodel with -m 1, or predict several numbers at once",
        )
    if count > width:
        raise NotDecomposable(
            f"a target of {width} numbers cannot be cut into {count} parts", f"ask for {width} submodels at most"
        )
    bounds = part_bounds(width, count)
    return tuple(Part(index, count, start, stop) for index, (start, stop) in enumerate(bounds))


def choose_grid(count: int, height: int, width: int) -> tuple[int, int]:
    """Choose rows and columns of patches for an image.

    Of all r * c = `count` the one is taken whose patches are most square and most equal: the product of a patch's
    aspect ratio and of its excess over the mean area is smallest. Ties go to fewer rows.

    Args:
        count: M.
        height: rows of the image.
        width: columns of the image.

    Returns:
        Rows and columns of the grid.

    Raises:
        NotDecomposable: when no grid of that many patches fits the image.
        ValueError: for numbers below 1.
    """
    _positive(height, width, count)
    fitting = [(r, count // r) for r in range(1, min(count, height) + 1) if count % r == 0 and count // r <= width]
    if not fitting:
        near = next(n for n in range(count, 0, -1) if any(n % r == 0 and n // r <= width for r in range(1, height + 1)))
        raise NotDecomposable(
            f"no grid of {count} patches fits an image of {height}x{width}", f"ask for {near} submodels, which fit"
        )

    def cost(grid: tuple[int, int]) -> tuple[Fraction, int]:
        tall, wide = Fraction(height, grid[0]), Fraction(width, grid[1])
        largest = part_sizes(height, grid[0])[0] * part_sizes(width, grid[1])[0]
        return max(tall / wide, wide / tall) * (largest / (tall * wide)), grid[0]

    return min(fitting, key=cost)


def patches(height: int, width: int, count: int) -> tuple[Patch, ...]:
    """Cut an image-shaped target in patches, row by row.

    Args:
        height: rows of the image.
        width: columns of the image.
        count: M.

    Returns:
        M patches that cover the image.

    Raises:
        NotDecomposable: when no grid of that many patches fits the image.
    """
    grid = choose_grid(count, height, width)
    cells = itertools.product(part_bounds(height, grid[0]), part_bounds(width, grid[1]))
    return tuple(Patch(index, grid, rows, columns) for index, (rows, columns) in enumerate(cells))


def _positive(*numbers: int) -> None:
    if min(numbers) < 1:
        raise ValueError(f"sizes and numbers of submodels are at least 1: {numbers}")
