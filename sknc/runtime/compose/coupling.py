"""Composition by coupling: the posterior that explains all submodels best (Huang, Weng and Lin, JMLR 2006).

A submodel of Skynnet is a match in a generalised Bradley-Terry model: it says how likely each of its classes is,
given that one of them is right. With p the posterior looked for and r_m the m-th submodel's probabilities, the rule
maximises the likelihood (their section 2 for two teams a match, section 5 for teams of single classes)

    sum over m, k in m of r_mk log(p_k / sum over j in m of p_j)

Two groups make a submodel, and each pair of groups meets once, which splits the maximum in two:

* within a group g, p_k is proportional to R_k, the sum of r_mk over the submodels that know k: no search needed;
* between groups there remains an ordinary Bradley-Terry model, r_gh being the probability of g's classes in the
  submodel of g and h: G numbers theta_g = log P_g for each sample, whatever the number of classes.

Theta starts at the weighted least squares fit of theta_g - theta_h = log r_gh - log r_hg, which is exact when the
submodels are perfect, and takes a few Newton steps from there. A full Newton step can overshoot far when submodels
contradict each other confidently, so each is shortened to log(1 + v) / v of itself, v being the widest change
of a difference of thetas: with that the likelihood never falls. Four steps end at the maximum for trained networks
(docs/benchmarks.md), where the textbook iteration takes hundreds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from .layout import Layout, Members, layout
from .numeric import NEVER, Array, log_normalised, log_sum_exp, side_by_side

ROUNDS = 4
LEAST = 1e-10
"""Added to every weight: two groups that are both out of the question still get a difference, from unweighted
least squares. Larger values bend the fit; smaller ones leave the equations without a solution in float64."""

TINY = 1e-30


def reference(scores: Sequence[Array], members: Members, classes: int, *, rounds: int = ROUNDS) -> Array:
    """Compose log-probabilities by coupling, in numpy and float64.

    Args:
        scores: Log-probabilities of each submodel, shape (rows, its classes).
        members: The classes of each submodel, in the order of its outputs.
        classes: Number of classes N.
        rounds: Newton steps after the least squares fit.

    Returns:
        Log-probabilities, shape (rows, N), float64.

    Raises:
        ValueError: The submodels' classes are no decomposition of the N classes into groups and pairs of them.
    """
    tables = layout(members, classes)
    cells = side_by_side(scores, NEVER)[:, np.asarray(tables.cells)]
    within = log_sum_exp(cells, 3)
    between = log_sum_exp(cells, 2)
    theta = _reference_fit(between, rounds)
    found = within - log_sum_exp(within, 2)[:, :, None] + theta[:, :, None]
    return log_normalised(found.reshape(len(found), -1)[:, list(tables.places)])


def _reference_fit(between: Array, rounds: int) -> Array:
    """Return theta, shape (rows, groups), for log r_gh of shape (rows, groups, groups)."""
    opposite = between.transpose(0, 2, 1)
    weights = np.exp(between + opposite) + LEAST
    theta = _reference_solve(weights, (weights * (between - opposite)).sum(-1))
    won = np.exp(between).sum(-1)
    for _ in range(rounds):
        chance = 0.5 + 0.5 * np.tanh((theta[:, :, None] - theta[:, None, :]) / 2)
        # A group does not meet itself: its chance of a half against itself is taken out.
        step = _reference_solve(chance * (1 - chance) + LEAST, won - chance.sum(-1) + 0.5)
        widest = step.max(-1) - step.min(-1) + TINY
        theta = theta + step * (np.log1p(widest) / widest)[:, None]
    return theta


def _reference_solve(weights: Array, right: Array) -> Array:
    """Solve the equations of the graph whose edges have these weights; the solution's sum is zero."""
    groups = weights.shape[-1]
    edges = weights * (1 - np.eye(groups))
    degree = edges.sum(-1)
    # The equations leave the sum of theta open; a constant of the matrix's own size fixes it at zero.
    constant = degree.mean(-1)[:, None, None] / groups
    matrix = degree[:, :, None] * np.eye(groups) - edges + constant
    solution: Array = np.linalg.solve(matrix, right[..., None])[..., 0]
    return solution


def graph(scores: Sequence[Any], members: Members, classes: int, *, rounds: int = ROUNDS) -> Any:
    """Compose log-probabilities by coupling, with built-in Keras operations.

    Args:
        scores: float64 log-probabilities of each submodel, shape (batch, its classes).
        members: The classes of each submodel, in the order of its outputs.
        classes: Number of classes N.
        rounds: Newton steps after the least squares fit.

    Returns:
        A float64 Keras tensor of log-probabilities, shape (batch, N).

    Raises:
        ValueError: The submodels' classes are no decomposition of the N classes into groups and pairs of them.
    """
    tables = layout(members, classes)
    beside = ops.pad(ops.concatenate(list(scores), axis=-1), [[0, 0], [0, 1]], constant_values=NEVER)
    cells = ops.take(beside, [[list(row) for row in group] for group in tables.cells], axis=-1)
    within = ops.logsumexp(cells, axis=3)
    theta = _graph_fit(ops.logsumexp(cells, axis=2), rounds)
    level = ops.subtract(theta, ops.logsumexp(within, axis=2))
    found = ops.add(within, ops.expand_dims(level, -1))
    return ops.log_softmax(_in_class_order(found, tables), axis=-1)


def _in_class_order(found: Any, tables: Layout) -> Any:
    """Bring values by group and position into the order of the classes."""
    flat = ops.reshape(found, (-1, len(tables.groups) * len(tables.cells[0])))
    return ops.take(flat, list(tables.places), axis=-1)


def _graph_fit(between: Any, rounds: int) -> Any:
    """Return theta as a Keras tensor; as `_reference_fit`."""
    opposite = ops.transpose(between, (0, 2, 1))
    weights = _weights(ops.exp(ops.add(between, opposite)))
    right = ops.sum(ops.multiply(weights, ops.subtract(between, opposite)), axis=-1)
    theta = _graph_solve(weights, right)
    won = ops.sum(ops.exp(between), axis=-1)
    for _ in range(rounds):
        chance = ops.sigmoid(ops.subtract(ops.expand_dims(theta, 2), ops.expand_dims(theta, 1)))
        right = ops.add(ops.subtract(won, ops.sum(chance, axis=-1)), 0.5)
        step = _graph_solve(_weights(ops.multiply(chance, ops.subtract(1.0, chance))), right)
        top, bottom = ops.max(step, axis=-1, keepdims=True), ops.min(step, axis=-1, keepdims=True)
        widest = ops.add(ops.subtract(top, bottom), TINY)
        theta = ops.add(theta, ops.multiply(step, ops.divide(ops.log1p(widest), widest)))
    return theta


def _weights(values: Any) -> Any:
    """Keep the equations solvable, even for a submodel that gives not-a-number (which reaches the result)."""
    return ops.add(ops.nan_to_num(values, nan=0.0), LEAST)


def _graph_solve(weights: Any, right: Any) -> Any:
    """Solve the equations of the graph whose edges have these weights; as `_reference_solve`."""
    groups = weights.shape[-1]
    identity = ops.eye(groups, dtype="float64")
    edges = ops.multiply(weights, ops.subtract(1.0, identity))
    degree = ops.sum(edges, axis=-1)
    constant = ops.divide(ops.mean(degree, axis=-1, keepdims=True), float(groups))
    matrix = ops.subtract(ops.multiply(ops.expand_dims(degree, -1), identity), edges)
    return ops.solve(ops.add(matrix, ops.expand_dims(constant, -1)), right)
