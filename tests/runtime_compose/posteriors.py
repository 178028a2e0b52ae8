"""Submodels that are perfect, and ones that contradict each other."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from sknc.runtime.compose.numeric import Array, log_normalised


def pairs(classes: int, groups: int) -> list[list[int]]:
    """Classes of each submodel: pairs of groups whose sizes differ by at most one."""
    edges = [i * classes // groups for i in range(groups + 1)]
    parts = [list(range(a, b)) for a, b in itertools.pairwise(edges)]
    return [a + b for a, b in itertools.combinations(parts, 2)]


def posteriors(rows: int, classes: int, seed: int = 0) -> Array:
    """Random posteriors, Dirichlet(0.5)."""
    return np.maximum(np.random.default_rng(seed).dirichlet([0.5] * classes, rows), 1e-300)


def perfect(posterior: Array, members: list[list[int]], dtype: Any = np.float64) -> list[Array]:
    """Log-probabilities of submodels that know the exact conditional distribution."""
    logs = np.log(posterior)
    found = [log_normalised(logs[:, one]) for one in members]
    if dtype == np.float64:
        return found
    # As a network gives them: scores in a narrow type, normalised afterwards.
    return [log_normalised(one.astype(dtype).astype(np.float64)) for one in found]


def contradicting(rows: int, members: list[list[int]], scale: float, seed: int = 0) -> list[Array]:
    """Log-probabilities of submodels that know nothing of each other."""
    random = np.random.default_rng(seed)
    return [log_normalised(random.normal(size=(rows, len(one))) * scale) for one in members]


def likelihood(found: Array, scores: list[Array], members: list[list[int]]) -> Array:
    """What coupling maximises, for each row, less its upper bound: never above zero."""
    total = np.zeros(len(found))
    for score, one in zip(scores, members, strict=True):
        total += (np.exp(score) * (log_normalised(found[:, one]) - score)).sum(axis=1)
    return total
