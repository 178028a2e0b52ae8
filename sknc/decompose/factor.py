"""Reducing a width by the factor F: rounding up, with a floor of two (paper, section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["FLOOR", "cap_factor", "reduce_epochs", "reduce_width"]

FLOOR = 2
"""No layer is reduced below this many units or filters; one that has no more than this stays as it is."""


def cap_factor(factor: float, widths: Iterable[int]) -> float:
    """Cap F so that the smallest layer that is reduced keeps `FLOOR`, which keeps the layers in proportion.

    AlexNet's smallest layer has 96 filters, so its F is 48 at most (paper, section 3.1).

    Args:
        factor: F as the decomposition asks for it.
        widths: the widths that would be reduced. Those of `FLOOR` or less stay, and do not count.

    Returns:
        The factor that all of them are divided by, never below 1.
    """
    smallest = min((width for width in widths if width > FLOOR), default=None)
    if smallest is not None:
        factor = min(factor, smallest / FLOOR)
    return max(1.0, factor)


def reduce_width(width: int, factor: float, multiple: int = 1) -> int:
    """Divide a width by F, rounding up.

    Args:
        width: units or filters in the script.
        factor: F after the cap.
        multiple: the result is a multiple of this, where the layer needs it (heads, groups of a convolution).

    Returns:
        The width in a submodel: at least `FLOOR`, at most `width`.
    """
    if width <= FLOOR:
        return width
    reduced = max(FLOOR, math.ceil(width / factor))
    return min(width, math.ceil(reduced / multiple) * multiple)


def reduce_epochs(epochs: int, factor: float) -> int:
    """Divide a number of epochs by F, rounding up."""
    return math.ceil(epochs / factor)
