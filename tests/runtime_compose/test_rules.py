"""The rules of multiclass composition: exactness, optimum, range, and the same in Keras as in numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from sknc.runtime.compose import coupling, product
from sknc.runtime.compose.numeric import log_normalised
from tests.runtime_compose.posteriors import contradicting, likelihood, pairs, perfect, posteriors


def in_keras(rule: Any, members: list[list[int]], classes: int) -> keras.Model:
    inputs = [keras.Input((len(one),), dtype="float64") for one in members]
    return keras.Model(inputs, rule.graph(inputs, members, classes))


def called(model: keras.Model, scores: list[Any]) -> np.ndarray:
    return np.asarray(model([tf.constant(score) for score in scores]))


@pytest.mark.parametrize("groups", [4, 5, 10])
def test_coupling_gives_the_posterior_of_perfect_submodels(groups: int) -> None:
    members, posterior = pairs(10, groups), posteriors(10_000, 10)
    scores = perfect(posterior, members)
    assert np.abs(np.exp(coupling.reference(scores, members, 10)) - posterior).max() < 1e-12
    graph = called(in_keras(coupling, members, 10), scores)
    assert graph.dtype == np.float64
    assert np.abs(np.exp(graph) - posterior).max() < 1e-12


@pytest.mark.parametrize(("groups", "largest"), [(4, 1e-7), (5, 1e-7), (10, 1e-7)])
def test_coupling_of_float32_scores_is_as_exact_as_they_are(groups: int, largest: float) -> None:
    members, posterior = pairs(10, groups), posteriors(10_000, 10)
    scores = perfect(posterior, members, np.float32)
    assert np.abs(np.exp(coupling.reference(scores, members, 10)) - posterior).max() < largest


def test_product_of_perfect_submodels_is_wrong_in_13_percent() -> None:
    members, posterior = pairs(10, 4), posteriors(10_000, 10)
    found = product.reference(perfect(posterior, members), members, 10)
    wrong = float(np.mean(found.argmax(1) != posterior.argmax(1)))
    assert 0.12 < wrong < 0.145


def test_product_is_the_papers_product() -> None:
    members = [[0, 1], [0, 2], [1, 2]]
    parts = [np.array([[0.9, 0.1]]), np.array([[0.6, 0.4]]), np.array([[0.3, 0.7]])]
    expected = np.array([[0.9 * 0.6, 0.1 * 0.3, 0.4 * 0.7]])
    found = np.exp(product.reference([np.log(p) for p in parts], members, 3))
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-12)


@pytest.mark.parametrize("rule", [product, coupling])
@pytest.mark.parametrize(("classes", "groups"), [(10, 4), (11, 5), (10, 10)])
def test_keras_and_numpy_agree_on_submodels_that_disagree(rule: Any, classes: int, groups: int) -> None:
    members = pairs(classes, groups)
    scores = contradicting(200, members, 3.0)
    graph = np.exp(called(in_keras(rule, members, classes), scores))
    np.testing.assert_allclose(graph, np.exp(rule.reference(scores, members, classes)), atol=1e-9)
    np.testing.assert_allclose(graph.sum(1), 1, atol=1e-12)


def test_coupling_ends_at_the_maximum_that_the_textbook_iteration_creeps_to() -> None:
    members = pairs(10, 4)
    scores = contradicting(50, members, 1.0)
    strength = np.full((50, 10), 0.1)
    for _ in range(3000):
        # Huang, Weng and Lin's update: p_k <- p_k * (what k won) / (what p says that k would win).
        won, expected = np.zeros_like(strength), np.zeros_like(strength)
        for score, one in zip(scores, members, strict=True):
            won[:, one] += np.exp(score)
            expected[:, one] += strength[:, one] / strength[:, one].sum(1, keepdims=True)
        strength *= won / expected
        strength /= strength.sum(1, keepdims=True)
    np.testing.assert_allclose(np.exp(coupling.reference(scores, members, 10)), strength, atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 5.0, 20.0, 60.0])
def test_no_step_of_coupling_makes_it_worse(scale: float) -> None:
    members = pairs(10, 5)
    scores = contradicting(300, members, scale)
    before = likelihood(coupling.reference(scores, members, 10, rounds=0), scores, members)
    for rounds in range(1, 6):
        after = likelihood(coupling.reference(scores, members, 10, rounds=rounds), scores, members)
        assert (after >= before - 1e-6).all()
        before = after


@pytest.mark.parametrize("rule", [product, coupling])
@pytest.mark.parametrize(("classes", "groups"), [(102, 10), (1623, 4), (1623, 14)])
def test_many_submodels_and_classes_do_not_underflow(rule: Any, classes: int, groups: int) -> None:
    members = pairs(classes, groups)
    # Wide enough that a product of float32 probabilities would be zero everywhere.
    scores = contradicting(4, members, 40.0)
    model = in_keras(rule, members, classes)
    found = called(model, scores)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.exp(found).sum(1), 1, atol=1e-9)


def test_coupling_is_exact_for_1623_classes() -> None:
    members, posterior = pairs(1623, 14), posteriors(8, 1623)
    scores = perfect(posterior, members)
    found = np.exp(called(in_keras(coupling, members, 1623), scores))
    assert np.abs(found - posterior).max() < 1e-10


def test_certain_submodels_stay_certain() -> None:
    members = pairs(10, 4)
    posterior = np.full((1, 10), 1e-30)
    posterior[0, 7] = 1.0
    found = coupling.reference(perfect(posterior / posterior.sum(), members), members, 10)
    np.testing.assert_allclose(found[0, [0, 9]], np.log(1e-30), atol=1e-3)
    assert found[0, 7] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("rule", [product, coupling])
def test_a_row_without_numbers_stays_alone(rule: Any) -> None:
    members = pairs(10, 4)
    scores = contradicting(3, members, 1.0)
    scores[2][1, 0] = np.nan
    found = called(in_keras(rule, members, 10), scores)
    assert np.isnan(found[1]).any()
    assert np.isfinite(found[[0, 2]]).all()


@pytest.mark.parametrize("rule", [product, coupling])
def test_the_order_of_a_submodels_outputs_does_not_matter(rule: Any) -> None:
    members = pairs(10, 4)
    scores = contradicting(20, members, 2.0)
    turned = [list(reversed(one)) for one in members]
    found = rule.reference([score[:, ::-1] for score in scores], turned, 10)
    np.testing.assert_allclose(found, rule.reference(scores, members, 10), atol=1e-9)


@pytest.mark.parametrize("rule", [product, coupling])
def test_a_saved_rule_is_built_in_keras_only(rule: Any, tmp_path: Path) -> None:
    members = pairs(10, 4)
    scores = contradicting(20, members, 2.0)
    model = in_keras(rule, members, 10)
    model.save(tmp_path / "rule.keras")
    loaded = keras.saving.load_model(tmp_path / "rule.keras")
    np.testing.assert_array_equal(called(loaded, scores), called(model, scores))


def test_log_normalised_does_not_overflow() -> None:
    found = log_normalised(np.array([[1e5, 1e5 - 1.0], [-1e5, -1e5]]))
    np.testing.assert_allclose(np.exp(found).sum(1), 1)
