"""Keras in thought: making models, and calling layers and models on tensors."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from sknc.decompose.widths import Dim
from sknc.script import making, shapes
from sknc.script.interpreter import Interpreter
from sknc.script.layers import LAYERS
from sknc.script.values import (
    UNKNOWN,
    Arguments,
    Const,
    Function,
    Instance,
    Layer,
    Mapping,
    Model,
    Seq,
    Tensor,
    Unknown,
    UserClass,
    Value,
    constant,
)


def tensors(value: Value | None) -> Iterator[Tensor]:
    """Yield the tensors in a value; something unknown counts as a tensor of unknown shape."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Seq):
        for item in value.items:
            yield from tensors(item)
    elif isinstance(value, Mapping):
        for item in value.items.values():
            yield from tensors(item)
    elif isinstance(value, Unknown):
        yield Tensor(None)


def apply(interp: Interpreter, callee: Value | None, args: Arguments) -> Value:
    """Call a layer, model or function on tensors.

    Args:
        interp: the reading.
        callee: what is called.
        args: its arguments.

    Returns:
        The tensor or tensors it gives.
    """
    if isinstance(callee, Layer):
        return _apply_layer(interp, callee, args)
    if isinstance(callee, Model):
        return _apply_model(interp, callee, args)
    if isinstance(callee, Instance):
        _build(interp, callee, args)
        return call_method(interp, callee, "call", args)
    if isinstance(callee, (Function, UserClass)):
        from sknc.script.calls import call

        return call(interp, callee, args, None)
    from sknc.script.entries import offer
    from sknc.script.library import hand_over
    from sknc.script.mutate import forget_items

    for value in (*args.positional, *args.keywords.values()):
        interp.fix_value(value, "what is done to it is not known")
        forget_items(value)
        hand_over(interp, value, "something that is not known")
        offer(interp, value)
    return UNKNOWN


def _build(interp: Interpreter, layer: Instance, args: Arguments) -> None:
    """Build a layer of the user's on its first call, as Keras does: its weights may depend on the input's width."""
    if "build " in layer.attributes or layer.cls.method("build") is None:
        return
    layer.attributes["build "] = Const(True)
    first = next(iter(tensors(args.positional[0])), None) if args.positional else None
    shape: Value = UNKNOWN if first is None else attribute_of(interp, first, "shape")
    call_method(interp, layer, "build", Arguments([shape]))


def attribute_of(interp: Interpreter, owner: Value, name: str) -> Value:
    """Say what an attribute of a value is."""
    from sknc.script.expressions import attribute

    return attribute(interp, owner, name)


def call_method(interp: Interpreter, owner: Model | Instance, name: str, args: Arguments) -> Value:
    """Call a method that the user's class defines; unknown when it does not."""
    from sknc.script.calls import call
    from sknc.script.expressions import attribute

    method = attribute(interp, owner, name)
    if isinstance(method, Function):
        return call(interp, method, args, None)
    for value in args.positional:
        interp.fix_value(value, "what is done to it is not known")
    return Tensor(None, owner, tuple(t for value in args.positional for t in tensors(value)))


def _apply_layer(interp: Interpreter, layer: Layer, args: Arguments) -> Value:
    inputs = [t for value in args.positional for t in tensors(value)]
    for name in ("inputs", "query", "value", "key", "sequence"):
        if name in args.keywords:
            inputs += list(tensors(args.keywords[name]))
    rule = LAYERS.get(layer.name)
    if rule and rule.shape == "lambda":
        return _apply_lambda(interp, layer, args, inputs)
    _tie_applications(interp, layer, inputs)
    main = inputs[:1] if rule and rule.shape in ("recurrent", "rnn", "bidirectional", "conv_lstm") else inputs
    shape = shapes.output_shape(interp, layer, main)
    if shape is None:
        for variable in layer.slots.values():
            interp.graph.fix(Dim.var(variable), "what it gives is not known")
    result = Tensor(shape, layer, tuple(inputs))
    _tie_states(interp, layer, [*inputs[1:], *tensors(args.keywords.get("initial_state"))])
    if rule and rule.shape == "multi_head_attention" and "return_attention_scores" in args.keywords:
        return Seq([result, UNKNOWN])
    return _with_states(interp, layer, result)


_WITHOUT_WEIGHTS = ("same", "merge", "concatenate", "flatten", "reshape", "permute", "repeat", "pool", "global_pool",
                    "spatial_unknown", "dot", "attention", "input", "embedding", "lambda", "cell")  # fmt: skip


def _tie_applications(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> None:
    """A layer with weights that is called several times sees inputs of one size."""
    rule = LAYERS.get(layer.name)
    weighted = rule is None or rule.shape not in _WITHOUT_WEIGHTS or "Normalization" in layer.name
    if not weighted or not inputs:
        return
    if layer.applied is not None and layer.applied is not inputs[0]:
        _tie(interp, layer.applied, inputs[0], "a layer")
    layer.applied = layer.applied or inputs[0]


def _tie_states(interp: Interpreter, layer: Layer, states: list[Tensor]) -> None:
    if "units" in layer.slots and layer.name in ("LSTM", "GRU", "SimpleRNN"):
        for state in states:
            if state.shape is None:
                interp.graph.fix(Dim.var(layer.slots["units"]), "its first state has a size that is not known")
            else:
                interp.graph.equal(Dim.var(layer.slots["units"]), state.last, "its first state has a fixed size")
    else:
        for state in states if LAYERS.get(layer.name, LAYERS["Dense"]).shape in ("bidirectional", "rnn") else ():
            interp.fix_value(state, "it is a first state")


def _with_states(interp: Interpreter, layer: Layer, result: Tensor) -> Value:
    """A recurrent layer with return_state gives its states, too."""
    given = (layer.inner if isinstance(layer.inner, Layer) else layer).args.get("return_state")
    if given is None or constant(given) is False:
        return result
    inner = layer.inner if isinstance(layer.inner, Layer) else layer
    units = inner.slots.get("units")
    if units is None or constant(given) is None:
        interp.fix_value(result, "its states are not known")
        return UNKNOWN
    state = Tensor((Dim.var(units),), layer, (result,))
    count = (2 if inner.name == "LSTM" else 1) * (1 if inner is layer else 2)
    return Seq([result, *[state] * count])


def _apply_lambda(interp: Interpreter, layer: Layer, args: Arguments, inputs: list[Tensor]) -> Value:
    from sknc.script.calls import call

    function = layer.args.get("function", 0)
    if isinstance(function, (Function, Layer, Model)) or type(function).__name__ == "Ref":
        result = call(interp, function, args, None)
        if isinstance(result, Tensor):
            return Tensor(result.shape, layer, tuple(inputs))
    for tensor in inputs:
        interp.fix_value(tensor, "what a Lambda does to it is not known")
    return Tensor(None, layer, tuple(inputs))


def _apply_model(interp: Interpreter, model: Model, args: Arguments) -> Value:
    inputs = [t for value in (*args.positional, *args.keywords.values()) for t in tensors(value)]
    if all(tensor.producer is None and tensor.shape is None for tensor in inputs):
        interp.tried.append((model, len(interp.events)))
    if model.layers and args.positional and all(isinstance(value, Unknown) for value in args.positional):
        interp.peeks += 1
        return UNKNOWN  # data, not a symbolic tensor: the network is only tried out
    if model.instance is not None and not model.outputs:
        return call_method(interp, model, "call", args)
    if model.sequential:
        value: Value = inputs[0] if inputs else Tensor(None)
        for layer in model.layers:
            given = layer if isinstance(layer, Tensor) else None
            if isinstance(layer, Layer) and layer.name == "InputLayer":
                given = Tensor(making.input_shape(layer.args))
            if given is not None and isinstance(value, Tensor):
                _tie(interp, given, value)
            if given is None:
                value = apply(interp, layer, Arguments([value]))
        return value
    for inner, outer in zip(model.inputs, inputs, strict=False):
        _tie(interp, inner, outer)
    for tensor in inputs if not model.inputs else ():
        interp.fix_value(tensor, "it goes into a model that is not known")
    outputs: list[Value] = [Tensor(tensor.shape, model, tuple(inputs)) for tensor in model.outputs]
    if not outputs:
        return Tensor(None, model, tuple(inputs))
    return outputs[0] if len(outputs) == 1 else Seq(outputs)


def _tie(interp: Interpreter, inner: Tensor, outer: Tensor, what: str = "a model") -> None:
    """What goes into a model, or into a layer once more, has the size that it is made for."""
    if inner.shape and outer.shape:
        interp.graph.equal(inner.last, outer.last, f"it goes into {what} whose input size is fixed")
    elif outer.shape:
        interp.fix_value(outer, f"it goes into {what}")


def functional(interp: Interpreter, args: Arguments, node: cst.CSTNode | None) -> Model:
    """Make `keras.Model(inputs, outputs)`."""
    model = Model(node)
    set_ends(model, args)
    interp.made(model)
    for name in ("input", "output"):
        if name in args.keywords and isinstance(node, cst.Call):
            interp.note("renamed", node, model, args, name)
    return model


def set_ends(model: Model, args: Arguments) -> None:
    """Give a model its inputs and outputs, and collect the layers between them."""
    model.inputs = list(tensors(args.get("inputs", 0) or args.get("input")))
    model.outputs = list(tensors(args.get("outputs", 1) or args.get("output")))
    model.layers = list(layers_behind(model.outputs))


def layers_behind(outputs: list[Tensor]) -> Iterator[Value]:
    """Yield the layers that tensors were made by, the last first, each once."""
    seen: set[int] = set()
    todo = list(outputs)
    while todo:
        tensor = todo.pop()
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        todo += tensor.sources
        if tensor.producer is not None and id(tensor.producer) not in seen:
            seen.add(id(tensor.producer))
            yield tensor.producer


def sequential(interp: Interpreter, args: Arguments, node: cst.CSTNode | None) -> Model:
    """Make `keras.Sequential(layers)`."""
    model = Model(node, sequential=True)
    given = args.get("layers", 0)
    if isinstance(given, Seq):
        model.layers = list(given.items)
    elif given is not None and constant(given) is None and not isinstance(given, Const):
        model.layers = [UNKNOWN]
    interp.made(model)
    return model


def finish(interp: Interpreter, model: Model) -> None:
    """Find out the outputs of a model that is about to be trained."""
    if model.sequential:
        value: Value = Tensor(None)
        for index, layer in enumerate(model.layers):
            if isinstance(layer, Tensor):
                value = layer
                continue
            if isinstance(layer, Layer) and layer.name == "InputLayer":
                value = Tensor(making.input_shape(layer.args), layer)
                continue
            if index == 0 and isinstance(layer, Layer):
                shape = making.input_shape(Arguments([], layer.args.keywords))
                value = Tensor(shape if "input_shape" in layer.args.keywords or shape else None)
            value = apply(interp, layer, Arguments([value]))
        model.outputs = list(tensors(value))
    elif model.instance is not None and not model.outputs:
        call_method(interp, model, "build", Arguments([UNKNOWN]))
        result = call_method(interp, model, "call", Arguments([Tensor(None)]))
        model.outputs = list(tensors(result))
        own: list[Value] = [
            v for v in model.instance.attributes.values() if isinstance(v, (Layer, Model, Seq, Instance))
        ]
        model.layers = list(layers_behind(model.outputs)) + own
