"""`trained`: what stands in the composer for the script's fit."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import keras

from .. import artifacts
from ..arguments import named_arguments
from ..context import current, session
from ..errors import ProgramError
from .state import Composition

Metrics = dict[str, list[float]]


def trained(model: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the history of a training that the submodels had.

    Args:
        model: The composed model.
        *args: What the script passes to `fit`; remembered, because the measures may need the data.
        **kwargs: The same, by name.

    Returns:
        A keras.callbacks.History whose values are the submodels' mean, epoch by epoch.

    Raises:
        ProgramError: No model was composed.
    """
    context = current()
    if not isinstance(context, Composition) or context.model is None:
        raise ProgramError("trained() comes after composed(): there is no composed model yet")
    context.last_call = named_arguments(args, kwargs)
    stored = [_stored(program.path) for program in context.programs]
    history = keras.callbacks.History()
    history.history = mean_history([metrics for metrics, _ in stored])
    history.epoch = list(range(max((count for _, count in stored), default=0)))
    history.set_model(model)
    history.set_params({"verbose": 0, "epochs": len(history.epoch), "steps": None})
    model.history = history
    context.history, context.epochs = history.history, history.epoch
    if len(stored) > 1 and not session().build and not vars(context).get("_told"):
        vars(context)["_told"] = True
        sys.stderr.write(f"skynnet: the history is the mean of {len(stored)} submodels, epoch by epoch\n")
    return history


def mean_history(histories: Sequence[Metrics]) -> Metrics:
    """Return the mean of several histories.

    Args:
        histories: Values by metric, one for each epoch. Lengths may differ (early stopping), and metrics too.

    Returns:
        For each metric and epoch the mean over the histories that have a number there.
    """
    found: Metrics = {}
    for name in dict.fromkeys(name for metrics in histories for name in metrics):
        columns = [metrics[name] for metrics in histories if name in metrics]
        found[name] = []
        for epoch in range(max(len(values) for values in columns)):
            there = [values[epoch] for values in columns if epoch < len(values) and values[epoch] is not None]
            found[name].append(sum(there) / len(there) if there else float("nan"))
    return found


def _stored(program: Any) -> tuple[Metrics, int]:
    """Read a submodel's history: metrics, and number of epochs."""
    path = artifacts.folder(program) / artifacts.HISTORY
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # A loaded, not trained, submodel has no history; that is no reason to have no composition.
        return {}, 0
    return value.get("history", {}), len(value.get("epoch", []))
