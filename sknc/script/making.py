"""Keras in thought: making layers, whose sizes become widths of the graph."""

from __future__ import annotations

import libcst as cst

from sknc.decompose.widths import Dim
from sknc.script import stars
from sknc.script.interpreter import Interpreter
from sknc.script.layers import LAYERS
from sknc.script.values import (
    Arguments,
    Const,
    Default,
    Layer,
    Made,
    Model,
    Seq,
    Size,
    Tensor,
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
            if isinstance(given, Default):
                interp.defaults[variable] = given
        elif given is not None and (star := stars.site(layer, argument, position)) is not None:
            variable = interp.add_slot(layer, argument, whole(given), role, star.node or star.through)
            interp.starred[variable] = star, star.through if layer.node is None else layer.node
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
    return Tensor(input_shape(args), layer)


def input_shape(args: Arguments) -> tuple[Dim, ...] | None:
    """Return the shape that the arguments of an input say, without the batch."""
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
