"""Small float64 tools of the numpy references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NEVER = -1e300
"""A log-probability that counts as none: exp of it is 0, and twice it is still finite in float64."""


def log_sum_exp(values: Array, axis: int) -> Array:
    """Return the logarithm of the sum of exponentials along an axis, without overflow.

    Args:
        values: Logarithms.
        axis: The axis to sum over.

    Returns:
        The logarithms of the sums, the axis removed.
    """
    top = values.max(axis=axis, keepdims=True)
    total: Array = np.log(np.exp(values - top).sum(axis=axis)) + np.squeeze(top, axis=axis)
    return total


def log_normalised(values: Array) -> Array:
    """Return log-probabilities: the logarithms, moved so that the last axis sums to one.

    Args:
        values: Logarithms, any scale.

    Returns:
        Log-probabilities of the same shape.
    """
    return values - log_sum_exp(values, -1)[..., None]


def side_by_side(scores: Sequence[Array], padding: float) -> Array:
    """Lay the submodels' columns side by side, with one padding column behind them.

    Args:
        scores: One array of shape (rows, columns) for each submodel.
        padding: The padding column's value.

    Returns:
        An array of shape (rows, all columns + 1), float64.
    """
    rows = scores[0].shape[0]
    return np.concatenate([*[np.asarray(s, np.float64) for s in scores], np.full((rows, 1), padding)], axis=1)
