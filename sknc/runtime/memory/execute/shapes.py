"""Models that do not say what they are fed with, until data or the user do."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

from ...frameworks import keras
from ..errors import PlanError
from ..tracing import says_shapes


def build(model: Any, inputs: Any) -> None:
    """Builds a model that is not built, as `fit` would.

    Args:
        model: a keras.Model.
        inputs: the shape of one sample, or keras.KerasTensors; None does nothing.

    Raises:
        PlanError: it cannot be built so.
    """
    if model.built or inputs is None:
        return
    if not all(isinstance(spec, keras().KerasTensor) for spec in keras().tree.flatten(inputs)):
        inputs = keras().KerasTensor((None, *inputs), dtype=model.input_dtype)
    try:
        if isinstance(model, keras().Sequential):
            model.build(keras().tree.flatten(inputs)[0].shape)
        else:
            model(inputs)
    except Exception as error:  # the user's code, or Keras's on it
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise PlanError(
            f"what '{model.name}' holds is not known, as it cannot be built by calling it: {said}"
        ) from error


def sample_shape(given: Any) -> tuple[int, ...] | None:
    """Returns the shape of one sample as it was given, None where none was.

    Args:
        given: whole numbers above zero, for each axis but the batch.

    Raises:
        PlanError: it is something else.
    """
    if given is None:
        return None
    sizes: tuple[Any, ...] = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    whole = [isinstance(size, numbers.Integral) and int(size) > 0 for size in sizes]
    if not sizes or not all(whole) or any(isinstance(size, bool) for size in sizes):
        raise PlanError(
            f"input_shape={given!r} is not the shape of one sample: whole numbers above zero, without the batch, such "
            "as (224, 224, 3)"
        )
    return tuple(map(int, sizes))


def described(inputs: Any) -> tuple[tuple[int | None, ...], ...]:
    """Returns the shapes of one sample of each input, as they can be compared.

    Args:
        inputs: the shape of one sample, keras.KerasTensors, or None.
    """
    if inputs is None:
        return ()
    parts = keras().tree.flatten(inputs)
    if all(hasattr(part, "shape") for part in parts):
        return tuple(tuple(part.shape[1:]) for part in parts)
    return (tuple(inputs),)


def needed(model: Any, inputs: Any) -> Any:
    """Returns what a model does not say of its inputs by itself, None where it says all.

    Args:
        model: a keras.Model.
        inputs: the shape of one sample, keras.KerasTensors, or None, as far as they are known.

    Raises:
        PlanError: it is not built.
    """
    if not model.built:
        raise PlanError(
            f"the model '{model.name}' is not built, so nobody knows what it holds; start it with keras.Input(...), or "
            "give input_shape=..."
        )
    return None if says_shapes(model) else inputs
