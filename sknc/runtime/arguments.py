"""The arguments of `keras.Model.fit`, by name."""

from __future__ import annotations

from typing import Any

# The order of the arguments of keras.Model.fit.
POSITIONS = (
    "x",
    "y",
    "batch_size",
    "epochs",
    "verbose",
    "callbacks",
    "validation_split",
    "validation_data",
    "shuffle",
    "class_weight",
    "sample_weight",
    "initial_epoch",
    "steps_per_epoch",
    "validation_steps",
    "validation_batch_size",
    "validation_freq",
)


def named_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of `fit` by name.

    Args:
        args: positional arguments in Keras's order.
        kwargs: named arguments; names that Keras does not know are left for it, or a user's own `fit`, to judge.

    Raises:
        TypeError: an argument is given twice, or there are too many.
    """
    if len(args) > len(POSITIONS):
        raise TypeError(f"fit takes at most {len(POSITIONS)} arguments, {len(args)} were given")
    call = dict(zip(POSITIONS, args, strict=False))
    for name in kwargs:
        if name in call:
            raise TypeError(f"fit got two values for argument {name!r}")
    return {**call, **kwargs}
