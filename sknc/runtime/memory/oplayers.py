"""From operations to layers: the step graph of a traced train step.

The paper's techniques move and recompute what layers hand on. Here a layer's tensors are all buffers that it
makes and that outlive its step: outputs and whatever its backward pass reads; what does not outlive the step
is the step's scratch.
"""

from __future__ import annotations

from collections.abc import Iterable

from .graph import Node, Step, StepGraph, Tensor
from .opbuffers import Buffer, find_buffers
from .opgraph import OpGraph
from .tfrules import HEAVY

Place = tuple[str, bool]  # a call of a layer, and whether its backward step


# Operations that read nothing that a layer makes: targets that are cast for the loss, and the like.
OUTSIDE = "outside layers"


def heavy_types(graph: StepGraph) -> frozenset[str]:
    """The types of the layers that start segments: what the offload technique moves."""
    return frozenset(node.type for node in graph.nodes if node.checkpoint)


def layer_graph(graph: OpGraph) -> StepGraph:
    """The step graph of a traced forward and backward pass.

    Args:
        graph: operations, without the optimiser's.

    Returns:
        One node for each call of a layer.
    """
    return _Layers(graph).step_graph()


class _Layers:
    def __init__(self, graph: OpGraph) -> None:
        self.graph = graph
        self.places = self.find_places()
        self.order = list(dict.fromkeys(layer for layer, backward in self.places if not backward))
        self.number = {layer: number for number, layer in enumerate(self.order)}
        self.buffers = find_buffers(graph)
        self.tensors: list[Tensor] = []
        self.made: dict[Place, list[int]] = {}
        self.read: dict[Place, list[int]] = {}
        self.local: dict[Place, list[Buffer]] = {}

    def find_places(self) -> list[Place]:
        """Whose step each operation belongs to; one outside every layer goes with what it reads last."""
        maker: dict[int, int] = {}
        places: list[Place] = []
        for number, op in enumerate(self.graph.ops):
            layer = op.layer
            if not layer:
                before = [maker[tensor] for tensor in op.reads if tensor in maker]
                layer = places[max(before)][0] if before else OUTSIDE
            places.append((layer, op.backward))
            for tensor in op.makes:
                maker[tensor] = number
        return places

    def step_graph(self) -> StepGraph:
        for buffer in self.buffers:
            self.settle(buffer)
        steps = [self.step(layer, False) for layer in self.order]
        steps += [self.step(layer, True) for layer in reversed(self.order)]
        nodes = tuple(self.node(layer) for layer in self.order)
        sizes = [
            step.scratch + sum(self.tensors[tensor].bytes for tensor in step.touches) for step in steps if step.backward
        ]
        return StepGraph(tuple(self.tensors), nodes, tuple(steps), max(sizes, default=0))

    def settle(self, buffer: Buffer) -> None:
        """Make a buffer a tensor of the graph, or a layer's own business."""
        home = self.places[buffer.maker]
        layer, backward = home
        if layer not in self.number:
            return
        readers = {self.places[number] for number in buffer.readers}
        others = {place for place in readers - {home} if place[0] in self.number}
        if backward:
            # A gradient reaches the layers before; a step never reads what a later one makes.
            others = {place for place in others if place[1] and self.number[place[0]] < self.number[layer]}
        else:
            others = {place for place in others if place[1] or self.number[place[0]] > self.number[layer]}
        if not others:
            self.local.setdefault(home, []).append(buffer)
            return
        kind = "gradient" if backward else "output"
        self.tensors.append(Tensor(f"{kind} of {layer}", buffer.size, self.number[layer], backward))
        self.made.setdefault(home, []).append(len(self.tensors) - 1)
        for place in others:
            self.read.setdefault(place, []).append(len(self.tensors) - 1)

    def step(self, layer: str, backward: bool) -> Step:
        place = (layer, backward)
        made = tuple(self.made.get(place, ()))
        scratch = most_at_once(self.local.get(place, ()))
        return Step(self.number[layer], backward, tuple(sorted(self.read.get(place, ()))), made, scratch)

    def node(self, layer: str) -> Node:
        ops = [op for op, place in zip(self.graph.ops, self.places, strict=True) if place == (layer, False)]
        heavy = any(op.type in HEAVY for op in ops)
        return Node(
            layer,
            self.graph.layers.get(layer, OUTSIDE),
            tuple(sorted(self.read.get((layer, False), ()))),
            tuple(self.made.get((layer, False), ())),
            not heavy,
            heavy,
            sum(op.flops for op in ops),
        )


def most_at_once(buffers: Iterable[Buffer]) -> int:
    """The most bytes of some buffers that are needed at the same time, in traced order."""
    changes: list[tuple[int, int, int]] = []
    for buffer in buffers:
        changes.append((buffer.maker, 0, buffer.size))
        changes.append((buffer.last, 1, -buffer.size))
    held = most = 0
    for _, _, change in sorted(changes):
        held += change
        most = max(most, held)
    return most
