"""What the user's code evaluates and predicts in the block: the best hint at the data to measure on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..context import Context


@dataclass
class Use:
    """One call of evaluate or predict.

    Args:
        x: Its data.
        y: Its targets, or None.
        returned: What the call returned; kept for evaluate only.
    """

    x: Any
    y: Any = None
    returned: Any = None


@dataclass
class Seen:
    """The calls of a block, in their order; none while `paused`."""

    evaluated: list[Use] = field(default_factory=list)
    predicted: list[Use] = field(default_factory=list)
    paused: bool = False


def seen(context: Context) -> Seen:
    """Return what a block's code has done with its model so far.

    Args:
        context: The block.

    Returns:
        The record, the same object at each call.
    """
    record: Seen = vars(context).setdefault("_seen", Seen())
    return record


def watch(model: Any, context: Context) -> None:
    """Note down the data of every later evaluate and predict of a model.

    The methods are replaced on this object only, so that its class, and with it a saved file, stays Keras's own.

    Args:
        model: The model.
        context: The block that it belongs to.
    """
    if "predict" in vars(model):
        return
    record = seen(context)
    model.evaluate = _noting(model.evaluate, record, keep=True)
    model.predict = _noting(model.predict, record, keep=False)


@contextmanager
def unwatched(context: Context) -> Iterator[None]:
    """Note nothing down meanwhile: training evaluates its validation data by itself, callbacks may predict.

    Args:
        context: The block.
    """
    record = seen(context)
    record.paused = True
    try:
        yield
    finally:
        record.paused = False


def _noting(method: Callable[..., Any], record: Seen, *, keep: bool) -> Callable[..., Any]:
    @functools.wraps(method)
    def noting(*args: Any, **kwargs: Any) -> Any:
        returned = method(*args, **kwargs)
        if record.paused:
            return returned
        x = args[0] if args else kwargs.get("x")
        y = args[1] if keep and len(args) > 1 else kwargs.get("y")
        calls = record.evaluated if keep else record.predicted
        calls.append(Use(x, y, returned if keep else None))
        return returned

    return noting
