"""Offload and prefetch: outputs of heavy layers wait on the host (SuperNeurons, section 3.3).

A tensor is copied out while the forward pass goes on and is freed after its last forward use. Each backward
step of an offloaded layer brings back the output of the offloaded layer before it, so that the copy runs
while the steps between compute.
"""

from __future__ import annotations

from collections.abc import Collection

from .graph import StepGraph
from .schedule import HOST, KEEP, Schedule


def offloaded(graph: StepGraph, types: Collection[str]) -> list[int]:
    """Outputs of layers of the given types that the backward pass reads again.

    Args:
        graph: the step graph.
        types: layer types whose outputs are offloaded.

    Returns:
        Tensor ids in route order.
    """
    return [
        tensor
        for node in graph.nodes
        if node.type in types
        for tensor in node.outputs
        if graph.kept_for_backward(tensor)
    ]


def prefetches(graph: StepGraph, types: Collection[str]) -> dict[int, tuple[int, ...]]:
    """What each backward step of an offloaded layer brings back for the offloaded layer before it.

    Args:
        graph: the step graph.
        types: layer types whose outputs are offloaded.

    Returns:
        For a step counted from 0, the tensors to bring back.
    """
    result: dict[int, tuple[int, ...]] = {}
    previous: tuple[int, ...] = ()
    last = len(graph.steps) - 1
    for number, node in enumerate(graph.nodes):
        if node.type in types:
            if previous:
                result[last - number] = previous
            previous = tuple(tensor for tensor in node.outputs if graph.kept_for_backward(tensor))
    return result


def offload_schedule(graph: StepGraph, types: Collection[str]) -> Schedule:
    """Liveness with the outputs of the given layer types offloaded and prefetched.

    Args:
        graph: the step graph.
        types: layer types whose outputs are offloaded.

    Returns:
        The schedule.
    """
    actions = [KEEP] * len(graph.tensors)
    for tensor in offloaded(graph, types):
        actions[tensor] = HOST
    return Schedule(tuple(actions), prefetch=prefetches(graph, types))
