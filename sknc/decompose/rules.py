"""Table 2 of the Skynnet paper, the deconstruction rules, as data.

Each row says what becomes of one thing under each kind of task, and which section of the paper says so. The table
itself stands in section 3.4; rows that a section explains name that section as well.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, get_args

__all__ = ["KINDS", "OBSERVED", "TABLE", "Family", "Kind", "Rule", "divides", "epochs_follow_factor"]

Kind = Literal["multiclass", "binary", "regression", "local_regression"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Family = Literal["dense", "filters", "cells", "embedding"]

Treatment = Literal[
    "two",  # always 2
    "half the groups",  # G/2, a real number
    "pairs of groups",  # C(G, 2), the nearest to what was asked for
    "as asked",  # the number of submodels that was asked for
    "kept",
    "divided",  # by F, rounded up
    "divided without embeddings",  # by F, but kept in a network with embedding or positional-encoding layers
    "divided when dense only",  # by F in a network of dense layers alone, else kept
    "own classes",
    "one half",
    "all rows",
    "certainty",
    "product",
    "concatenation",
]


@dataclasses.dataclass(frozen=True)
class Rule:
    """A row of Table 2: what it is about, the sections of the paper, the treatment under each kind."""

    name: str
    section: str
    binary: Treatment
    multiclass: Treatment
    local_regression: Treatment
    regression: Treatment

    def under(self, kind: Kind) -> Treatment:
        """Return the treatment under one kind of task."""
        treatment: Treatment = getattr(self, kind)
        return treatment


_ROWS = (
    #    row            section      binary            multiclass           local regression  non-local regression
    Rule("factor", "3.1 to 3.4", "two", "half the groups", "as asked", "as asked"),
    Rule("submodels", "3.1 to 3.5", "two", "pairs of groups", "as asked", "as asked"),
    Rule("input", "3, 3.4", "kept", "kept", "divided", "kept"),
    Rule("output", "3.1 to 3.4", "kept", "own classes", "divided", "divided"),
    Rule("composition", "3.5 step 4", "certainty", "product", "concatenation", "concatenation"),
    Rule("rows", "3.5 step 2", "one half", "own classes", "all rows", "all rows"),
    Rule("epochs", "3.4", "kept", "divided when dense only", "kept", "kept"),
    Rule("dense", "3.1, 3.4", "divided without embeddings", "divided without embeddings", "divided", "divided"),
    Rule("filters", "3.1, 3.4", "divided without embeddings", "divided without embeddings", "divided", "divided"),
    # Recurrent cells have no row of their own; their weights are dense ones, and the original tool divides them.
    Rule("cells", "3.4", "divided without embeddings", "divided without embeddings", "divided", "divided"),
    Rule("embedding", "3.1, 3.4", "divided", "divided", "divided", "divided"),
)

TABLE: dict[str, Rule] = {row.name: row for row in _ROWS}
"""The rules that decide something, by name."""

OBSERVED = {
    "training time": {
        "binary": "about T/M",
        "multiclass": "about T/M",
        "local_regression": "about T/M",
        "regression": "below T/M",
    },
    "memory": {
        "binary": "between 1/F and F",
        "multiclass": "between 1/F and F",
        "local_regression": "about 1/F while F < 8",
        "regression": "about 1/F while F < 8",
    },
}
"""The last rows of the table: what the authors observed (section 3.4). Nothing is decided from them."""


def divides(family: Family, kind: Kind, embeddings: bool) -> bool:
    """Say whether layers of a family are reduced.

    Args:
        family: "dense", "filters", "cells" or "embedding".
        kind: the kind of task.
        embeddings: whether the network has embedding or positional-encoding layers.

    Returns:
        True when their width is divided by F. Where it is not, a width that is tied to a reduced embedding width
        still follows that one.
    """
    treatment = TABLE[family].under(kind)
    return treatment == "divided" or (treatment == "divided without embeddings" and not embeddings)


def epochs_follow_factor(kind: Kind, dense_only: bool) -> bool:
    """Say whether the number of epochs is divided by F.

    Args:
        kind: the kind of task.
        dense_only: whether every layer with weights is a dense one.

    Returns:
        True for multiclass networks of dense layers alone.
    """
    return TABLE["epochs"].under(kind) == "divided when dense only" and dense_only
