"""Composition of a binary block: per sample, the more certain submodel (Skynnet, section 3.5, step 4.2).

    y = f_m(x),   m = the submodel that is the more certain about x

Both submodels have both classes. A submodel's certainty is the distance between its two scores, or of its only
score from the border, 0 (one half for a probability): that orders submodels as the larger probability does, but
scores do not saturate as probabilities do. Of equally certain submodels the first one answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from keras import ops

from .numeric import Array


def reference(values: Sequence[Array], border: float = 0.0) -> Array:
    """Take each sample's values from the more certain submodel, in numpy and float64.

    Args:
        values: Scores or probabilities of each submodel, shape (rows, 1) or (rows, 2).
        border: Where a single value says neither class: 0 for scores, 0.5 for probabilities.

    Returns:
        Values of the same shape, float64.

    Raises:
        ValueError: There is no submodel, or more than two columns.
    """
    _check(values)

    def certainty(value: Array) -> Array:
        distance = value[:, 1:] - value[:, :1] if value.shape[-1] == 2 else value - border
        return np.abs(distance)

    def better(best: Array, value: Array) -> Array:
        return np.where(certainty(value) > certainty(best), value, best)

    return reduce(better, [np.asarray(value, np.float64) for value in values])


def graph(values: Sequence[Any], border: float = 0.0) -> Any:
    """Take each sample's values from the more certain submodel, with built-in Keras operations.

    Args:
        values: float64 scores or probabilities of each submodel, shape (batch, 1) or (batch, 2).
        border: Where a single value says neither class: 0 for scores, 0.5 for probabilities.

    Returns:
        A float64 Keras tensor of the same shape.

    Raises:
        ValueError: There is no submodel, or more than two columns.
    """
    _check(values)

    def certainty(value: Any) -> Any:
        if value.shape[-1] == 1:
            return ops.abs(ops.subtract(value, border))
        first, second = ops.split(value, 2, axis=-1)
        return ops.abs(ops.subtract(second, first))

    return reduce(lambda best, value: ops.where(ops.greater(certainty(value), certainty(best)), value, best), values)


def _check(values: Sequence[Any]) -> None:
    if not values:
        raise ValueError("no submodel to choose from")
    for value in values:
        if value.shape[-1] not in (1, 2) or len(value.shape) != 2:
            raise ValueError(f"a binary output has one or two columns, not shape {tuple(value.shape)}")
