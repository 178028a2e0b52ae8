"""Which network a block trains, and what speaks against it."""

from __future__ import annotations

import libcst as cst

from sknc.decompose.widths import Dim, WidthGraph
from sknc.diagnostics import Diagnostic, codes_training
from sknc.diagnostics import codes_script as codes
from sknc.script.inner import all_layers
from sknc.script.interpreter import Event, Interpreter
from sknc.script.markers import Block
from sknc.script.values import Layer, Model


def find_model(interp: Interpreter, block: Block, fits: list[Event], whole: bool) -> Model | Diagnostic:
    """Say which network a block trains.

    Args:
        interp: the reading.
        block: the block.
        fits: the calls of fit in it, in order.
        whole: whether the network stays as it is, so that what it looks like does not matter.

    Returns:
        The network, or why there is none that can be split.
    """
    source = interp.source
    models = list({id(e.target): e.target for e in fits if isinstance(e.target, Model)}.values())
    # `fit = model.fit` and then `fit(x, y)`: there is no place for the runtime's call.
    unnamed = [e.node for e in fits if not isinstance(e.node.func, cst.Attribute)]
    if not fits:
        return codes.NO_TRAINING.at(source.place(block.begin.start, block.begin.end))
    if unnamed:
        return codes_training.OTHER_NAME.at(source.at(unnamed[0]), name=source.text(unnamed[0].func))
    if whole and len(models) <= 1:
        return models[0] if models else _unread(interp, fits)
    if not models:
        return codes.UNREAD_MODEL.at(source.at(fits[0].node))
    if len(models) > 1:
        return _several(interp, fits, models[1])
    if models[0].loaded or not models[0].layers:
        return codes.UNREAD_MODEL.at(source.at(fits[0].node))
    if interp.made_in.get(id(models[0])) != block.index:
        return codes.OUTSIDE.at(source.at(models[0].node or fits[0].node), line=_line(interp, fits[0].node))
    return models[0]


def tie_untrained(interp: Interpreter, graph: WidthGraph, model: Model) -> None:
    """Let output layers of networks that are never trained go with the trained one's, where one line makes both.

    Args:
        interp: the reading.
        graph: the widths of the block.
        model: the network that it trains.
    """
    output = model.outputs[0].last.single if model.outputs else None
    if output is None or output not in graph.slots:
        return
    own = {id(layer) for layer in all_layers(model)}
    used = {id(layer) for other in _used_before(interp, model) for layer in all_layers(other)}
    mine = graph.slots[output]
    for layer in interp.kept_alive:
        # What another network predicts before the training may be what is learned: it has to stay what it is.
        if not isinstance(layer, Layer) or id(layer) in own or id(layer) in used:
            continue
        for variable in layer.slots.values():
            other = graph.slots.get(variable)
            if other is not None and other.site is mine.site and other.base == mine.base is not None:
                graph.equal(Dim.var(output), Dim.var(variable), "its line makes layers of another network as well")


def _used_before(interp: Interpreter, model: Model) -> list[Model]:
    """The other networks that predict something before the last training."""
    last = max((e.order for e in interp.events if e.what == "fit" and e.target is model), default=-1)
    uses = [(e.target, e.order) for e in interp.events if e.what == "use" and isinstance(e.target, Model)]
    return [other for other, order in (*uses, *interp.tried) if other is not model and order <= last]


def _line(interp: Interpreter, node: cst.CSTNode) -> int:
    return interp.source.line(interp.source.span(node)[0])


def _unread(interp: Interpreter, fits: list[Event]) -> Model | Diagnostic:
    """A model that stays as it is need not be read, but it has to be one: all trainings are called on one name."""
    owners = {interp.source.text(e.node.func.value): e for e in fits if isinstance(e.node.func, cst.Attribute)}
    if len(owners) == 1:
        return Model(None)
    second = list(owners.values())[1]
    return codes.SEVERAL_MODELS.at(interp.source.at(second.node), line=_line(interp, fits[0].node))


def _several(interp: Interpreter, fits: list[Event], second: Model) -> Diagnostic:
    """Two networks: two in the text, or one that a loop or a call makes and trains again."""
    event = next(e for e in fits if e.target is second)
    place, first = interp.source.at(event.node), next(e for e in fits if isinstance(e.target, Model))
    if event.node is not first.node:
        return codes.SEVERAL_MODELS.at(place, line=_line(interp, first.node))
    made = next((frames for value, frames in interp.objects if value is second), event.frames)
    # The loop that repeats the training is around both: one around the training alone trains one network further.
    loops = [f for f in event.frames if f.what == "loop" and f in made]
    if loops:
        return codes_training.TRAINED_AGAIN.at(
            place, how=f"it is repeated by the loop of line {_line(interp, loops[-1].node)}"
        )
    calls = [f for f in event.frames if f.callee is not None and f not in first.frames]
    again = f" at line {_line(interp, calls[0].callee)}" if calls and calls[0].callee is not None else ""
    return codes_training.TRAINED_AGAIN.at(place, how=f"its function is called again{again}")
