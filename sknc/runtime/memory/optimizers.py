"""How many values an optimiser keeps for each trained parameter, by rule."""

from __future__ import annotations

from .errors import PlanError

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
