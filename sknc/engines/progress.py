"""What a program says about itself while it trains: one JSON line per event, in a file that only grows."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# A line is a few hundred bytes; whatever is longer than this without a line end is not a line of ours.
_LONGEST = 1 << 16


class Tail:
    """Reads the new lines of a growing file.

    Args:
        path: the file; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""

    def read(self) -> list[dict[str, Any]]:
        """Return the events since the last call; lines that are no events are left out."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return []
        self._offset += len(data)
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest if len(rest) <= _LONGEST else b""
        return [event for event in map(_event, lines) if event is not None]


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(line)
    except ValueError:
        return None
    return said if isinstance(said, dict) and isinstance(said.get("event"), str) else None


@dataclasses.dataclass
class Progress:
    """Where a program is in its training; `apply` takes one event after another.

    `fraction` is of the training that is running (a program may train more than once).
    """

    epoch: int = 0
    epochs: int = 0
    fraction: float = 0.0
    loss: float | None = None
    metrics: dict[str, float] = dataclasses.field(default_factory=dict)
    parameters: int | None = None
    done: bool = False
    first: tuple[float, float] | None = None
    last: tuple[float, float] | None = None

    def apply(self, event: Mapping[str, Any]) -> None:
        """Take one event.

        Args:
            event: a line of the progress file; keys that are missing or odd are left alone.
        """
        kind = event["event"]
        now = _number(event.get("time"))
        if kind == "start":
            self.epoch, self.fraction, self.loss, self.first, self.last = 0, 0.0, None, None, None
            self.metrics.clear()
            self.parameters = _whole(event.get("parameters")) or self.parameters
        self.epochs = _whole(event.get("epochs")) or self.epochs
        if kind in ("epoch", "batch"):
            self._measure(kind, event)
            if now is not None:
                self.last = (now, self.fraction)
                self.first = self.first or self.last
        elif kind == "done":
            self.done = True

    def _measure(self, kind: str, event: Mapping[str, Any]) -> None:
        epoch = _whole(event.get("epoch")) or self.epoch
        loss = _number(event.get("loss"))
        self.loss = loss if loss is not None else self.loss
        said = event.get("metrics")
        if isinstance(said, Mapping):
            found = {str(name): _number(value) for name, value in said.items()}
            self.metrics.update({name: value for name, value in found.items() if value is not None})
        self.epoch = epoch
        if self.epochs:
            step, steps = _whole(event.get("step")), _whole(event.get("steps"))
            inside = min(1.0, step / steps) if kind == "batch" and step and steps else 0.0
            complete = epoch if kind == "epoch" else max(0, epoch - 1)
            self.fraction = max(self.fraction, min(1.0, (complete + inside) / self.epochs))

    def seconds_left(self, now: float | None = None) -> float | None:
        """Return the seconds that the running training still needs at its pace since its first step, or None.

        Args:
            now: the time; the last event's when None.
        """
        # The first step compiles the network; at its pace the rest would seem to take for ever.
        if self.first is None or self.last is None:
            return None
        passed, done = self.last[0] - self.first[0], self.last[1] - self.first[1]
        if passed <= 0 or done <= 0:
            return None
        since = 0.0 if now is None else max(0.0, now - self.last[0])
        return max(0.0, (1.0 - self.last[1]) * passed / done - since)

    def accuracy(self) -> float | None:
        """Return the first measure that is an accuracy, on the validation data when there is one."""
        names = sorted(self.metrics, key=lambda name: not name.startswith("val_"))
        return next((self.metrics[name] for name in names if is_accuracy(name)), None)


def is_accuracy(name: str) -> bool:
    """Tell whether a measure of Keras is an accuracy, by its name ("val_acc", "binary_accuracy")."""
    bare = name.removeprefix("val_")
    return bare == "acc" or bare.endswith("accuracy")


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def _whole(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number >= 0 else None
