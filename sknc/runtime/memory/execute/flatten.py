"""A functional model as one list of steps in topological order, nested models opened up."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from ...frameworks import keras, tensorflow
from .internals import functional_of, nodes_in_order, with_context

Context = dict[str, Any]
_CONTEXT_FREE: frozenset[str] = frozenset({"training"})


@dataclass(frozen=True, eq=False)
class Nest:
    """One call of a model inside of another.

    Attributes:
        model: the inner model.
        kwargs: what the call hands to it besides its inputs.
        outer: the call around this one, None at the top.
    """

    model: Any
    kwargs: Context
    outer: Nest | None

    def context(self, given: Context) -> Context:
        """Returns the context arguments of the inner model's layers.

        Args:
            given: those of the outermost model.
        """
        around = given if self.outer is None else self.outer.context(given)
        probe = _Probe(self.model)
        with_context(probe, around)(**self.kwargs)
        return probe.seen


class _Probe:
    """Stands for an inner model, to find out what it would be called with."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.seen: Context = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def __call__(self, *_: Any, **kwargs: Any) -> None:
        self.seen = kwargs


@dataclass(frozen=True, eq=False)
class Step:
    """One operation of the flat graph.

    Attributes:
        name: the layer's name, after the names of the models around it.
        operation: the layer or operation.
        arguments: its symbolic arguments.
        reads: for each symbolic tensor among the arguments, its id there and its key in the flat graph.
        makes: keys of its outputs.
        specs: the symbolic outputs.
        nest: the call of the model around it; None at the top.
        enters: whether this step hands inputs to an inner model instead of running its operation.
    """

    name: str
    operation: Any
    arguments: Any
    reads: tuple[tuple[int, int], ...]
    makes: tuple[int, ...]
    specs: tuple[Any, ...]
    nest: Nest | None
    enters: bool = False

    def run(self, values: dict[int, Any], given: Context) -> None:
        """Computes the outputs and puts them among the values.

        Args:
            values: tensors by key; holds at least what the step reads.
            given: context arguments of the outermost model.
        """
        args, kwargs = self.arguments.fill_in({symbol: values[key] for symbol, key in self.reads})
        if self.enters:
            outputs = _entered(self.operation, args[0])
        else:
            context = given if self.nest is None else self.nest.context(given)
            outputs = with_context(self.operation, context)(*args, **kwargs)
        values.update(zip(self.makes, keras().tree.flatten(outputs), strict=True))


def _entered(model: Any, inputs: Any) -> Any:
    """What calling an inner model does to its inputs before its graph runs."""
    policy, convert = model.dtype_policy, bool(getattr(model, "autocast", True))
    converted = keras().tree.map_structure(lambda x: _converted(policy, convert, x, model.input_dtype), inputs)
    return functional_of(model)._standardize_inputs(converted)


def _converted(policy: Any, convert: bool, tensor: Any, dtype: Any) -> Any:
    mask = getattr(tensor, "_keras_mask", None)
    result = policy.convert_input(tensor, convert, dtype)
    if mask is not None and result is not tensor:
        result._keras_mask = mask
    return result


@dataclass(eq=False)
class FlatGraph:
    """The steps of a model.

    Attributes:
        model: the model.
        inputs: keys of its flattened inputs.
        outputs: keys of its flattened outputs.
        steps: in an order in which they can run.
        specs: the symbolic tensor of each key.
        measured: bytes of tensors as they were traced, by key.
    """

    model: Any
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    steps: list[Step] = field(default_factory=list)
    specs: dict[int, Any] = field(default_factory=dict)
    measured: dict[int, int] = field(default_factory=dict)

    def key(self, symbol: Any) -> int:
        """Returns a new key for a symbolic tensor.

        Args:
            symbol: its shape and type are remembered.
        """
        number = len(self.specs)
        self.specs[number] = symbol
        return number

    def size(self, key: int, batch: int) -> int:
        """Returns the bytes of a tensor; axes of unknown length count as the batch, once, unless it was measured.

        Args:
            key: the tensor.
            batch: samples in a batch.
        """
        symbol = self.specs[key]
        if key in self.measured and any(size is None for size in symbol.shape[1:]):
            return self.measured[key]
        samples = batch if None in tuple(symbol.shape) else 1
        width = tensorflow().as_dtype(keras().backend.standardize_dtype(symbol.dtype)).size
        return samples * prod(int(size) for size in symbol.shape if size is not None) * int(width)


def has_gradient(symbol: Any) -> bool:
    """Returns whether a gradient may flow through a tensor: numbers do, those for counting do not.

    Args:
        symbol: a tensor, symbolic or not.
    """
    name = getattr(symbol.dtype, "name", str(symbol.dtype))
    return "float" in name or "complex" in name


def flatten(model: Any) -> FlatGraph | None:
    """Returns the flat graph of a model.

    Args:
        model: a keras.Model.

    Returns:
        None where the model has no graph of layers: its own Python code decides what runs.
    """
    functional = functional_of(model)
    if functional is None:
        return None
    graph = FlatGraph(model)
    keys = {id(symbol): graph.key(symbol) for symbol in functional.inputs}
    graph.inputs = tuple(keys[id(symbol)] for symbol in functional.inputs)
    _walk(graph, functional, keys, None, "")
    graph.outputs = tuple(keys[id(symbol)] for symbol in functional.outputs)
    return graph


def _walk(graph: FlatGraph, functional: Any, keys: dict[int, int], nest: Nest | None, prefix: str) -> None:
    for node in nodes_in_order(functional):
        if not node.operation or node.is_input or any(id(x) not in keys for x in node.input_tensors):
            continue
        inner = _openable(node, functional)
        if inner is not None:
            _open(graph, node, inner, keys, nest, prefix)
            continue
        makes = tuple(graph.key(symbol) for symbol in node.outputs)
        reads = tuple({id(x): keys[id(x)] for x in node.input_tensors}.items())
        name = f"{prefix}{node.operation.name}"
        graph.steps.append(Step(name, node.operation, node.arguments, reads, makes, tuple(node.outputs), nest))
        keys.update({id(symbol): key for symbol, key in zip(node.outputs, makes, strict=True)})


def _openable(node: Any, around: Any) -> Any:
    """The graph of an inner model whose call adds nothing to running its layers."""
    model, arguments = node.operation, node.arguments
    inner = functional_of(model)
    plain = (
        inner is not None
        and "call" not in vars(model)
        and model.activity_regularizer is None
        and model.dtype_policy.name == around.dtype_policy.name
        and getattr(model, "_remat_mode", None) is None
        and getattr(model, "quantization_mode", None) is None
        and len(arguments.args) == 1
        and all(
            _unmasked(name, value) or (name in _CONTEXT_FREE and isinstance(value, bool | None))
            for name, value in arguments.kwargs.items()
        )
    )
    return inner if plain else None


def _unmasked(name: str, value: Any) -> bool:
    """Whether an argument is the mask that Keras adds to every call, and says that there is none."""
    return name == "mask" and all(mask is None for mask in keras().tree.flatten(value))


def _open(graph: FlatGraph, node: Any, inner: Any, keys: dict[int, int], nest: Nest | None, prefix: str) -> None:
    model = node.operation
    made = {id(symbol): graph.key(symbol) for symbol in inner.inputs}
    reads = tuple({id(x): keys[id(x)] for x in node.input_tensors}.items())
    name = f"{prefix}{model.name}"
    symbols = tuple(inner.inputs)
    graph.steps.append(Step(name, model, node.arguments, reads, tuple(made.values()), symbols, nest, enters=True))
    kwargs = {name: value for name, value in node.arguments.kwargs.items() if name in _CONTEXT_FREE}
    _walk(graph, inner, made, Nest(model, kwargs, nest), f"{name}/")
    for outside, inside in zip(node.outputs, inner.outputs, strict=True):
        keys[id(outside)] = made[id(inside)]
