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
class Window:
    """What a convolution or a pooling slides over its input: sizes of one sample, rows and columns."""

    kernel: tuple[int, int]
    stride: int
    pad: tuple[int, int]


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
        data_elements: elements of one sample that a layer without inputs reads; 0 for the whole sample.
        shape: rows, columns and channels of the output, where the definition says them.
        window: of a convolution or a pooling, where the definition says it.
    """

    name: str
    type: str
    inputs: tuple[str, ...]
    elements: int
    parameters: int = 0
    state: int = 0
    flops: int = 0
    data_elements: int = 0
    shape: tuple[int, ...] = ()
    window: Window | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """A network.

    Attributes:
        name: its name.
        input_elements: elements of one input sample.
        layers: in definition order.
        input_shape: of one sample, where the definition says it.
        notes: what was assumed, for the user.
    """

    name: str
    input_elements: int
    layers: tuple[Layer, ...]
    input_shape: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

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
