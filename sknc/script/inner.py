"""Inner layers of a trained network: the composition of submodels has none, so that using one would be wrong."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from sknc.script.interpreter import Event, Interpreter
from sknc.script.tensors import listed
from sknc.script.values import UNKNOWN, Arguments, Instance, Layer, Model, Seq, Value, constant

# What of a layer is its own: what it makes, and what it has learned.
_OWN = frozenset(
    (
        "output input get_weights set_weights weights trainable_weights variables trainable_variables kernel bias"
        " embeddings gamma beta"
    ).split()
)


def look(interp: Interpreter, owner: Value | None, name: str, node: cst.CSTNode) -> None:
    """Note that something of a layer's own is looked at.

    Args:
        interp: the reading.
        owner: what has the attribute.
        name: the attribute.
        node: where.
    """
    if isinstance(owner, (Layer, Model)) and name in _OWN:
        interp.inner.append((node, owner, len(interp.events)))


def find_layer(interp: Interpreter, model: Model, args: Arguments, node: cst.CSTNode | None) -> Value:
    """Return the layer that `model.get_layer(...)` finds, and note that it is asked for.

    Args:
        interp: the reading.
        model: the model.
        args: a name or a number.
        node: the call.

    Returns:
        The layer, `UNKNOWN` when it cannot be told.
    """
    layers = listed(model)
    found = next((layer for layer in layers if isinstance(layer, (Layer, Model))), None)
    if node is not None and found is not None:
        interp.inner.append((node, found, len(interp.events)))
    name, index = constant(args.get("name", 0)), constant(args.get("index", 1))
    named = [layer for layer in layers if isinstance(layer, Layer) and constant(layer.args.get("name")) == name]
    if isinstance(name, str) and len(named) == 1:
        return named[0]
    numbered = isinstance(index, int) and -len(layers) <= index < len(layers)
    return layers[index] if numbered else UNKNOWN


def used(interp: Interpreter, model: Model, fits: Sequence[Event]) -> cst.CSTNode | None:
    """Return where something of an inner layer is first looked at after the training.

    Args:
        interp: the reading.
        model: the trained model.
        fits: its trainings.

    Returns:
        The place, None when no inner layer is looked at.
    """
    layers = {id(layer) for layer in all_layers(model)} - {id(model)}
    direct = {id(layer) for layer in model.layers}
    trained = [event.order for event in fits if event.target is model]
    for node, owner, order in interp.inner:
        # Between two trainings a layer may be looked up, to be frozen: what it has learned is in the submodels.
        between = id(owner) in direct and isinstance(node, cst.Attribute) and order > min(trained, default=order)
        if between or (id(owner) in layers and order > max(trained, default=-1)):
            return node
    return None


def all_layers(model: Value, seen: set[int] | None = None) -> list[Value]:
    """Return a model's layers, with those of nested models, lists and wrappers.

    Args:
        model: a model, layer, list or object of the user's.
        seen: ids of those that are left out; gets those that are found.

    Returns:
        The model itself first.
    """
    seen = set() if seen is None else seen
    if id(model) in seen:
        return []
    seen.add(id(model))
    found = [model]
    inside: list[Value] = []
    if isinstance(model, Model):
        inside = [*model.layers, *(model.instance.attributes.values() if model.instance else ())]
    elif isinstance(model, Instance):
        inside = list(model.attributes.values())
    elif isinstance(model, Seq):
        inside = list(model.items)
    elif isinstance(model, Layer) and model.inner is not None:
        inside = [model.inner]
    for item in inside:
        if isinstance(item, (Model, Layer, Seq, Instance)):
            found += all_layers(item, seen)
    return found
