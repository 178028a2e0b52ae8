"""Networks as the planner sees them: layers, sizes, parameters and work (SuperNeurons, section 2).

A network is a tuple of layers in definition order. Sizes are counted in elements for one sample, so that one
definition serves every batch size and every number of bytes an element. A layer without inputs reads the
input batch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

FORK = "FORK"


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of a network.

    Attributes:
        name: unique within the network.
        type: a layer type of the accounting profile (CONV, ACT, ...).
        inputs: names of the layers whose outputs are read; empty for a layer that reads the input batch.
        elements: elements of the output, for one sample.
        parameters: trainable parameters.
        state: parameters that are not trained (batch norm's moving averages).
        flops: floating point operations of one forward pass, for one sample.
    """

    name: str
    type: str
    inputs: tuple[str, ...]
    elements: int
    parameters: int = 0
    state: int = 0
    flops: int = 0


@dataclass(frozen=True, slots=True)
class Network:
    """A network: its name, the elements of one input sample and its layers in definition order."""

    name: str
    input_elements: int
    layers: tuple[Layer, ...]

    @property
    def parameters(self) -> int:
        """Trainable parameters of all layers."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def state(self) -> int:
        """Parameters that are not trained, of all layers."""
        return sum(layer.state for layer in self.layers)


def with_forks(network: Network) -> Network:
    """Put a FORK layer after every layer with more than one reader, as the paper's release does.

    Args:
        network: a network whose layers may share an input.

    Returns:
        The network in which every output but a FORK's has at most one reader.
    """
    readers = Counter(name for layer in network.layers for name in layer.inputs)
    types = {layer.name: layer.type for layer in network.layers}
    forked = {name: f"{name}/fork" for name, count in readers.items() if count > 1 and types.get(name) != FORK}
    layers: list[Layer] = []
    for layer in network.layers:
        layers.append(replace(layer, inputs=tuple(forked.get(name, name) for name in layer.inputs)))
        if layer.name in forked:
            layers.append(Layer(forked[layer.name], FORK, (layer.name,), layer.elements, flops=layer.elements))
    return replace(network, layers=tuple(layers))
