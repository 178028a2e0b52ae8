"""Runs steps with the values of variables handed in, and says what they would have changed.

That is what makes a second run safe: batch statistics, seeds and metrics are those of the first run, and
nothing is assigned twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...frameworks import keras, tensorflow
from .flatten import Context, Step
from .internals import attach_mask, autocast, mask_of, standing_for


@dataclass
class Outcome:
    """What running some steps gave.

    Attributes:
        values: tensors by key.
        updates: variables that the steps assign, with their new values.
        losses: of `add_loss`, each with the layer that added it.
        strangers: variables that were assigned though no value of theirs was handed in.
    """

    values: dict[int, Any]
    updates: list[tuple[Any, Any]] = field(default_factory=list)
    losses: list[tuple[Any, Any]] = field(default_factory=list)
    strangers: list[Any] = field(default_factory=list)


def recording_scope(mapping: Sequence[tuple[Any, Any]]) -> Any:
    """Returns a stateless scope that remembers which variables were assigned.

    Args:
        mapping: variables and the values that they have meanwhile.
    """

    class RecordingScope(keras().StatelessScope):  # type: ignore[misc]  # keras has no types
        def __init__(self) -> None:
            super().__init__(state_mapping=list(mapping), collect_losses=True)
            self.assigned: dict[int, Any] = {}

        def add_update(self, update: Any) -> None:
            self.assigned[id(update[0])] = update[0]
            super().add_update(update)

    return RecordingScope()


def read(variable: Any) -> Any:
    """Returns a variable's present value in its own type, whatever scope it is read in.

    Args:
        variable: a keras variable.
    """
    with autocast(None):
        return tensorflow().convert_to_tensor(variable.value)


def replay(
    steps: Sequence[Step],
    inputs: Mapping[int, Any],
    masks: Mapping[int, Any],
    mapping: Sequence[tuple[Any, Any]],
    cast: str | None,
    context: Context,
    run: Callable[[dict[int, Any]], None] | None = None,
    stored: Mapping[int, Any] | None = None,
) -> Outcome:
    """Runs steps without any side effect.

    Args:
        steps: consecutive steps of a flat graph.
        inputs: what they read from before, by key.
        masks: masks of some of the inputs, by key.
        mapping: variables and the values that they have meanwhile.
        cast: the type that variables are cast to outside of layers.
        context: `training` and other arguments that the model hands to its layers.
        run: runs the steps in another way, given the inputs; it need not be known then whose the losses are.
        stored: tensors of the steps that are there already, by key.

    Returns:
        Their tensors, and what they would have changed.
    """
    values = dict(inputs)
    for key, mask in masks.items():
        attach_mask(values[key], mask)
    scope = recording_scope(mapping)
    losses: list[tuple[Any, Any]] = []
    with autocast(cast), scope:
        if run is not None:
            run(values)
            losses = [(None, loss) for loss in scope.losses]
        for step in steps if run is None else ():
            before = len(scope.losses)
            step.run(values, context)
            for key in step.makes:
                if stored and key in stored:
                    again, values[key] = values[key], standing_for(values[key], stored[key])
                    if mask_of(again) is not None:
                        attach_mask(values[key], mask_of(again))
            losses += [(step.operation, loss) for loss in scope.losses[before:]]
    known = {id(variable) for variable, _ in mapping}
    assigned = list(scope.assigned.values())
    return Outcome(
        values,
        [(variable, scope.get_current_value(variable)) for variable in assigned],
        losses,
        [variable for variable in assigned if id(variable) not in known],
    )


def variables_of(steps: Sequence[Step]) -> tuple[list[Any], list[Any]]:
    """Returns the variables of the steps' layers: those that are trained, and all others.

    Args:
        steps: steps of a flat graph.
    """
    trained: dict[int, Any] = {}
    others: dict[int, Any] = {}
    for step in steps:
        if step.enters or not hasattr(step.operation, "variables"):
            continue
        for variable in [*step.operation.variables, *getattr(step.operation, "metrics_variables", ())]:
            (trained if variable.trainable else others)[id(variable)] = variable
    return list(trained.values()), list(others.values())


def masks_of(values: Mapping[int, Any], keys: Sequence[int]) -> dict[int, Any]:
    """Returns the masks of tensors, by key.

    Args:
        values: tensors by key.
        keys: which ones to look at.
    """
    return {key: mask for key in keys if (mask := mask_of(values[key])) is not None}
