"""The numbers of the SuperNeurons paper, from layer shapes alone."""

from __future__ import annotations

import pytest

from sknc.runtime.memory.accounting import SUPERNEURONS, unroll
from sknc.runtime.memory.graph import StepGraph
from sknc.runtime.memory.liveness import baseline_bytes, liveness_timeline
from sknc.runtime.memory.network import with_forks
from sknc.runtime.memory.offload import offload_schedule
from sknc.runtime.memory.papernets import paper_network
from sknc.runtime.memory.recompute import recompute_schedule
from sknc.runtime.memory.schedule import Outcome, walk

MIB = 2**20


def graph_of(name: str, batch: int) -> StepGraph:
    return unroll(paper_network(name), batch)


def mib(size: int) -> float:
    return round(size / MIB, 3)


def recomputed(graph: StepGraph, strategy: str) -> Outcome:
    return walk(graph, recompute_schedule(graph, strategy))


def test_alexnet_has_the_layers_of_the_paper_in_order() -> None:
    types = [node.type for node in graph_of("alexnet", 200).nodes]
    features = "CONV ACT LRN POOL CONV ACT LRN POOL CONV ACT CONV ACT CONV ACT POOL"
    assert types == f"{features} FC ACT DROPOUT FC ACT DROPOUT FC SOFTMAX".split()


def test_alexnet_baseline() -> None:
    graph = graph_of("alexnet", 200)
    assert len(graph.tensors) == 36
    assert mib(baseline_bytes(graph)) == 2189.437


def test_alexnet_liveness() -> None:
    graph = graph_of("alexnet", 200)
    peak = liveness_timeline(graph).peak
    assert (mib(peak.bytes), peak.step, peak.live_tensors) == (1489.355, 32, 17)
    outputs = [tensor for tensor in graph.tensors[:13] if not tensor.gradient]
    pool5 = graph.nodes[14]
    own = graph.steps[31].touches
    assert pool5.name == "POOL5"
    assert mib(sum(tensor.bytes for tensor in outputs)) == 1409.277
    assert mib(sum(graph.size(tensor) for tensor in own)) == 80.078


def test_alexnet_offload() -> None:
    graph = graph_of("alexnet", 200)
    peak = walk(graph, offload_schedule(graph, SUPERNEURONS.offload)).timeline.peak
    assert (mib(peak.bytes), peak.step, peak.live_tensors) == (1132.056, 39, 9)
    assert graph.nodes[46 - 39].name == "POOL2"


def test_alexnet_offload_without_prefetch_peaks_lower_and_elsewhere() -> None:
    graph = graph_of("alexnet", 200)
    schedule = offload_schedule(graph, SUPERNEURONS.offload)
    peak = walk(graph, type(schedule)(schedule.actions)).timeline.peak
    assert (round(peak.bytes / MIB, 1), peak.step) == (1012.3, 33)


@pytest.mark.parametrize(
    ("strategy", "extra", "peak"), [("speed", 14, 993.018), ("memory", 23, 886.230), ("cost", 17, 886.230)]
)
def test_alexnet_recomputation(strategy: str, extra: int, peak: float) -> None:
    outcome = recomputed(graph_of("alexnet", 200), strategy)
    assert outcome.extra == extra
    assert mib(outcome.timeline.peak.bytes) == peak


def test_alexnet_peak_is_its_largest_layer() -> None:
    graph = graph_of("alexnet", 200)
    peak = recomputed(graph, "cost").timeline.peak
    assert mib(graph.layer_max) == 886.230
    assert (peak.bytes, peak.step) == (graph.layer_max, 44)
    assert graph.nodes[46 - 44].name == "LRN1"


@pytest.mark.parametrize(
    ("name", "strategy", "extra", "peak", "layer"),
    [
        ("resnet50", "speed", 84, 455.125, "POOL1"),
        ("resnet50", "memory", 118, 406.125, "ACT1"),
        ("resnet50", "cost", 85, 406.125, "ACT1"),
        ("resnet101", "speed", 169, 455.125, "POOL1"),
        ("resnet101", "memory", 237, 406.125, "ACT1"),
        ("resnet101", "cost", 170, 406.125, "ACT1"),
    ],
)
def test_resnet_recomputation(name: str, strategy: str, extra: int, peak: float, layer: str) -> None:
    graph = graph_of(name, 32)
    outcome = recomputed(graph, strategy)
    most = outcome.timeline.peak
    assert outcome.extra == extra
    assert most.bytes / MIB == peak
    assert graph.nodes[len(graph.steps) - most.step].name == layer


@pytest.mark.parametrize(
    ("name", "layers"), [("resnet152", 565), ("inception_v4", 513), ("resnet2500", 9167), ("alexnet", 23)]
)
def test_layer_counts(name: str, layers: int) -> None:
    assert len(with_forks(paper_network(name)).layers) == layers


def test_resnet2500_needs_its_parameters_more_than_its_activations() -> None:
    network = paper_network("resnet2500")
    assert sum(layer.type == "CONV" for layer in network.layers) == 2501
    assert sum(layer.type == "JOIN" for layer in network.layers) == 832
    assert round(3 * 4 * network.parameters / MIB) == 10550
    graph = unroll(network, 1)
    assert round(recomputed(graph, "cost").timeline.peak.bytes / MIB, 1) == 12.7


def test_all_checkpoints_must_be_offloaded_for_the_resnet_peaks() -> None:
    graph = graph_of("resnet50", 32)
    schedule = recompute_schedule(graph, "cost")
    only_conv = tuple(
        "keep" if action == "host" and graph.nodes[tensor.layer].type != "CONV" else action
        for action, tensor in zip(schedule.actions, graph.tensors, strict=True)
    )
    peak = walk(graph, type(schedule)(only_conv, schedule.memory_centric)).timeline.peak
    assert peak.bytes / MIB == 1592.5
