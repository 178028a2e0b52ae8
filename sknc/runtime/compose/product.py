"""Composition by the product over submodels (Skynnet, section 3.5, step 4.1).

    y_k = product over m of f'_m(x)_k,   f'_m = f_m on the submodel's own classes, 1 on the others

Computed as a sum of log-probabilities and normalised over the classes, so that 45 or 91 factors do not underflow.
The product is what the paper uses; it is not the posterior, even when every submodel is perfect, because a class
that a submodel does not know counts as certain (the factor 1) in it. See `coupling` for the rule that is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from .layout import Members, layout
from .numeric import Array, log_normalised, side_by_side


def reference(scores: Sequence[Array], members: Members, classes: int) -> Array:
    """Compose log-probabilities by the product, in numpy and float64.

    Args:
        scores: Log-probabilities of each submodel, shape (rows, its classes).
        members: The classes of each submodel, in the order of its outputs.
        classes: Number of classes N.

    Returns:
        Log-probabilities, shape (rows, N), float64.

    Raises:
        ValueError: The submodels' classes are no decomposition of the N classes.
    """
    table = np.asarray(layout(members, classes).columns)
    return log_normalised(side_by_side(scores, 0.0)[:, table].sum(axis=-1))


def graph(scores: Sequence[Any], members: Members, classes: int) -> Any:
    """Compose log-probabilities by the product, with built-in Keras operations.

    Args:
        scores: float64 log-probabilities of each submodel, shape (batch, its classes).
        members: The classes of each submodel, in the order of its outputs.
        classes: Number of classes N.

    Returns:
        A float64 Keras tensor of log-probabilities, shape (batch, N).

    Raises:
        ValueError: The submodels' classes are no decomposition of the N classes.
    """
    table = [list(row) for row in layout(members, classes).columns]
    beside = ops.pad(ops.concatenate(list(scores), axis=-1), [[0, 0], [0, 1]], constant_values=0.0)
    return ops.log_softmax(ops.sum(ops.take(beside, table, axis=-1), axis=-1), axis=-1)
