"""The composed model: the submodels and a rule, as one Functional model of built-in Keras parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import keras
from keras import ops

from ..data.shares import Share
from ..errors import ProgramError
from . import certainty, concatenation
from .ending import SCORES, SIGMOID, SOFTMAX, UNKNOWN, ending, without_activation
from .rules import RULES

# The least probability that a type can hold, halved: what underflowed to zero was smaller than that.
_FLOORS = {"float16": 2.0**-25}
_FLOOR = 2.0**-127


@dataclass(frozen=True)
class Part:
    """One submodel, ready to be composed.

    Args:
        model: The submodel; it gives scores where that could be had.
        scores: Whether its outputs are scores (any scale) rather than probabilities.
    """

    model: Any
    scores: bool


@dataclass(frozen=True)
class Output:
    """What the original's output is like.

    Args:
        activation: "softmax", "sigmoid" or "scores".
        dtype: Its type.
        name: Name of the layer that makes it; losses and metrics given by name need it.
        model: Name of the model.
    """

    activation: str
    dtype: str
    name: str
    model: str = "composed"


def part(model: Any, logits: bool) -> tuple[Part, str]:
    """Look at a submodel's end, and get at its scores.

    Args:
        model: A built submodel of the composer's own; it may be changed.
        logits: Whether the loss takes scores; decides where the model itself does not tell.

    Returns:
        The part, and what the submodel's output was: "softmax", "sigmoid" or "scores".
    """
    end = ending(model)
    if end == UNKNOWN:
        single = model.output_shape[-1] == 1 if hasattr(model, "output_shape") else False
        end = SCORES if logits else SIGMOID if single else SOFTMAX
        return Part(model, logits), end
    if end == SCORES:
        return Part(model, True), end
    bare = without_activation(model)
    return Part(model if bare is None else bare, bare is not None), end


def classifier(
    parts: Sequence[Part], share: Share, rule: str, members: list[list[int]], inputs: Any, output: Output
) -> Any:
    """Compose the submodels of a multiclass or binary block.

    Args:
        parts: The submodels.
        share: The block's task.
        rule: Rule of a multiclass block.
        members: Classes of each submodel of a multiclass block.
        inputs: The composed model's inputs.
        output: What the original's output is like.

    Returns:
        A keras.Model, not compiled.

    Raises:
        ProgramError: A submodel's output does not fit its classes.
    """
    values = [_called(one.model, inputs) for one in parts]
    _check_widths(values, share, members)
    entries = [keras.Input(value.shape[1:], dtype=value.dtype) for value in values]
    if share.kind == "binary":
        found = _binary(entries, all(one.scores for one in parts), output.activation)
    else:
        logs = [_log_probabilities(value, one.scores) for value, one in zip(entries, parts, strict=True)]
        found = RULES[rule](logs, members, share.of or 0)
        found = found if output.activation == SCORES else ops.exp(found)
    # One line of summary() for the whole rule; it takes and gives the submodels' own types, float64 stays inside.
    composition = keras.Model(entries, ops.cast(found, output.dtype), name="composition")
    return _finished(composition(values), inputs, output)


def regressor(parts: Sequence[Any], share: Share, inputs: Any, output: Output) -> Any:
    """Compose the submodels of a regression block.

    Args:
        parts: The submodels.
        share: The block's task.
        inputs: The composed model's inputs.
        output: What the original's output is like.

    Returns:
        A keras.Model, not compiled.

    Raises:
        ProgramError: The input cannot be cut, or the outputs do not fit together.
    """
    try:
        seen = [inputs] * len(parts)
        if share.kind == "local_regression":
            seen = concatenation.cut(inputs, len(parts), share.grid)
        values = [_called(model, value) for model, value in zip(parts, seen, strict=True)]
        found = concatenation.graph(values, share.grid)
    except ValueError as error:
        raise ProgramError(f"the submodels' parts cannot be laid together: {error}") from error
    return _finished(found, inputs, output)


def _called(model: Any, inputs: Any) -> Any:
    """Call a submodel; its output must be one tensor."""
    value = model(inputs)
    flat = keras.tree.flatten(value)
    if len(flat) != 1:
        raise ProgramError(
            f"a model with {len(flat)} outputs cannot be composed",
            "give each output a model and a block of its own",
        )
    return flat[0]


def _check_widths(values: Sequence[Any], share: Share, members: list[list[int]]) -> None:
    for m, value in enumerate(values):
        wanted = (1, 2) if share.kind == "binary" else (len(members[m]),)
        if len(value.shape) != 2 or value.shape[-1] not in wanted:
            raise ProgramError(
                f"submodel {m} gives outputs of shape {tuple(value.shape)}; "
                f"its last axis should be {' or '.join(str(size) for size in wanted)}",
                "a class for each row is what can be composed; per-pixel or per-token classes cannot",
            )


def _log_probabilities(value: Any, scores: bool) -> Any:
    """Return float64 log-probabilities of a submodel's output."""
    floor = _FLOORS.get(value.dtype, _FLOOR)
    exact = ops.cast(value, "float64")
    return ops.log_softmax(exact if scores else ops.log(ops.maximum(exact, floor)), axis=-1)


def _binary(values: Sequence[Any], scores: bool, activation: str) -> Any:
    """Return the more certain submodel's output, in the original's convention."""
    chosen = certainty.graph([ops.cast(value, "float64") for value in values], 0.0 if scores else 0.5)
    finish: dict[str, Callable[[Any], Any]] = {SOFTMAX: ops.softmax, SIGMOID: ops.sigmoid}
    return finish[activation](chosen) if scores and activation in finish else chosen


def _finished(found: Any, inputs: Any, output: Output) -> Any:
    """Close the model with a layer that has the original output's name and type."""
    taken = {"composition", *(tensor.name for tensor in keras.tree.flatten(inputs))}
    name = output.name if output.name not in taken else f"{output.name}_composed"
    last = keras.layers.Activation("linear", dtype=output.dtype, name=name)
    return keras.Model(inputs, last(found), name=output.model)
