"""Plans that are estimated without tracing them: the rewritten step holds what the traced one does."""

from __future__ import annotations

from typing import Any

import keras
import pytest
from keras import layers

from sknc.runtime.memory.execute.costs import StepNames, chain_of_trace, places_of
from sknc.runtime.memory.execute.cuts import Piece
from sknc.runtime.memory.execute.flatten import flatten
from sknc.runtime.memory.execute.plans import KEEP, RECOMPUTE
from sknc.runtime.memory.execute.predicting import Predictor, Profile
from sknc.runtime.memory.execute.rewrite import planned
from sknc.runtime.memory.execute.runner import Runner, obeying
from sknc.runtime.memory.executor import Executor
from sknc.runtime.memory.opgraph import OpGraph
from sknc.runtime.memory.tfrules import ALLOCATORS
from sknc.runtime.memory.tracing import trace_step
from tests.memory_runtime.nets import residual

BATCH = 16


@pytest.fixture(scope="module")
def model() -> Any:
    """A network whose activations are nearly all it holds."""
    return residual(blocks=6, width=16, side=32)


@pytest.fixture(scope="module")
def profile(model: Any) -> Profile:
    """Its step without a plan."""
    graph = flatten(model)
    assert graph is not None
    return Predictor(model, BATCH, "sgd").profile(graph)


def peak(graph: OpGraph) -> int:
    """What one thread holds."""
    return Executor(graph, ALLOCATORS["bfc"], threads=1).run().peak


@pytest.mark.parametrize("kept", [(), (5, 9)])
def test_a_rewritten_step_is_what_would_be_traced(model: Any, profile: Profile, kept: tuple[int, ...]) -> None:
    graph = flatten(model)
    assert graph is not None
    pieces = [Piece(0, 13, RECOMPUTE, 0, kept), Piece(13, 21, RECOMPUTE), Piece(21, len(graph.steps), KEEP)]
    inner = [tuple(step - piece.start for step in piece.kept) for piece in pieces]
    runner = Runner(graph, [p.end - p.start for p in pieces], [p.mode for p in pieces], None, None, inner)
    with obeying(runner):
        traced = trace_step(model, BATCH).graph
    rewritten = planned(profile.graph, profile.places, pieces)
    for kind in ("Conv2D", "Relu", "Conv2DBackpropFilter", "Rsqrt"):
        counts = [sum(op.type == kind for op in graph.ops) for graph in (traced, rewritten)]
        assert counts[0] == counts[1], kind
    assert sum(op.type == "Conv2D" for op in rewritten.ops) == 7 + 6 - len(kept)
    assert peak(rewritten) == pytest.approx(peak(traced), rel=0.03)
    assert peak(rewritten) < 0.75 * peak(profile.graph)


def test_the_profile_knows_what_each_layer_costs(model: Any, profile: Profile) -> None:
    graph = flatten(model)
    assert graph is not None
    chain, unit = profile.chain, 16 * 32 * 32 * 16 * 4
    kinds = [type(step.operation).__name__ for step in graph.steps]
    conv, norm, relu, add = (kinds.index(kind, 5) for kind in ("Conv2D", "BatchNormalization", "ReLU", "Add"))
    # A convolution's backward pass does not read its output, ReLU's does.
    assert chain.spared[conv] == chain.seconds[conv] > 3 * chain.seconds[relu]
    assert chain.spared[relu] == 0
    assert [chain.output[step] for step in (conv, norm, relu, add)] == [unit] * 4
    assert chain.saved[conv] == pytest.approx(unit, rel=0.01)
    # ReLU works in the memory of the normalisation before it: what is saved and handed on is ReLU's.
    assert relu in chain.joined and chain.saved[relu] == pytest.approx(unit, rel=0.01) and chain.saved[norm] < unit / 10
    (handed,) = (one for one in chain.handed if one.made == relu and one.size == unit)
    assert handed.before == (norm,) and handed.last == add
    # The classes: a loss looks at the logits behind them.
    assert profile.alone == {len(graph.steps) - 1}


def test_what_cannot_run_twice_is_found_in_the_same_trace() -> None:
    inputs = keras.Input((6,), dtype="int32")
    x = layers.Embedding(10, 4)(inputs)
    outputs = layers.Dense(2)(layers.Flatten()(x))
    model = keras.Model(inputs, outputs)
    graph = flatten(model)
    assert graph is not None
    found = Predictor(model, 4, "sgd").profile(graph)
    assert found.alone == {0}
    assert len(found.chain.saved) == len(graph.steps)


def test_operations_are_told_apart_by_the_scope_of_their_step() -> None:
    names = StepNames()
    assert names.call("functional_1/sknc_step12/conv2d_1/Conv2D") == ("12", False)
    assert names.call("gradient_tape/functional_1/sknc_step3_1/bn/Mul") == ("3", True)
    assert names.call("gradient_tape/functional_1/loss/Mul") == ("", True)
    assert names.titles() == {"12": "12", "3": "3"}


def test_the_loss_comes_after_the_last_step(profile: Profile) -> None:
    places = places_of(profile.graph, len(profile.chain.saved))
    assert max(places) == len(profile.chain.saved)
    assert places.count(max(places)) > 2
    assert chain_of_trace(profile.graph, len(profile.chain.saved)) == profile.chain
