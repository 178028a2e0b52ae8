"""Sizes that are known only when the program runs: what stands in for the user's expressions."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from .data.cuts import bounds
from .data.shares import make_share
from .errors import ProgramError

SMALLEST = 2


def whole_number(value: Any, what: str) -> int:
    """Returns a size as an int.

    Args:
        value: an int, a numpy integer, or a float that is whole.
        what: what the size is of, for the message.

    Raises:
        ProgramError: the value is no whole number.
    """
    try:
        return operator.index(value)
    except TypeError:
        pass
    number = float("nan")
    if not isinstance(value, (str, bytes)):
        with contextlib.suppress(TypeError, ValueError):
            number = float(value)
    if not number.is_integer():
        raise ProgramError(f"{what} is {value!r}, which is no whole number")
    return int(number)


def _divided(value: int, factor: float) -> int:
    # Fractions, because 0.1-like factors would round a quotient that is whole up by one.
    quotient = Fraction(value) / Fraction(factor).limit_denominator(10**6)
    return -(-quotient.numerator // quotient.denominator)


def width(value: Any, factor: float, *, multiple: int = 1) -> int:
    """Returns a layer's width in a submodel.

    Args:
        value: the width in the script.
        factor: what it is divided by, rounding up; at least 1.
        multiple: what the layer needs its width to be a multiple of (heads, groups of a convolution).

    Returns:
        At least 2 and at most the script's width; a width of 2 or less stays.

    Raises:
        ProgramError: the value is no whole number.
    """
    size = whole_number(value, "the width of a layer")
    if size <= SMALLEST or factor <= 1:
        return size
    reduced = max(SMALLEST, _divided(size, factor))
    return min(size, -(-reduced // multiple) * multiple)


def units(value: Any, *, part: Sequence[int]) -> int:
    """Returns the width of one part of an output layer.

    Args:
        value: the width in the script.
        part: [index, number of parts].

    Raises:
        ProgramError: the output is narrower than the number of parts.
    """
    start, stop = bounds(whole_number(value, "the width of the output layer"), int(part[0]), int(part[1]))
    return stop - start


def epochs(value: Any, factor: float) -> int:
    """Returns a submodel's number of epochs.

    Args:
        value: the number in the script.
        factor: what it is divided by, rounding up.

    Raises:
        ProgramError: the value is no whole number.
    """
    number = whole_number(value, "the number of epochs")
    return number if factor <= 1 else _divided(number, factor)


def patch_shape(shape: Any, *, part: Sequence[int], grid: Sequence[int] | None = None) -> Any:
    """Returns the shape of one part of an input.

    Args:
        shape: a shape without its batch axis, or a single length; None stays where nothing is cut.
        part: [index, number of parts].
        grid: [rows, columns] of patches over the first two axes; without it the last axis is cut.

    Returns:
        A shape of the same type.

    Raises:
        ProgramError: the shape cannot be cut so.
    """
    if not isinstance(shape, (tuple, list)):
        return units(shape, part=part)
    share = make_share("local_regression", part=part, grid=grid)
    index, parts = share.part or (0, 1)
    sizes = list(shape)
    if share.grid is None:
        cuts = {len(sizes) - 1: (index, parts)}
    elif len(sizes) < 2:
        raise ProgramError(f"patches need an image's shape (height, width, channels), not {tuple(sizes)}")
    else:
        row, column = divmod(index, share.grid[1])
        cuts = {0: (row, share.grid[0]), 1: (column, share.grid[1])}
    for axis, (position, count) in cuts.items():
        start, stop = bounds(whole_number(sizes[axis], f"axis {axis} of the input's shape"), position, count)
        sizes[axis] = stop - start
    return type(shape)(sizes)
