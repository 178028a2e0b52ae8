"""Keras in thought: making layers and models, and calling them on tensors."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from sknc.decompose.widths import Dim
from sknc.script import shapes
from sknc.script.interpreter import Interpreter
from sknc.script.layers import LAYERS
from sknc.script.values import (
    UNKNOWN,
    Arguments,
    Const,
    Function,
    Instance,
    Layer,
    Made,
    Mapping,
    Model,
    Seq,
    Size,
    Tensor,
    Unknown,
    UserClass,
    Value,
    constant,
    whole,
)

_ROOTS = ("tensorflow.keras.", "tensorflow.python.keras.", "tensorflow.compat.v1.keras.", "tensorflow.compat.v2.keras.",
          "tf_keras.", "keras.src.", "keras.api.")  # fmt: skip


def keras_name(name: str) -> str:
    """Return the full name of something in Keras without the ways it can be imported by."""
    for root in _ROOTS:
        if name.startswith(root):
            return "keras." + name[len(root) :]
    return "keras" if name in ("tensorflow.keras", "tf_keras", "tensorflow.python.keras") else name


def layer_name(name: str) -> str | None:
    """Return the layer class that a full name stands for, None when it is no Keras layer."""
    full = keras_name(name)
    last = full.rsplit(".", 1)[-1]
    return last if full.startswith("keras.layers.") and last[:1].isupper() else None


def make_layer(interp: Interpreter, name: str, args: Arguments, node: cst.CSTNode | None) -> Layer:
    """Make a layer as its constructor would, and add its widths to the graph."""
    layer = Layer(name, args, node)
    rule = LAYERS.get(name)
    for argument, position, role in rule.slots if rule else ():
        given, expression = args.get(argument, position), args.node(argument, position)
        if isinstance(given, Size):
            layer.sizes[argument] = _computed(interp, layer, argument, given)
        elif given is not None and expression is not None:
            variable = interp.add_slot(layer, argument, whole(given), role, expression)
            _keep(interp, layer, variable)
    if rule and rule.shape == "reshape":
        _reshape_slot(interp, layer)
    if rule and rule.shape in ("bidirectional", "time_distributed", "wrapped"):
        layer.inner = args.get("layer", 0)
        _tie_backward(interp, layer)
    _given_weights(interp, layer)
    _note_input(interp, layer)
    interp.made(layer)
    return layer


def _computed(interp: Interpreter, layer: Layer, argument: str, size: Size) -> Dim:
    """The width of a layer that the script computes from other widths of the network."""
    if all(coefficient is not None for coefficient, _ in size.dim.terms) and size.dim.single is not None:
        return size.dim
    variable = interp.graph.computed(size.compute, size.dim.variables, layer.name)
    interp.slot_block[variable] = interp.block
    interp.slot_frames[variable] = tuple(interp.frames)
    layer.computed[argument] = variable
    return Dim.var(variable)


def _given_weights(interp: Interpreter, layer: Layer) -> None:
    """Weights that are given have the size that they have."""
    constants = [
        value
        for name, value in layer.args.keywords.items()
        if name.endswith("initializer") and isinstance(value, Made) and value.name.endswith((".Constant", ".constant"))
    ]
    numbers = [isinstance(constant(value.args.get("value", 0)), (int, float)) for value in constants]
    given = layer.args.keywords.get("weights")
    if not all(numbers) or (given is not None and not isinstance(given, Const)):
        keep_layer(interp, layer, "its weights are given")


def keep_layer(interp: Interpreter, layer: Value, why: str) -> None:
    """Keep the widths of a layer, or of all layers of a model."""
    if isinstance(layer, Layer):
        for dim in (*(Dim.var(v) for v in layer.slots.values()), *layer.sizes.values()):
            interp.graph.fix(dim, why)
        if layer.inner is not None:
            keep_layer(interp, layer.inner, why)
    elif isinstance(layer, (Model, Seq)):
        for inner in layer.layers if isinstance(layer, Model) else layer.items:
            keep_layer(interp, inner, why)


def _keep(interp: Interpreter, layer: Layer, variable: int) -> None:
    if interp.block is None:
        interp.graph.fix(Dim.var(variable), "it is made outside the block")
    if isinstance(layer.node, cst.Call):
        start, end = interp.source.span(layer.node)
        for line in range(interp.source.line(start), interp.source.line(end) + 1):
            if line in interp.keeps:
                interp.kept_lines.add(line)
                interp.graph.fix(Dim.var(variable), "it is marked with KEEP")


def _tie_backward(interp: Interpreter, layer: Layer) -> None:
    forward, backward = layer.inner, layer.args.get("backward_layer")
    if isinstance(forward, Layer) and isinstance(backward, Layer):
        pair = [one.slots["units"] for one in (forward, backward) if "units" in one.slots]
        if len(pair) == 2:
            interp.graph.equal(Dim.var(pair[0]), Dim.var(pair[1]), "its backward layer has a fixed size")


def _reshape_slot(interp: Interpreter, layer: Layer) -> None:
    target = layer.args.get("target_shape", 0)
    if isinstance(target, Seq) and target.items and isinstance(target.items[-1], Size):
        layer.sizes["target_shape"] = _computed(interp, layer, "target_shape", target.items[-1])
    elif isinstance(target, Seq) and target.items and target.nodes and target.nodes[-1] is not None:
        size = whole(target.items[-1])
        if size is not None and size > 1:
            variable = interp.add_slot(layer, "target_shape", size, "reshape", target.nodes[-1])
            _keep(interp, layer, variable)


def _note_input(interp: Interpreter, layer: Layer) -> None:
    """Remember where an input shape is written: a local regression cuts it."""
    for name in ("input_shape", "input_dim", "batch_input_shape"):
        if name in layer.args.keywords and isinstance(layer.node, cst.Call):
            interp.note("input", layer.node, layer, layer.args, name)
    if layer.name in ("Input", "InputLayer") and isinstance(layer.node, cst.Call):
        interp.note("input", layer.node, layer, layer.args, "shape")


def input_tensor(interp: Interpreter, args: Arguments, node: cst.CSTNode | None) -> Tensor:
    """Make the tensor that `keras.Input` returns."""
    layer = make_layer(interp, "Input", args, node)
    return Tensor(_input_shape(args), layer)


def _input_shape(args: Arguments) -> tuple[Dim, ...] | None:
    batch = args.get("batch_shape") or args.get("batch_input_shape")
    given = args.get("shape", 0) or args.get("input_shape")
    if "input_dim" in args.keywords:
        return (Dim.fixed(whole(args.get("input_dim"))),)
    if isinstance(batch, Seq):
        given = Seq(batch.items[1:])
    if whole(given) is not None:
        return (Dim.fixed(whole(given)),)
    if isinstance(given, Seq):
        return tuple(item.dim if isinstance(item, Size) else Dim.fixed(whole(item)) for item in given.items)
    return None


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
    from sknc.script.library import hand_over
    from sknc.script.mutate import forget_items

    for value in (*args.positional, *args.keywords.values()):
        interp.fix_value(value, "what is done to it is not known")
        forget_items(value)
        hand_over(interp, value, "something that is not known")
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
    main = inputs[:1] if rule and rule.shape in ("recurrent", "rnn", "bidirectional", "conv_lstm") else inputs
    shape = shapes.output_shape(interp, layer, main)
    result = Tensor(shape, layer, tuple(inputs))
    _tie_states(interp, layer, [*inputs[1:], *tensors(args.keywords.get("initial_state"))])
    if rule and rule.shape == "multi_head_attention" and "return_attention_scores" in args.keywords:
        return Seq([result, UNKNOWN])
    return _with_states(interp, layer, result)


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
    given = layer.args.get("return_state")
    if given is None or constant(given) is False:
        return result
    units = layer.slots.get("units")
    if units is None or constant(given) is None:
        interp.fix_value(result, "its states are not known")
        return UNKNOWN
    state = Tensor((Dim.var(units),), layer, (result,))
    return Seq([result, *[state] * (2 if layer.name == "LSTM" else 1)])


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
    if model.layers and args.positional and all(isinstance(value, Unknown) for value in args.positional):
        interp.peeks += 1
        return UNKNOWN  # data, not a symbolic tensor: the network is only tried out
    if model.instance is not None and not model.outputs:
        return call_method(interp, model, "call", args)
    if model.sequential:
        value: Value = inputs[0] if inputs else Tensor(None)
        for layer in model.layers:
            value = apply(interp, layer, Arguments([value]))
        return value
    for inner, outer in zip(model.inputs, inputs, strict=False):
        if inner.shape and outer.shape:
            interp.graph.equal(inner.last, outer.last, "it goes into a model whose input size is fixed")
        elif outer.shape:
            interp.fix_value(outer, "it goes into a model")
    for tensor in inputs if not model.inputs else ():
        interp.fix_value(tensor, "it goes into a model that is not known")
    outputs: list[Value] = [Tensor(tensor.shape, model, tuple(inputs)) for tensor in model.outputs]
    if not outputs:
        return Tensor(None, model, tuple(inputs))
    return outputs[0] if len(outputs) == 1 else Seq(outputs)


def functional(interp: Interpreter, args: Arguments, node: cst.CSTNode | None) -> Model:
    """Make `keras.Model(inputs, outputs)`."""
    model = Model(node)
    set_ends(model, args)
    interp.made(model)
    return model


def set_ends(model: Model, args: Arguments) -> None:
    """Give a model its inputs and outputs, and collect the layers between them."""
    model.inputs = list(tensors(args.get("inputs", 0)))
    model.outputs = list(tensors(args.get("outputs", 1)))
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
                value = Tensor(_input_shape(layer.args), layer)
                continue
            if index == 0 and isinstance(layer, Layer):
                shape = _input_shape(Arguments([], layer.args.keywords))
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
