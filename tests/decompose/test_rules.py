"""Table 2, row by row, as the paper's manuals print it."""

import pytest

from sknc.decompose.rules import KINDS, OBSERVED, TABLE, divides, epochs_follow_factor


@pytest.mark.parametrize(
    ("row", "binary", "multiclass", "local_regression", "regression"),
    [
        ("factor", "two", "half the groups", "as asked", "as asked"),
        ("submodels", "two", "pairs of groups", "as asked", "as asked"),
        ("input", "kept", "kept", "divided", "kept"),
        ("output", "kept", "own classes", "divided", "divided"),
        ("composition", "certainty", "product", "concatenation", "concatenation"),
        ("rows", "one half", "own classes", "all rows", "all rows"),
        ("epochs", "kept", "divided when dense only", "kept", "kept"),
    ],
)
def test_the_table(row, binary, multiclass, local_regression, regression):
    rule = TABLE[row]
    found = (rule.binary, rule.multiclass, rule.local_regression, rule.regression)
    assert found == (binary, multiclass, local_regression, regression)
    assert [rule.under(kind) for kind in KINDS] == [multiclass, binary, regression, local_regression]


def test_every_row_names_a_section_of_the_paper():
    assert all(rule.section.startswith("3") for rule in TABLE.values())
    assert all(set(row) == set(KINDS) for row in OBSERVED.values())


@pytest.mark.parametrize("family", ["dense", "filters", "cells"])
def test_the_embedding_exception(family):
    assert all(divides(family, kind, embeddings=False) for kind in KINDS)
    kept = [kind for kind in KINDS if not divides(family, kind, embeddings=True)]
    assert kept == ["multiclass", "binary"]


def test_embeddings_are_divided():
    assert all(divides("embedding", kind, embeddings=True) for kind in KINDS)


def test_epochs():
    assert [kind for kind in KINDS if epochs_follow_factor(kind, dense_only=True)] == ["multiclass"]
    assert not any(epochs_follow_factor(kind, dense_only=False) for kind in KINDS)
