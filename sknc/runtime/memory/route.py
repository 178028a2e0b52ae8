"""The order in which layers run (SuperNeurons, section 3.1, Algorithm 1).

A depth-first walk from the first layer; a layer with several inputs waits until the last of them has run. The
paper recurses; the walk here keeps its own stack, so that depth is bounded by memory alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from .errors import PlanError
from .network import Network


def execution_route(network: Network) -> list[int]:
    """Positions of the layers in the order of their forward steps; the backward steps are its reverse.

    Args:
        network: the layers, each naming its inputs.

    Returns:
        One position in `network.layers` for each layer.

    Raises:
        PlanError: when a layer names an input that does not exist, or when the layers form a cycle.
    """
    index = {layer.name: position for position, layer in enumerate(network.layers)}
    following: list[list[int]] = [[] for _ in network.layers]
    waiting: list[int] = []
    for position, layer in enumerate(network.layers):
        for name in layer.inputs:
            if name not in index:
                raise PlanError(f"layer '{layer.name}' reads '{name}', which is not a layer of '{network.name}'")
            following[index[name]].append(position)
        waiting.append(len(layer.inputs))
    sources = [position for position, layer in enumerate(network.layers) if not layer.inputs]
    route = depth_first(sources, following, waiting)
    if len(route) != len(network.layers):
        raise PlanError(f"the layers of '{network.name}' form a cycle: {len(network.layers) - len(route)} never run")
    return route


def depth_first(sources: Sequence[int], following: Sequence[Sequence[int]], waiting: list[int]) -> list[int]:
    """Algorithm 1 on bare indices.

    Args:
        sources: the nodes that wait for nothing, in order.
        following: for each node, the nodes that read it, in order.
        waiting: for each node, how many inputs it waits for; used up.

    Returns:
        The nodes in the order in which they run.
    """
    route: list[int] = []
    stack = list(reversed(sources))
    while stack:
        node = stack.pop()
        if waiting[node] > 1:
            waiting[node] -= 1
            continue
        route.append(node)
        stack.extend(reversed(following[node]))
    return route
