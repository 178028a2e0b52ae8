"""What a model must be to train one share: checked before the first epoch, refused by name."""

from __future__ import annotations

from typing import Any

from .data.arrays import Rows, leaves, map_leaves
from .data.shares import Share
from .errors import ProgramError

Shape = tuple[int | None, ...]


def _outputs(model: Any) -> list[Any] | None:
    """The symbolic outputs; None where the model has none (subclassed, or not built yet)."""
    try:
        found = model.outputs
    except (AttributeError, ValueError):
        return None
    return list(found) if found else None


def input_rank(model: Any) -> int | None:
    """Returns the rank of the model's first input with its batch axis, or None where it is not known.

    Args:
        model: a keras model.
    """
    try:
        found = leaves(model.inputs)
    except (AttributeError, ValueError):
        return None
    return len(found[0].shape) if found else None


def _first_row(sample: Rows) -> Any:
    return map_leaves(lambda leaf: leaf.iloc[:1].to_numpy() if hasattr(leaf, "iloc") else leaf[:1], sample.x)


def output_shape(model: Any, sample: Rows) -> Shape | None:
    """Returns the shape of the model's output with its batch axis.

    Args:
        model: a keras model; one that is not built yet is built with the sample.
        sample: some selected rows.

    Returns:
        None where only training itself can tell (a model whose `call` does not predict).

    Raises:
        ProgramError: the model has several outputs.
    """
    outputs = _outputs(model)
    if outputs is None and type(model).__name__ == "Sequential" and not isinstance(sample.x, (dict, list, tuple)):
        model.build((None, *_first_row(sample).shape[1:]))
        outputs = _outputs(model)
    if outputs is None:
        try:
            outputs = leaves(model(_first_row(sample), training=False))
        except Exception:  # noqa: BLE001  # a user's own `call` may fail in any way when it does not predict
            return None
    if len(outputs) > 1:
        names = ", ".join(repr(name) for name in getattr(model, "output_names", None) or range(len(outputs)))
        raise ProgramError(
            f"model {model.name!r} has {len(outputs)} outputs ({names}); a model with one output can be split"
        )
    return tuple(outputs[0].shape) if outputs else None


def output_layer(model: Any) -> Any:
    """Returns the layer or operation that makes the output, or None where it cannot be told.

    Args:
        model: a keras model.
    """
    outputs = _outputs(model)
    if outputs is not None:
        made_by = getattr(getattr(outputs[0], "_keras_history", None), "operation", None)
        if made_by is not None and hasattr(made_by, "layers"):
            return output_layer(made_by)
        if made_by is not None:
            return made_by
    layers = getattr(model, "layers", None)
    return layers[-1] if layers else None


def _named(model: Any) -> str:
    name = getattr(output_layer(model), "name", None)
    return f"the output layer {name!r}" if name else "the output layer"


def check_output(model: Any, share: Share, shape: Shape | None) -> None:
    """Checks that a model's output fits a share of classes.

    Args:
        model: a keras model.
        share: a multiclass or binary share.
        shape: of its output, or None where it is not known.

    Raises:
        ProgramError: the output has another width, or an output for each pixel or token.
    """
    if shape is None or share.whole or share.kind not in ("multiclass", "binary"):
        return
    if len(shape) > 2:
        raise ProgramError(
            f"{_named(model)} of model {model.name!r} has shape {shape}: one class per pixel or token cannot be split",
            "a block is split by the class of a whole row",
        )
    width = shape[-1]
    if share.kind == "multiclass" and width != len(share.classes):
        raise ProgramError(
            f"{_named(model)} has {width} units, this submodel has {len(share.classes)} classes",
            "the width of the output layer must be seen in the script; write the number of classes there",
        )
    if share.kind == "binary" and width not in (1, 2):
        raise ProgramError(f"{_named(model)} has {width} units; a binary block has 1 (sigmoid) or 2 (softmax)")


def check_regression(model: Any, shape: Shape, wanted: Shape) -> None:
    """Checks that a model's output has the shape of the targets' part.

    Args:
        model: a keras model.
        shape: of its output.
        wanted: of the cut targets.

    Raises:
        ProgramError: they differ.
    """
    if len(shape) == len(wanted):
        pairs = list(zip(shape[1:], wanted[1:], strict=True))
        if all(mine is None or theirs is None or mine == theirs for mine, theirs in pairs):
            return
    image = len(shape) == len(wanted) > 2
    if len(shape) == 2 and len(wanted) == 2:
        raise ProgramError(
            f"{_named(model)} has {shape[-1]} units, this submodel's part of the targets has {wanted[-1]}"
        )
    raise ProgramError(
        f"{_named(model)} has shape {tuple(shape[1:])}, this submodel's part of the targets has {tuple(wanted[1:])}",
        "networks that halve and double an image need patches of even size: choose M so that they are"
        if image
        else None,
    )


def _flag(loss: Any) -> bool | None:
    """What a loss says of its predictions: True for logits, None where it says nothing."""
    if isinstance(loss, dict):
        loss = next(iter(loss.values()), None)
    if isinstance(loss, (list, tuple)):
        loss = loss[0] if loss else None
    if isinstance(loss, str):
        return False if "entropy" in loss.lower() else None
    for place in (loss, getattr(loss, "_fn_kwargs", None), getattr(loss, "keywords", None)):
        value = place.get("from_logits") if isinstance(place, dict) else getattr(place, "from_logits", None)
        if value is not None:
            return bool(value)
    return None


def activation_name(model: Any) -> str | None:
    """Returns the name of the activation that makes the output, or None.

    Args:
        model: a keras model.
    """
    layer = output_layer(model)
    if layer is None:
        return None
    kind = type(layer).__name__.lower()
    if kind in ("softmax", "sigmoid"):
        return kind
    activation = getattr(layer, "activation", None)
    return getattr(activation, "__name__", type(activation).__name__.lower()) if activation is not None else None


def from_logits(model: Any) -> bool:
    """Returns whether the model's outputs are logits rather than probabilities.

    Args:
        model: a compiled keras model.
    """
    name = activation_name(model)
    if name in ("softmax", "sigmoid"):
        # Whatever the loss is told, what comes out of this layer is a probability.
        return False
    said = _flag(getattr(model, "loss", None))
    return said if said is not None else name == "linear"
