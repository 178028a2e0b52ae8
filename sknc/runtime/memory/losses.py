"""The losses of a model as they can be traced: with targets that stand for the data's, one for each output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

Placeholder = Callable[[Any, Any], Any]


def traced_loss(
    model: Any, outputs: Any, more: list[Any], placeholder: Placeholder
) -> tuple[list[Any], Any, list[str]]:
    """Call the compiled losses; where there are none, or one cannot be called so, one that holds as much.

    Args:
        model: a keras.Model; compiled or not.
        outputs: what it returned.
        more: losses that its layers added.
        placeholder: makes a tensor from shape and type.

    Returns:
        The targets, the sum of the losses, and what the user should know.
    """
    targets, losses, notes = [], list(more), []
    flat = keras.tree.flatten(outputs)
    for output, loss in zip(flat, _losses(model, outputs), strict=True):
        if loss is None:
            continue
        target = _target(loss, output, placeholder)
        try:
            value = _called(loss, target, output)
        except Exception as error:  # noqa: BLE001 - a loss may want other targets than these
            notes.append(
                f"the loss '{_name(loss)}' could not be called with targets of the output's shape "
                f"({type(error).__name__}); the mean squared error was counted instead"
            )
            target = placeholder(output.shape, output.dtype)
            value = _called(keras.losses.MeanSquaredError(), target, output)
        targets.append(target)
        losses.append(value)
    floats = [tf.reduce_sum(tf.cast(loss, "float32")) for loss in losses]
    return targets, tf.add_n(floats) if floats else tf.zeros(()), notes


def _called(loss: Any, target: Any, output: Any) -> Any:
    found = loss(target, output)
    return found if isinstance(loss, keras.losses.Loss) else keras.ops.mean(found)


def _target(loss: Any, output: Any, placeholder: Placeholder) -> Any:
    sparse = "sparse" in _name(loss).lower() and len(output.shape) > 1
    return placeholder(output.shape[:-1] if sparse else output.shape, "int32" if sparse else output.dtype)


def _name(loss: Any) -> str:
    return str(getattr(loss, "name", None) or getattr(loss, "__name__", None) or type(loss).__name__)


def _losses(model: Any, outputs: Any) -> list[Any]:
    """One loss for each output; None for an output without one."""
    paths = keras.tree.flatten_with_path(outputs)
    said = getattr(getattr(model, "_compile_loss", None), "_user_loss", None)
    if said is None:
        return [_usual(output) for _, output in paths]
    if isinstance(said, dict):
        names = list(getattr(model, "output_names", None) or [])
        own = [path[-1] if path and isinstance(path[-1], str) else None for path, _ in paths]
        keys = own if all(own) else names if len(names) == len(paths) else own
        return [_resolved(said.get(key)) for key in keys]
    if isinstance(said, (list, tuple)):
        each = list(said) if len(said) == len(paths) else [said[0]] * len(paths)
        return [_resolved(loss) for loss in each]
    return [_resolved(said)] * len(paths)


def _resolved(loss: Any) -> Any:
    return keras.losses.get(loss) if isinstance(loss, (str, dict)) else loss


def _usual(output: Any) -> Any:
    if getattr(output, "op", None) is not None and output.op.type == "Softmax":
        return keras.losses.SparseCategoricalCrossentropy()
    return keras.losses.MeanSquaredError()


def own_training(model: Any) -> list[str]:
    """What of a model's training is not what is traced.

    Args:
        model: a keras.Model; compiled or not.

    Returns:
        One sentence each.
    """
    notes = []
    for name in ("train_step", "compute_loss", "_compute_loss"):
        if getattr(type(model), name, None) is not getattr(keras.Model, name, None):
            notes.append(f"the model has a {name} of its own: Keras's own was traced, with the compiled loss")
            break
    if getattr(model, "run_eagerly", False):
        notes.append("run_eagerly=True: the step was counted as a graph; run eagerly it holds more")
    if getattr(model, "jit_compile", False) is True:
        notes.append("jit_compile=True: XLA is not modelled, the step was counted without it")
    return notes
