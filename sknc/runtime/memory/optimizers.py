"""How many values an optimiser keeps for each trained parameter, by rule, and what plans call it."""

from __future__ import annotations

import inspect
from typing import Any

from .errors import PlanError

# What a model is planned with that is not compiled yet.
DEFAULT_OPTIMIZER = "adam"

# Copies of each trainable parameter. Adafactor is left out: it keeps a row and a column of each matrix.
SLOTS = {
    "sgd": 0,
    "momentum": 1,
    "rmsprop": 1,
    "adagrad": 1,
    "lion": 1,
    "adadelta": 2,
    "adam": 2,
    "adamw": 2,
    "adamax": 2,
    "nadam": 2,
    "ftrl": 2,
}


def optimizer_slots(name: str) -> int:
    """Copies of the trainable parameters that an optimiser keeps.

    Args:
        name: a Keras optimiser's name in any case, or 'momentum' for SGD with momentum.

    Returns:
        The number of copies.

    Raises:
        PlanError: when the name is unknown.
    """
    key = name.lower()
    if key not in SLOTS:
        raise PlanError(f"no optimizer '{name}'; there are {', '.join(SLOTS)}")
    return SLOTS[key]


def optimizer_name(optimizer: Any) -> str:
    """Returns what a plan says of an optimiser: its kind, as its numbered name differs from run to run.

    Settings say how many values it keeps for each weight, such as SGD's momentum; those that are not the usual ones
    are part of it. The learning rate is not.

    Args:
        optimizer: a keras optimiser, what a plan says of one, or None for the default.
    """
    if optimizer is None or isinstance(optimizer, str):
        return optimizer or DEFAULT_OPTIMIZER.capitalize()
    inner = getattr(optimizer, "inner_optimizer", None)
    if inner is not None:
        return f"{type(optimizer).__name__}({optimizer_name(inner)})"
    usual = inspect.signature(type(optimizer).__init__).parameters
    given = optimizer.get_config()
    told = [
        f"{name}={given[name]!r}"
        for name, parameter in usual.items()
        if name in given and name not in ("name", "learning_rate") and given[name] != parameter.default
    ]
    return f"{type(optimizer).__name__}({', '.join(told)})" if told else type(optimizer).__name__
