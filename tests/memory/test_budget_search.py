"""The search for one budget, the spans that come of it, and plans against optima known by exhaustion."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sknc.runtime.memory.accounting import unroll
from sknc.runtime.memory.actions import HOST, KEEP, RECOMPUTE, Span
from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.graph import StepGraph
from sknc.runtime.memory.lazy import Lazy, Pass
from sknc.runtime.memory.liveness import liveness_timeline
from sknc.runtime.memory.machine import Machine
from sknc.runtime.memory.masks import Masks, bits
from sknc.runtime.memory.network import Layer, Network
from sknc.runtime.memory.papernets import paper_network
from sknc.runtime.memory.planner import Planner, read_schedule
from sknc.runtime.memory.schedule import Schedule, walk
from sknc.runtime.memory.spans import walk_spans
from sknc.runtime.memory.trim import spans_of

from .test_graph_walk import random_network

PLENTY = 1 << 40
# Recomputing and moving cost about the same on it.
EVEN = Machine(flops=1.0, memory=1e9, host=0.5, disk=0.01)

small = st.builds(lambda seed: unroll(random_network(seed, 9), 1), st.integers(0, 10**6))


def cheap(one: Pass) -> Pass:
    return Pass(min(one.width, 6), one.taste)


def added_by(graph: StepGraph, held: dict[int, tuple[Span, ...]]) -> float:
    outcome = walk_spans(graph, held)
    seconds = EVEN.forward_seconds(graph)
    again = sum(count * each for count, each in zip(outcome.recomputed, seconds, strict=True))
    return again + outcome.moved[HOST] / EVEN.host


Moment = tuple[int, int, int]  # the step to come, what is on the device, what has been copied


def moves(masks: Masks, budget: int, moment: Moment) -> Iterator[tuple[float, Moment]]:
    """All that can be done next, with the seconds that it adds.

    Before each backward step any layer whose inputs are there may run again, any tensor may be fetched, and any
    may be dropped; a first fetch pays for the copy as well.
    """
    graph, (step, here, copied) = masks.graph, moment
    there = here | masks.made[step]
    if not masks.touched[step] & ~there and masks.bytes(there) + masks.own[step] <= budget:
        yield 0.0, (step + 1, there & (masks.useful[step] | masks.onward[step]), copied)
    for tensor in bits(here & ~masks.pinned[step - 1] if step else 0):
        yield 0.0, (step, here & ~(1 << tensor), copied)
    if not graph.steps[step].backward:
        return
    for tensor, one in enumerate(graph.tensors):
        full = here | 1 << tensor
        if one.gradient or here == full or masks.bytes(full) + masks.before[step] > budget:
            continue
        if not masks.inputs[one.layer] & ~here:
            yield masks.seconds[one.layer], (step, full, copied)
        yield masks.copy[tensor] * (1 if copied >> tensor & 1 else 2), (step, full, copied | 1 << tensor)


def exhausted(graph: StepGraph, budget: int) -> float | None:
    """The least added time within a budget, by Dijkstra's algorithm over all that a device can hold and do."""
    masks = Masks(graph, EVEN, dict.fromkeys(range(len(graph.tensors)), HOST))
    least: dict[Moment, float] = {(0, 0, 0): 0.0}
    queue = [(0.0, (0, 0, 0))]
    while queue:
        cost, moment = heapq.heappop(queue)
        if moment[0] == len(graph.steps):
            return cost
        if cost > least[moment]:
            continue
        for more, after in moves(masks, budget, moment):
            if cost + more < least.get(after, float("inf")):
                least[after] = cost + more
                heapq.heappush(queue, (cost + more, after))
    return None


def chain(*layers: tuple[str, int, int]) -> StepGraph:
    """Layers of a type, a size and a work, one after the other."""
    names = [f"l{number}" for number in range(len(layers))]
    return unroll(
        Network(
            "chain",
            20,
            tuple(
                Layer(names[number], kind, (names[number - 1],) if number else (), size, flops=work)
                for number, (kind, size, work) in enumerate(layers)
            ),
        ),
        1,
    )


GRAPHS = {
    "chain": chain(("CONV", 30, 90), ("ACT", 30, 20), ("POOL", 12, 30), ("BN", 12, 80), ("CONV", 20, 200)),
    "large in the middle": chain(("CONV", 5, 60), ("BN", 40, 30), ("ACT", 40, 10), ("LRN", 8, 70), ("POOL", 4, 5)),
    "cheap to move": chain(("CONV", 4, 500), ("ACT", 25, 400), ("CONV", 3, 300), ("ACT", 30, 200), ("POOL", 9, 9)),
    "branches": unroll(random_network(3, 5), 1),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_plans_reach_the_optimum_that_exhaustion_finds(name: str) -> None:
    graph = GRAPHS[name]
    planner = Planner(graph, machine=EVEN, host=PLENTY)
    low, high = planner.smallest, planner.trials[0].peak
    assert exhausted(graph, low - 1) is None
    for part in range(5):
        budget = low + (high - low) * part // 4
        best = exhausted(graph, budget)
        assert best is not None
        assert planner.plan(budget).trial.added == pytest.approx(best, rel=0.01)


@settings(max_examples=25, deadline=None)
@given(small, st.floats(0, 1), st.booleans())
def test_what_is_found_keeps_the_budget_and_costs_what_the_search_says(
    graph: StepGraph, share: float, host: bool
) -> None:
    pools = dict.fromkeys(range(len(graph.tensors)), HOST) if host else {}
    lazy = Lazy(Masks(graph, EVEN, pools))
    lazy.now = cheap(lazy.now)
    masks = lazy.masks
    floor = max(own + masks.bytes(touched) for own, touched in zip(masks.own, masks.touched, strict=True))
    most = liveness_timeline(graph).peak.bytes
    budget = floor + int(share * (most - floor))
    trace = lazy.find(budget, float("inf"))
    assert trace is not None or budget < most
    # Where nothing is found there is nothing to look at; that most often something is, hypothesis sees to.
    assume(trace is not None)
    assert trace is not None
    held = spans_of(masks, trace, pools)
    outcome = walk_spans(graph, held)
    assert outcome.timeline.peak.bytes <= budget
    assert all(
        size >= masks.bytes(touched) for size, touched in zip(outcome.timeline.bytes, masks.touched, strict=True)
    )
    assert (outcome.host[-1], outcome.moved_in == 0) == (0, outcome.moved_out == 0)
    added = added_by(graph, held)
    assert (added == 0) or budget < most
    # What is found for less costs less.
    limit = 0.9 * added
    less = lazy.find(budget, limit)
    assert less is None or added_by(graph, spans_of(masks, less, pools)) <= limit * (1 + 1e-9)


@settings(max_examples=15, deadline=None)
@given(small)
def test_no_span_ends_before_what_needs_it(graph: StepGraph) -> None:
    pools = dict.fromkeys(range(len(graph.tensors)), HOST)
    lazy = Lazy(Masks(graph, EVEN, pools))
    lazy.now = cheap(lazy.now)
    trace = lazy.find(int(liveness_timeline(graph).peak.bytes * 0.8), float("inf"))
    assume(trace is not None)
    assert trace is not None
    for tensor, spans in spans_of(lazy.masks, trace, pools).items():
        for number, step in enumerate(graph.steps):
            if tensor in step.touches:
                assert any(span.start <= number <= span.end for span in spans)
        assert [span.by == KEEP for span in spans] == [True] + [False] * (len(spans) - 1)


def test_a_large_graph_is_searched_too() -> None:
    graph = unroll(paper_network("resnet50"), 2)
    most = liveness_timeline(graph).peak.bytes
    lazy = Lazy(Masks(graph, EVEN, {}))
    assert not lazy.exact
    for one in lazy.passes:
        lazy.now = one
        trace = lazy.find(most // 4, float("inf"))
        assert trace is not None
        outcome = walk_spans(graph, spans_of(lazy.masks, trace, {}))
        assert most // 8 < outcome.timeline.peak.bytes <= most // 4
        assert outcome.moved_out == 0


def test_what_became_a_gradient_is_never_dropped() -> None:
    graph = chain(("CONV", 9, 50), ("ACT", 9, 40), ("FC", 30, 90), ("SOFTMAX", 30, 90))
    softmax = graph.nodes[-1].outputs[0]
    planner = Planner(graph, machine=EVEN, host=PLENTY)
    first, last = graph.first_backward[softmax], graph.last_use[softmax]
    assert first < last
    for trial in planner.trials:
        spans = trial.schedule.held.get(softmax, ())
        assert not any(first < span.start <= last for span in spans)


SPANS = unroll(random_network(5, 6), 1)


@pytest.mark.parametrize(
    "spans",
    [
        (Span(0, 2), Span(2, 5, HOST)),
        (Span(1, 2),),
        (Span(0, 2, RECOMPUTE),),
        (Span(0, 2), Span(4, 5)),
        (Span(0, 2), Span(4, 3, HOST)),
        (Span(0, 2), Span(4, 99, HOST)),
        (Span(0, 2), Span(4, 5, "elsewhere")),
    ],
)
def test_spans_that_cannot_be_followed_are_refused(spans: tuple[Span, ...]) -> None:
    with pytest.raises(PlanError, match="cannot be held"):
        walk(SPANS, Schedule((KEEP,) * len(SPANS.tensors), held={0: spans}))


def test_a_step_that_misses_a_tensor_is_told() -> None:
    graph = chain(("CONV", 9, 50), ("ACT", 9, 40), ("POOL", 5, 9))
    with pytest.raises(PlanError, match="gone at step"):
        walk(graph, Schedule((KEEP,) * len(graph.tensors), held={0: (Span(0, 1),)}))


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0, PLENTY]))
def test_plans_with_spans_are_read_back_from_their_json(seed: int, host: int) -> None:
    graph = unroll(random_network(seed, 4), 1)
    planner = Planner(graph, machine=EVEN, host=host)
    plan = planner.plan(planner.smallest)
    content = json.loads(json.dumps(plan.as_json()))
    assert walk(graph, read_schedule(content, graph)) == plan.trial.outcome


def test_a_plan_that_tells_spans_for_some_tensors_only_is_refused() -> None:
    graph = GRAPHS["large in the middle"]
    planner = Planner(graph, machine=EVEN, host=PLENTY)
    content = next(
        content
        for trial in planner.trials
        if len((content := planner.plan(trial.peak).as_json())["tensors"]) > 1 and "held" in content["tensors"][0]
    )
    del content["tensors"][0]["held"]
    with pytest.raises(PlanError, match="for none"):
        read_schedule(content, graph)
