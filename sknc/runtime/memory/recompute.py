"""Recomputation: outputs of cheap layers are dropped and computed again (SuperNeurons, section 3.4).

A segment is what hangs together of cheap layers between checkpoints. Speed-centric keeps what it recomputed,
so that each layer runs again at most once; memory-centric frees what a chain has read, unless the step needs
it; cost-aware is speed-centric where the whole segment stays within l_peak.
"""

from __future__ import annotations

from dataclasses import dataclass

from .graph import StepGraph
from .schedule import HOST, KEEP, RECOMPUTE, Schedule

SPEED = "speed"
MEMORY = "memory"
COST = "cost"
STRATEGIES = (SPEED, MEMORY, COST)


@dataclass(frozen=True, slots=True)
class Segment:
    """Cheap layers that are recomputed together.

    Attributes:
        nodes: their positions in route order.
        bytes: the segment's outputs, the checkpoints that it reads and the gradients of its last layer.
    """

    nodes: tuple[int, ...]
    bytes: int


def segments(graph: StepGraph) -> list[Segment]:
    """Group the cheap layers into segments.

    Args:
        graph: the step graph.

    Returns:
        The segments in the order of their first layers.
    """
    group: dict[int, int] = {}
    for number, node in enumerate(graph.nodes):
        if not node.cheap:
            continue
        group[number] = number
        for tensor in node.inputs:
            before = graph.tensors[tensor].layer
            if before in group:
                _join(group, before, number)
    members: dict[int, list[int]] = {}
    for number in group:
        members.setdefault(_root(group, number), []).append(number)
    return [Segment(tuple(nodes), segment_bytes(graph, nodes)) for nodes in members.values()]


def _root(group: dict[int, int], number: int) -> int:
    while group[number] != number:
        group[number] = group[group[number]]
        number = group[number]
    return number


def _join(group: dict[int, int], one: int, other: int) -> None:
    first, second = sorted((_root(group, one), _root(group, other)))
    group[second] = first


def segment_bytes(graph: StepGraph, nodes: list[int]) -> int:
    """What recomputing a segment as a whole holds at its first backward step.

    Args:
        graph: the step graph.
        nodes: the segment's layers in route order.

    Returns:
        Bytes of its outputs, of the checkpoints it reads and of its last layer's gradients.
    """
    tensors: set[int] = set()
    for number in nodes:
        tensors.update(graph.nodes[number].outputs, graph.nodes[number].inputs)
    last = graph.steps[len(graph.steps) - 1 - nodes[-1]]
    tensors.update(tensor for tensor in last.touches if graph.tensors[tensor].gradient)
    return sum(graph.size(tensor) for tensor in tensors)


def recompute_schedule(graph: StepGraph, strategy: str, offload: bool = True) -> Schedule:
    """Drop the outputs of cheap layers, under one of the paper's strategies.

    Args:
        graph: the step graph.
        strategy: SPEED, MEMORY or COST.
        offload: also offload the outputs of every checkpoint layer, fetched when they are needed.

    Returns:
        The schedule.
    """
    actions = [KEEP] * len(graph.tensors)
    for node in graph.nodes:
        for tensor in node.outputs:
            if node.cheap:
                actions[tensor] = RECOMPUTE
            elif node.checkpoint and offload:
                actions[tensor] = HOST
    memory_centric = [
        number
        for segment in segments(graph)
        if strategy == MEMORY or (strategy == COST and segment.bytes > graph.layer_max)
        for number in segment.nodes
    ]
    return Schedule(tuple(actions), frozenset(memory_centric))
