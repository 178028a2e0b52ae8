"""Accounting profiles: what a layer type holds, as data (SuperNeurons, sections 3.2 and 4.1).

`SUPERNEURONS` counts as the paper's released runtime does: layer outputs and data gradients, nothing else.
Its table is the whole profile; `unroll` is the one piece of code that reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .graph import Node, Step, StepGraph, Tensor
from .network import FORK, Layer, Network, with_forks
from .route import execution_route

NEW = "new"  # an own gradient tensor for each input
IN_PLACE = "in place"  # the incoming gradient becomes the outgoing one
OUTPUT = "output"  # the layer's output becomes the gradient of its input
FIRST = "first"  # the first input takes the incoming gradient, further inputs get their own
SUMMED = "summed"  # the gradients of all outputs are added into the first


@dataclass(frozen=True, slots=True)
class TypeRule:
    """How one layer type is counted.

    Attributes:
        needs_input: its backward step reads the layer's inputs.
        needs_output: its backward step reads the layer's output.
        gradient: one of NEW, IN_PLACE, OUTPUT, FIRST, SUMMED.
        cheap: its output may be dropped and recomputed.
        checkpoint: its output starts a segment.
        twice: its in-place gradient counts twice in the largest layer (the release does so for LRN).
    """

    needs_input: bool
    needs_output: bool
    gradient: str
    cheap: bool
    checkpoint: bool
    twice: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """An accounting profile for layer graphs.

    Attributes:
        name: its name on the command line.
        rules: one rule a layer type.
        offload: layer types whose outputs are offloaded and prefetched (section 3.3).
        element_bytes: bytes of one element.
        worst: the rule for a type that the table does not have.
    """

    name: str
    rules: Mapping[str, TypeRule]
    offload: frozenset[str]
    element_bytes: int
    worst: TypeRule

    def rule(self, layer_type: str) -> TypeRule:
        """The rule of a type, the worst case where the type is unknown."""
        return self.rules.get(layer_type, self.worst)


SUPERNEURONS = Profile(
    name="superneurons",
    rules={
        "CONV": TypeRule(True, False, NEW, cheap=False, checkpoint=True),
        "FC": TypeRule(True, False, NEW, cheap=False, checkpoint=True),
        "POOL": TypeRule(True, True, NEW, cheap=True, checkpoint=False),
        "ACT": TypeRule(True, True, IN_PLACE, cheap=True, checkpoint=False),
        "LRN": TypeRule(True, True, IN_PLACE, cheap=True, checkpoint=False, twice=True),
        "BN": TypeRule(True, False, NEW, cheap=True, checkpoint=False),
        "DROPOUT": TypeRule(False, False, NEW, cheap=True, checkpoint=False),
        "SOFTMAX": TypeRule(True, True, OUTPUT, cheap=False, checkpoint=True),
        FORK: TypeRule(False, False, SUMMED, cheap=False, checkpoint=True),
        "JOIN": TypeRule(False, False, FIRST, cheap=False, checkpoint=True),
        "CONCAT": TypeRule(False, False, NEW, cheap=False, checkpoint=True),
        # Not in the paper: padding, cropping, permuting and repeating only put elements elsewhere.
        "COPY": TypeRule(False, False, NEW, cheap=True, checkpoint=False),
    },
    offload=frozenset({"CONV"}),
    element_bytes=4,
    worst=TypeRule(True, True, NEW, cheap=False, checkpoint=True),
)


def unknown_types(network: Network, profile: Profile) -> list[str]:
    """Layers whose type the profile does not know, as 'name (type)': they are counted by the worst case."""
    return [f"{layer.name} ({layer.type})" for layer in network.layers if layer.type not in profile.rules]


class _Unroller:
    """Turns layers in route order into tensors and steps."""

    def __init__(self, network: Network, batch: int, profile: Profile) -> None:
        self.profile = profile
        self.scale = batch * profile.element_bytes
        self.batch = batch
        self.input_bytes = network.input_elements * self.scale
        self.layers = [network.layers[position] for position in execution_route(network)]
        self.readers: dict[str, list[tuple[str, int]]] = {layer.name: [] for layer in self.layers}
        for layer in network.layers:
            for place, name in enumerate(layer.inputs):
                self.readers[name].append((layer.name, place))
        self.tensors: list[Tensor] = []
        self.outputs: list[list[int]] = []
        self.inputs: list[list[int]] = []
        self.read_as: dict[tuple[str, int], int] = {}
        self.gradient_of: dict[int, int] = {}
        self.layer_max = 0

    def tensor(self, name: str, size: int, layer: int, gradient: bool) -> int:
        self.tensors.append(Tensor(name, size, layer, gradient))
        return len(self.tensors) - 1

    def forward(self) -> list[Step]:
        steps = []
        for number, layer in enumerate(self.layers):
            readers = self.readers[layer.name]
            copies = len(readers) if layer.type == FORK else 1
            made = [self.tensor(layer.name, layer.elements * self.scale, number, False) for _ in range(copies)]
            for place, reader in enumerate(readers):
                self.read_as[reader] = made[place % copies]
            read = [self.read_as[layer.name, place] for place in range(len(layer.inputs))]
            self.outputs.append(made)
            self.inputs.append(read)
            steps.append(Step(number, False, tuple(read), tuple(made)))
        return steps

    def backward(self, number: int) -> Step:
        layer = self.layers[number]
        rule = self.profile.rule(layer.type)
        outputs, inputs = self.outputs[number], self.inputs[number]
        reads = list(inputs) if rule.needs_input else []
        reads += outputs if rule.needs_output else []
        writes: list[int] = []
        incoming = [self.gradient_of[tensor] for tensor in outputs if tensor in self.gradient_of]
        if not incoming and rule.gradient != OUTPUT:
            # The loss hands the last layer its gradient.
            incoming = [self.tensor(f"d {layer.name}", self.tensors[outputs[0]].bytes, number, True)]
            writes += incoming
        else:
            reads += incoming
        writes += self.gradients(number, layer, rule, incoming)
        step = Step(number, True, tuple(dict.fromkeys(reads)), tuple(writes))
        again = sum(self.tensors[tensor].bytes for tensor in incoming) if rule.twice else 0
        touched = sum(self.tensors[tensor].bytes for tensor in step.touches)
        self.layer_max = max(self.layer_max, touched + again)
        return step

    def gradients(self, number: int, layer: Layer, rule: TypeRule, incoming: list[int]) -> list[int]:
        """Hand every input its gradient; the tensors that had to be made for it."""
        inputs = self.inputs[number]
        if not inputs:
            # A layer on the input batch makes a gradient that nobody reads; the release allocates it all
            # the same.
            new = rule.gradient in (NEW, FIRST)
            size = layer.data_elements * self.scale or self.input_bytes
            return [self.tensor(f"d input of {layer.name}", size, number, True)] if new else []
        shared = {
            IN_PLACE: incoming,
            FIRST: incoming,
            SUMMED: incoming,
            OUTPUT: self.outputs[number],
            NEW: [],
        }
        ready = shared[rule.gradient][:1]
        made = []
        for place, tensor in enumerate(inputs):
            if place < len(ready):
                self.gradient_of[tensor] = ready[place]
                continue
            source = self.tensors[tensor]
            made.append(self.tensor(f"d {source.name}", source.bytes, number, True))
            self.gradient_of[tensor] = made[-1]
        return made

    def node(self, number: int) -> Node:
        layer = self.layers[number]
        rule = self.profile.rule(layer.type)
        return Node(
            layer.name,
            layer.type,
            tuple(self.inputs[number]),
            tuple(self.outputs[number]),
            rule.cheap,
            rule.checkpoint,
            layer.flops * self.batch,
        )


def unroll(network: Network, batch: int, profile: Profile = SUPERNEURONS) -> StepGraph:
    """Make the step graph of a network under a profile.

    Args:
        network: the layers; FORK layers are put in where an output has several readers.
        batch: samples in a batch.
        profile: how layer types are counted.

    Returns:
        The steps of one training iteration.
    """
    work = _Unroller(with_forks(network), batch, profile)
    steps = work.forward()
    steps += [work.backward(number) for number in range(len(work.layers) - 1, -1, -1)]
    nodes = tuple(work.node(number) for number in range(len(work.layers)))
    return StepGraph(tuple(work.tensors), nodes, tuple(steps), work.layer_max)
