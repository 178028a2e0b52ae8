"""Route, liveness, the walk and the tensor cache on small graphs."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sknc.runtime.memory.accounting import unroll
from sknc.runtime.memory.cache import TensorCache, cached_moves
from sknc.runtime.memory.errors import InfeasibleBudget, PlanError
from sknc.runtime.memory.graph import StepGraph
from sknc.runtime.memory.liveness import live_sets, liveness_timeline
from sknc.runtime.memory.network import Layer, Network, with_forks
from sknc.runtime.memory.papernets import paper_network
from sknc.runtime.memory.recompute import COST, MEMORY, SPEED, recompute_schedule, segments
from sknc.runtime.memory.route import execution_route
from sknc.runtime.memory.schedule import HOST, KEEP, RECOMPUTE, Schedule, keep_everything, walk

TYPES = ("CONV", "ACT", "BN", "POOL", "DROPOUT", "LRN")


def chain(length: int) -> Network:
    names = [f"l{number}" for number in range(length)]
    layers = [
        Layer(name, TYPES[number % 4], (names[number - 1],) if number else (), 100 + number % 7, flops=1000)
        for number, name in enumerate(names)
    ]
    return Network("chain", 100, tuple(layers))


def random_network(seed: int, length: int = 14) -> Network:
    """Layers that read one or two earlier ones; the loose ends are joined at the end."""
    rng = random.Random(seed)
    layers = [Layer("l0", "CONV", (), rng.randint(1, 50), flops=rng.randint(1, 900))]
    for number in range(1, length):
        sources = rng.sample(layers[-4:], min(len(layers[-4:]), rng.choice((1, 1, 2))))
        kind = rng.choice(TYPES) if len(sources) == 1 else rng.choice(("JOIN", "CONCAT"))
        names = tuple(source.name for source in sources)
        layers.append(Layer(f"l{number}", kind, names, rng.randint(1, 50), flops=rng.randint(1, 900)))
    read = {name for layer in layers for name in layer.inputs}
    ends = tuple(layer.name for layer in layers if layer.name not in read)
    if len(ends) > 1:
        layers.append(Layer("end", "CONCAT", ends, 10, flops=10))
    return Network(f"random{seed}", 20, tuple(layers))


graphs = st.builds(
    lambda seed, length: unroll(random_network(seed, length), 1), st.integers(0, 10**6), st.integers(1, 25)
)


def test_a_join_waits_for_all_its_inputs() -> None:
    # The nested fans of the paper's Figure 6.
    edges = {"a": "", "b": "a", "c": "b", "d": "b", "e": "cd", "f": "a", "g": "f", "h": "f", "i": "egh", "j": "i"}
    layers = tuple(Layer(name, "ACT", tuple(sources), 1) for name, sources in edges.items())
    route = [layers[position].name for position in execution_route(Network("fans", 1, layers))]
    assert "".join(route) == "abcdefghij"


def test_depth_does_not_end_the_walk() -> None:
    assert execution_route(chain(50_000)) == list(range(50_000))


@pytest.mark.parametrize(("inputs", "said"), [(("nowhere",), "not a layer"), (("l2",), "cycle")])
def test_broken_networks_are_refused(inputs: tuple[str, ...], said: str) -> None:
    layers = (Layer("l0", "CONV", (), 1), Layer("l1", "ACT", inputs, 1), Layer("l2", "ACT", ("l1",), 1))
    with pytest.raises(PlanError, match=said):
        execution_route(Network("broken", 1, layers))


def test_forks_are_put_in_once_for_each_output_with_several_readers() -> None:
    layers = (Layer("a", "CONV", (), 8), Layer("b", "ACT", ("a",), 8), Layer("c", "JOIN", ("a", "b"), 8))
    forked = with_forks(Network("n", 1, layers))
    assert [layer.name for layer in forked.layers] == ["a", "a/fork", "b", "c"]
    assert forked.layers[3].inputs == ("a/fork", "b")
    assert with_forks(forked) == forked
    assert len(unroll(forked, 1).nodes[1].outputs) == 2


@given(graphs)
def test_liveness_is_the_walk_that_keeps_everything(graph: StepGraph) -> None:
    outcome = walk(graph, keep_everything(graph))
    assert outcome.timeline == liveness_timeline(graph)
    assert (outcome.extra, outcome.moved_out, outcome.moved_in) == (0, 0, 0)


@given(graphs)
def test_every_tensor_is_born_once_and_dies_once_after_its_last_use(graph: StepGraph) -> None:
    born: list[int] = []
    dead: list[int] = []
    for number, (new, gone) in enumerate(live_sets(graph)):
        born += new
        dead += gone
        for tensor in gone:
            assert all(tensor not in step.touches for step in graph.steps[number + 1 :])
    assert sorted(born) == sorted(dead) == list(range(len(graph.tensors)))


# In about one network of 400 the order in which layers are computed again makes a tensor live longer.
@example(unroll(random_network(141, 8), 1))
@given(graphs)
def test_memory_centric_holds_hardly_more_and_computes_no_less_than_speed_centric(graph: StepGraph) -> None:
    speed, memory, cost = (walk(graph, recompute_schedule(graph, name)) for name in (SPEED, MEMORY, COST))
    assert speed.extra <= cost.extra <= memory.extra
    assert memory.timeline.peak.bytes <= 1.1 * speed.timeline.peak.bytes


@given(graphs)
def test_speed_centric_runs_no_layer_twice_again(graph: StepGraph) -> None:
    outcome = walk(graph, recompute_schedule(graph, SPEED))
    assert max(outcome.recomputed) <= 1
    assert all(graph.nodes[node].cheap for node, count in enumerate(outcome.recomputed) if count)


@given(graphs, st.randoms(use_true_random=False))
def test_any_mixture_of_actions_can_be_walked(graph: StepGraph, rng: random.Random) -> None:
    actions = tuple(KEEP if tensor.gradient else rng.choice((KEEP, RECOMPUTE, HOST)) for tensor in graph.tensors)
    outcome = walk(graph, Schedule(actions, frozenset(rng.sample(range(len(graph.nodes)), len(graph.nodes) // 2))))
    assert outcome.host[-1] == 0
    assert all(
        held >= sum(graph.size(tensor) for tensor in step.touches)
        for held, step in zip(outcome.timeline.bytes, graph.steps, strict=True)
    )


def test_segments_end_at_checkpoints() -> None:
    graph = unroll(paper_network("alexnet"), 1)
    names = [[graph.nodes[node].name for node in segment.nodes] for segment in segments(graph)]
    assert names[0] == ["ACT1", "LRN1", "POOL1"]
    assert [len(segment) for segment in names] == [3, 3, 1, 1, 2, 2, 2]


def test_a_schedule_for_another_graph_is_refused() -> None:
    with pytest.raises(PlanError, match="does not fit"):
        walk(unroll(chain(4), 1), Schedule((KEEP,)))


class TestTensorCache:
    budget = 7 * 2**30

    def moved(self, batch: int) -> int:
        return cached_moves(unroll(paper_network("alexnet"), batch), self.budget).moved

    def test_nothing_is_moved_while_alexnet_fits(self) -> None:
        assert [self.moved(batch) for batch in (256, 384, 512, 640, 896)] == [0] * 5
        assert self.moved(1024) > 0

    def test_moves_start_at_the_batch_that_no_longer_fits(self) -> None:
        fits = [batch for batch in range(940, 980) if self.moved(batch) == 0]
        peaks = {batch: liveness_timeline(unroll(paper_network("alexnet"), batch)).peak.bytes for batch in (962, 963)}
        assert fits[-1] == 962
        assert peaks[962] <= self.budget < peaks[963]

    def test_a_device_smaller_than_one_step_is_refused_with_what_it_takes(self) -> None:
        graph = unroll(paper_network("alexnet"), 200)
        with pytest.raises(InfeasibleBudget) as caught:
            cached_moves(graph, 100 * 2**20)
        assert cached_moves(graph, caught.value.smallest).peak <= caught.value.smallest

    @settings(max_examples=60)
    @given(graphs, st.floats(0, 1))
    def test_locked_tensors_never_leave_and_the_budget_is_kept(self, graph: StepGraph, share: float) -> None:
        evicted: list[tuple[int, frozenset[int]]] = []
        cache = TensorCache(graph, 0, lambda tensor, locked: evicted.append((tensor, locked)))
        smallest = max(cache.need(number) for number in range(len(graph.steps)))
        largest = liveness_timeline(graph).peak.bytes
        cache.budget = smallest + int(share * (largest - smallest))
        outcome = cache.run()
        assert outcome.peak <= cache.budget
        assert all(tensor not in locked and locked for tensor, locked in evicted)
        assert outcome.evictions == len(evicted)
        assert cache.held == 0
        assert cache.on_host == 0
        if cache.budget == largest:
            assert outcome.moved == 0
