"""Keras models as networks of the paper's layer types, for the `superneurons` accounting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import keras

from sknc.runtime.memory.accounting import SUPERNEURONS
from sknc.runtime.memory.analysis import Subject, layer_subject
from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.execute.flatten import FlatGraph, Step, flatten
from sknc.runtime.memory.execute.internals import functional_of
from sknc.runtime.memory.network import Layer, Network
from sknc.runtime.memory.tensorflow import ModelSubjects
from sknc.runtime.memory.tracing import input_specs, input_structure, takes_training

# The same tensor under another shape: no layer of its own.
VIEW = "VIEW"
# Classes of Keras's layers and operations; a subclass counts as its base where it does not bring a `call` of its own.
_NAMES = {
    "CONV": "BaseConv BaseConvTranspose BaseDepthwiseConv BaseSeparableConv Conv ConvTranspose DepthwiseConv"
    " SeparableConv",
    "FC": "Dense EinsumDense",
    "POOL": "BasePooling BaseGlobalPooling MaxPool AveragePool",
    "ACT": "Activation ReLU LeakyReLU PReLU ELU Relu Relu6 LeakyRelu Elu Selu Celu Gelu Silu Sigmoid Tanh Softplus"
    " Softsign HardSigmoid HardSilu HardTanh LogSigmoid",
    "SOFTMAX": "Softmax LogSoftmax",
    "BN": "BatchNormalization LayerNormalization GroupNormalization RMSNormalization",
    "DROPOUT": "Dropout AlphaDropout GaussianDropout GaussianNoise",
    "JOIN": "Add Subtract Average",
    "CONCAT": "Concatenate",
    "COPY": "ZeroPadding1D ZeroPadding2D ZeroPadding3D Cropping1D Cropping2D Cropping3D UpSampling1D UpSampling2D"
    " UpSampling3D Permute RepeatVector Pad Transpose Repeat Tile GetItem Cast",
    VIEW: "Flatten Reshape Identity InputLayer ActivityRegularization ExpandDims Squeeze ConvertToTensor",
}
TYPES = {name: kind for kind, names in _NAMES.items() for name in names.split()}
# Keras has no local response normalization: a user's layer with one of these names is taken for it.
LRN = frozenset({"LRN", "LocalResponseNorm", "LocalResponseNormalization"})
# Operations for each element of the output.
WORK = {"ACT": 1, "DROPOUT": 1, "CONCAT": 1, "COPY": 1, "SOFTMAX": 5, "BN": 8, "LRN": 10}


class LayerSubjects:
    """Makes the training step of a Keras model, counted as the paper counts, for any batch size.

    Args:
        subjects: the model and what is known about it.

    Raises:
        PlanError: when the model has no graph of layers, or a size in it is not known.
    """

    def __init__(self, subjects: ModelSubjects) -> None:
        self.subjects = subjects
        self.network = network_of(subjects.model, subjects.shape)

    def __call__(self, batch: int) -> Subject:
        """The training step for a batch size.

        Args:
            batch: samples in a batch.

        Returns:
            The subject of a report.

        Raises:
            PlanError: when the batch is not above zero.
        """
        known = self.subjects
        found = layer_subject(
            self.network,
            known.target,
            batch,
            known.rule.name,
            slots=known.rule.slots,
            input_pipeline=known.input_pipeline,
        )
        return replace(found, notes=(*known.notes, *found.notes))


def network_of(model: Any, shape: Any = None) -> Network:
    """The layers of a Keras model as the paper's types.

    Args:
        model: a keras.Model; one with Python code of its own is called once with symbolic inputs.
        shape: the shape of its one input, or its inputs as keras.KerasTensor, where the model does not say it.

    Returns:
        The network.

    Raises:
        PlanError: when the model has no graph of layers, or a size in it is not known.
    """
    functional = functional_of(model)
    if functional is None or shape is not None:
        functional = _called(model, shape)
    input_specs(functional)
    graph = flatten(functional)
    if graph is None or not graph.steps:
        raise PlanError(f"'{model.name}' has no layers that could be counted")
    reader = _Reader()
    inputs = [elements_of(graph.specs[key], f"input {number}") for number, key in enumerate(graph.inputs)]
    reader.walk(graph, [Made("", size) for size in inputs])
    if not reader.layers:
        raise PlanError(f"'{model.name}' has no layers that could be counted")
    notes: tuple[str, ...] = ()
    if reader.closed:
        few = ", ".join(reader.closed[:5]) + (", ..." if len(reader.closed) > 5 else "")
        notes = (f"not opened, so that what they hold inside is missing: {few}",)
    return Network(model.name, sum(inputs), with_loose_weights(reader.layers, model), notes=notes)


def with_loose_weights(layers: Sequence[Layer], model: Any) -> tuple[Layer, ...]:
    """The layers, the first of them with the weights that belong to none: of opened layers, or of the model itself."""
    trained = sum(prod(weight.shape) for weight in model.weights if weight.trainable)
    state = sum(prod(weight.shape) for weight in model.weights if not weight.trainable)
    loose = trained - sum(layer.parameters for layer in layers)
    fixed = state - sum(layer.state for layer in layers)
    first = replace(layers[0], parameters=layers[0].parameters + loose, state=layers[0].state + fixed)
    return (first, *layers[1:])


def _called(model: Any, shape: Any) -> Any:
    """A functional model of the layers that a model calls."""
    given = keras.tree.map_structure(
        lambda spec: keras.Input(spec.shape[1:], dtype=spec.dtype), input_structure(model, shape)
    )
    specs = keras.tree.flatten(given)
    more = {"training": True} if takes_training(model) else {}
    try:
        return keras.Model(specs, keras.tree.flatten(model.call(given, **more)))
    except Exception as error:  # the user's code, on symbols that it was not written for
        said = str(error).strip().partition("\n")[0].partition(". ")[0]
        raise PlanError(
            f"'{model.name}' cannot be counted layer by layer, because its code cannot be called with symbols "
            f"({type(error).__name__}: {said}); --accounting tensorflow counts its operations"
        ) from error


def kind_of(operation: Any) -> str | None:
    """The paper's type of a Keras layer or operation.

    Args:
        operation: the layer.

    Returns:
        The type, VIEW for what makes no tensor, or None where nothing is known.
    """
    if type(operation).__name__ in LRN:
        return "LRN"
    for base in type(operation).__mro__:
        ours = base.__module__.partition(".")[0] == "keras"
        if ours and base.__name__ in TYPES:
            return _activation_kind(operation, TYPES[base.__name__])
        if not ours and "call" in vars(base):
            return None
    return None


def _activation_kind(operation: Any, kind: str) -> str:
    if kind == "ACT" and type(operation).__name__ == "Activation":
        return kind_of_function(operation.activation)
    return kind


def kind_of_function(function: Any) -> str:
    """The type of an activation function."""
    if function is None or function is keras.activations.linear:
        return VIEW
    return "SOFTMAX" if function in (keras.activations.softmax, keras.activations.log_softmax) else "ACT"


@dataclass(frozen=True, slots=True)
class Made:
    """A tensor: the layer that makes it, empty for an input of the model, and its elements for one sample."""

    layer: str
    elements: int


def elements_of(spec: Any, name: str) -> int:
    """Elements of one sample.

    Args:
        spec: a symbolic tensor.
        name: what makes it, for the message.

    Returns:
        Their number.

    Raises:
        PlanError: when a size is not known, or there is no batch axis.
    """
    shape = tuple(spec.shape)
    if not shape or any(size is None for size in shape[1:]):
        what = f"the shape {shape}; try --input-shape" if shape else "no batch axis"
        raise PlanError(f"'{name}' cannot be counted for one sample: what it makes has {what}")
    return prod(int(size) for size in shape[1:])


@dataclass
class _Reader:
    """Turns the steps of flat graphs into layers, and remembers which layer made which tensor."""

    layers: list[Layer] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    counted: set[int] = field(default_factory=set)
    closed: list[str] = field(default_factory=list)

    def walk(self, graph: FlatGraph, given: Sequence[Made], prefix: str = "") -> list[Made]:
        """Read a graph.

        Args:
            graph: the steps.
            given: who made its inputs.
            prefix: stands before the names of its layers.

        Returns:
            Who made its outputs.
        """
        made = dict(zip(graph.inputs, given, strict=True))
        for step in graph.steps:
            keys = dict(step.reads)
            arguments = keras.tree.flatten([step.arguments.args, step.arguments.kwargs])
            read = [made[keys[id(tensor)]] for tensor in arguments if id(tensor) in keys]
            outputs = read if step.enters else self.read(step, read, f"{prefix}{step.name}")
            made.update(zip(step.makes, outputs, strict=True))
        return [made[key] for key in graph.outputs]

    def read(self, step: Step, given: list[Made], title: str) -> list[Made]:
        sizes = [elements_of(spec, title) for spec in step.specs]
        kind = self.kind(step, given, sum(sizes))
        if kind == VIEW:
            if sizes != [given[0].elements]:
                raise PlanError(f"'{title}' cannot be counted for one sample: it changes the batch axis")
            return [Made(given[0].layer, given[0].elements)]
        if kind not in SUPERNEURONS.rules and inner_layers(step.operation):
            inner = opened(step)
            if inner is not None:
                self.names.add(title)
                return self.walk(inner, self.entering(step, given), f"{title}/")
            self.closed.append(title)
        name = self.add(step, title, kind, given, sum(sizes))
        if kind in ("CONV", "FC"):
            name = self.activate(step.operation, name, sum(sizes))
        return [Made(name, size) for size in sizes]

    def entering(self, step: Step, given: list[Made]) -> list[Made]:
        """Who made the inputs of an opened layer: each tensor once, as `opened` takes them."""
        keys = dict(step.reads)
        arguments = keras.tree.flatten([step.arguments.args, step.arguments.kwargs])
        order = [id(tensor) for tensor in arguments if id(tensor) in keys]
        return [given[order.index(tensor)] for tensor in dict.fromkeys(order)]

    def activate(self, operation: Any, name: str, elements: int) -> str:
        """Add the activation that a layer applies to what it makes; the name of the last layer."""
        function = getattr(operation, "activation", None)
        kind = kind_of_function(function)
        if kind == VIEW:
            return name
        called = getattr(function, "__name__", None) or getattr(function, "name", "activation")
        self.layers.append(Layer(self.unique(f"{name}/{called}"), kind, (name,), elements, flops=WORK[kind] * elements))
        return self.layers[-1].name

    def kind(self, step: Step, given: list[Made], elements: int) -> str:
        """The type of a step; the name of its class where it fits none."""
        kind = kind_of(step.operation)
        alone = len(given) < 2 or any(one.elements != elements for one in given)
        if kind is None or not given or (kind == "JOIN" and alone):
            return type(step.operation).__name__
        return kind

    def add(self, step: Step, title: str, kind: str, given: list[Made], elements: int) -> str:
        sources = tuple(one.layer for one in given if one.layer)
        read = sum(one.elements for one in given)
        weights = [] if id(step.operation) in self.counted else list(getattr(step.operation, "weights", ()))
        self.counted.add(id(step.operation))
        layer = Layer(
            self.unique(title),
            kind,
            sources,
            elements,
            sum(prod(weight.shape) for weight in weights if weight.trainable),
            sum(prod(weight.shape) for weight in weights if not weight.trainable),
            _work(step, kind, read, elements),
            0 if sources else read,
        )
        self.layers.append(layer)
        return layer.name

    def unique(self, name: str) -> str:
        found, number = name, 1
        while found in self.names:
            number += 1
            found = f"{name} ({number})"
        self.names.add(found)
        return found


def inner_layers(operation: Any) -> bool:
    """Whether a layer has layers of its own."""
    return isinstance(operation, keras.Layer) and bool(list(operation._flatten_layers(include_self=False)))


def opened(step: Step) -> FlatGraph | None:
    """What a layer made of layers does, found by calling it with symbolic inputs.

    Args:
        step: the layer's call.

    Returns:
        The graph of its layers, or None where its code cannot be called so.
    """
    keys = dict(step.reads)
    arguments = keras.tree.flatten([step.arguments.args, step.arguments.kwargs])
    outside = {id(tensor): tensor for tensor in arguments if id(tensor) in keys}
    inside = {key: keras.Input(tensor.shape[1:], dtype=tensor.dtype) for key, tensor in outside.items()}
    args, kwargs = step.arguments.fill_in(inside)
    try:
        if takes_training(step.operation):
            kwargs["training"] = True
        outputs = keras.tree.flatten(step.operation.call(*args, **kwargs))
        graph = flatten(keras.Model(list(inside.values()), outputs))
    except Exception:  # noqa: BLE001 - the user's code, or Keras's on symbols: then the layer stays closed
        return None
    if graph is None or not graph.steps or len(graph.outputs) != len(step.makes):
        return None
    known = all(spec.shape and None not in spec.shape[1:] for spec in graph.specs.values())
    return graph if known else None


def _work(step: Step, kind: str, read: int, elements: int) -> int:
    """Floating point operations of one forward pass, for one sample."""
    operation = step.operation
    if kind == "POOL":
        window = getattr(operation, "pool_size", None)
        return read if window is None else prod(window) * elements if isinstance(window, tuple) else window * elements
    if kind == "JOIN":
        return read - elements
    if kind in WORK:
        return WORK[kind] * elements
    shape = tuple(step.specs[0].shape)
    channels = shape[1] if getattr(operation, "data_format", "") == "channels_first" else shape[-1]
    places = max(1, elements // max(1, int(channels or 1)))
    if "Transpose" in type(operation).__name__:
        places = max(1, read // max(1, int(operation.kernel.shape[-1])))
    kernels = sum(prod(weight.shape) for weight in getattr(operation, "weights", ()) if len(weight.shape) > 1)
    return 2 * kernels * places or elements
