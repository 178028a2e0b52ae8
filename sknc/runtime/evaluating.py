"""`model.evaluate` between trainings: a submodel is measured on its own share."""

from __future__ import annotations

from typing import Any

from .checks import input_rank
from .context import current
from .data.prepare import Task, prepare
from .errors import ProgramError

_POSITIONS = ("x", "y", "batch_size", "verbose", "sample_weight", "steps", "callbacks")


def evaluate(model: Any, *args: Any, **kwargs: Any) -> Any:
    """Evaluates a submodel on its share, as `model.evaluate(...)` would on everything.

    Args:
        model: the compiled keras model.
        *args: what the script passes to `evaluate`.
        **kwargs: what the script passes to `evaluate`.

    Returns:
        What `model.evaluate` returns.

    Raises:
        ProgramError: no share can be selected.
        TypeError: an argument is given twice, or too many are.
    """
    if len(args) > len(_POSITIONS):
        raise TypeError(f"evaluate takes at most {len(_POSITIONS)} arguments, {len(args)} were given")
    call = dict(zip(_POSITIONS, args, strict=False))
    if twice := call.keys() & kwargs.keys():
        raise TypeError(f"evaluate got two values for argument {sorted(twice)[0]!r}")
    call |= kwargs
    context = current()
    if context.mode != "submodel" or context.share.whole:
        return model.evaluate(**call)
    steps = call.pop("steps", None)
    if steps is not None:
        call["steps_per_epoch"] = steps
    task = Task(context.share, context.label_map, context.generator_classes, input_rank(model))
    chosen = prepare(task, call).call
    if (scaled := chosen.pop("steps_per_epoch", None)) is not None:
        chosen["steps"] = scaled
    if chosen.get("x") is None:
        raise ProgramError("evaluate was called without x")
    return model.evaluate(**chosen)
