"""Which plans are looked at before a budget is refused."""

from __future__ import annotations

from typing import Any

import keras
import pytest
from keras import layers

from sknc.runtime.memory.errors import InfeasibleBudget, StuckStep
from sknc.runtime.memory.execute.choose import _PARTS, Chooser
from sknc.runtime.memory.execute.cuts import Way
from sknc.runtime.memory.execute.flatten import flatten
from sknc.runtime.memory.execute.plans import RECOMPUTE
from sknc.runtime.memory.execute.pools import Pools
from sknc.runtime.memory.execute.predicting import Expected, Predictor

MIB = 2**20


def chooser_of(count: int) -> Chooser:
    """A chooser for a chain of so many layers, without the disk."""
    hidden: list[Any] = [layers.Dense(64, activation="tanh") for _ in range(count)]
    model = keras.Sequential([keras.Input((64,)), *hidden, layers.Dense(1)])
    model.compile("sgd", "mse")
    graph = flatten(model)
    assert graph is not None
    return Chooser(graph, Predictor(model, 4096, model.optimizer), pools=Pools(spill=False))


@pytest.mark.parametrize("sort", [RECOMPUTE, _PARTS])
def test_no_budget_is_refused_while_the_smallest_of_a_sort_was_not_traced(
    monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    """All plans are estimated to be as large; only one of them is as small as the budget."""
    chooser = chooser_of(24)
    room = chooser.plain * 3 // 4
    small = chooser._ladder(sort).way(0)
    assert sort == RECOMPUTE or small != chooser._ladder(RECOMPUTE).way(0)

    def estimated(way: Way) -> int:
        return chooser.estimates.setdefault(way, room - 1)

    monkeypatch.setattr(chooser, "_estimate", estimated)

    def expected(way: Way, ahead: bool = False) -> Expected:
        return Expected(room // 2, room if way == small else room + MIB)

    monkeypatch.setattr(chooser, "_expected", expected)
    monkeypatch.setattr(chooser, "_worth", lambda sort: True, raising=False)
    plan = chooser.choose(room)
    assert [segment.steps for segment in plan.segments] == [piece.end - piece.start for piece in small.pieces]


def test_plans_that_cannot_be_imitated_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    chooser = chooser_of(8)

    def stuck(*_: Any, **__: Any) -> Any:
        raise StuckStep("operations wait for each other")

    monkeypatch.setattr(Predictor, "estimate", stuck)
    monkeypatch.setattr(Predictor, "expected", stuck)
    with pytest.raises(InfeasibleBudget) as refused:
        chooser.choose(chooser.plain - 1)
    assert refused.value.smallest == chooser.plain
