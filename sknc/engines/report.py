"""What a run has come to: one row per program. Filled while it runs, shown and stored by `sknc.report`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from sknc.engines.base import Outcome
from sknc.engines.folder import Block, Program, Split, read_json
from sknc.engines.logs import Place, tail, users_line
from sknc.engines.progress import is_accuracy

RowStatus = Literal["waiting", "running", "finished", "failed", "stopped"]
RunStatus = Literal["running", "finished", "failed", "stopped"]
_RECORD = "run.json"


@dataclasses.dataclass
class Row:
    """A program of the run. `reused`: finished by an earlier run. `seconds` is its training's time.

    `accuracy` and `loss` of a submodel are of its own task, on its validation data when it has some. `no_room` is
    of the last attempt that the device had no room for, `sknc.engines.room.shortage`.
    """

    program: Program
    status: RowStatus = "waiting"
    attempts: int = 0
    threads: int = 0
    reused: bool = False
    seconds: float | None = None
    parameters: int | None = None
    peak_bytes: int | None = None
    planned_bytes: int | None = None
    moved_bytes: int | None = None
    planned_moved_bytes: int | None = None
    accuracy: float | None = None
    loss: float | None = None
    reason: str = ""
    tail: list[str] = dataclasses.field(default_factory=list)
    place: Place | None = None
    no_room: Mapping[str, Any] | None = None

    @property
    def file(self) -> str:
        """The program's name."""
        return self.program.task.name

    def take_result(self, said: Mapping[str, Any]) -> None:
        """Take what the program wrote about its training: result.json, with the last epoch's measures."""
        self.status = "finished"
        self.seconds = number(said.get("seconds"))
        self.parameters = _whole(said.get("parameters"))
        self.peak_bytes = _whole(said.get("peak_bytes"))
        self.planned_bytes = _whole(said.get("planned_bytes"))
        self.moved_bytes = _whole(said.get("moved_bytes"))
        self.planned_moved_bytes = _whole(said.get("planned_moved_bytes"))
        measures = said.get("metrics")
        last = measures if isinstance(measures, Mapping) else {}
        self.accuracy = _first(said.get("accuracy"), *_accuracies(last))
        self.loss = _first(said.get("loss"), last.get("val_loss"), last.get("loss"))


@dataclasses.dataclass
class Report:
    """A run on a folder. `composed` is what the composer wrote: measures, or one entry per block."""

    split: Split
    rows: list[Row]
    composer: list[Row]
    original: Row | None
    status: RunStatus = "running"
    composed: dict[str, Any] = dataclasses.field(default_factory=dict)
    original_said: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def failures(self) -> list[Row]:
        """The rows that failed, in the order of the report."""
        return [row for row in self.all_rows if row.status == "failed"]

    @property
    def all_rows(self) -> list[Row]:
        """Submodels, composers, the original."""
        return [*self.rows, *self.composer, *([self.original] if self.original else [])]

    def rows_of(self, block: Block) -> list[Row]:
        """The rows of a block's submodels."""
        return [row for row in self.rows if row.program.task.block == block.index]

    def row(self, file: str) -> Row:
        """The row of a program."""
        return next(row for row in self.all_rows if row.file == file)


def begin(split: Split, baseline: bool) -> Report:
    """Return the report of a run that has not done anything yet.

    Args:
        split: the folder.
        baseline: whether the original is trained as well.
    """
    original = Row(split.original) if baseline and split.original is not None else None
    rows = [Row(program) for program in split.submodels]
    return Report(split, rows, [Row(program) for program in split.composers], original)


def take_outcome(row: Row, outcome: Outcome, source: str) -> None:
    """Take how an attempt ended.

    Args:
        row: the program's row.
        outcome: from the engine.
        source: name of the user's script.
    """
    row.status, row.attempts, row.threads = outcome.status, outcome.attempts, outcome.threads
    row.reason = outcome.reason
    row.no_room = outcome.no_room or row.no_room
    if outcome.status == "finished":
        said = read_json(outcome.task.result)
        if said is not None and outcome.task.role != "composer":
            row.take_result(said)
        row.seconds = row.seconds if row.seconds is not None else outcome.seconds
    else:
        row.seconds = outcome.seconds
    if outcome.status == "failed":
        row.tail = tail(outcome.task.log, outcome.log_start)
        # Frames of TensorFlow can push the user's out of what is shown.
        longer = tail(outcome.task.log, outcome.log_start, lines=2000)
        row.place = users_line(longer, outcome.task.program, row.program.lines, source)


def take_earlier(row: Row, said: Mapping[str, Any]) -> None:
    """Take a program that an earlier run has finished; attempts and threads are in that run's record."""
    row.take_result(said)
    row.reused = True
    record = read_json(row.program.task.home / _RECORD) or {}
    row.attempts = _whole(record.get("attempts")) or 1
    row.threads = _whole(record.get("threads")) or 0
    no_room = record.get("no_room")
    row.no_room = no_room if isinstance(no_room, Mapping) else None


def record_path(home: Path) -> Path:
    """Where a run notes how a program was run (attempts, threads), beside the program's own result."""
    return home / _RECORD


def number(value: object) -> float | None:
    """Return a number from JSON, or None when it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def _whole(value: object) -> int | None:
    found = number(value)
    return None if found is None else int(found)


def _first(*values: object) -> float | None:
    return next((found for found in map(number, values) if found is not None), None)


def _accuracies(measures: Mapping[str, Any]) -> list[Any]:
    names = sorted((name for name in measures if is_accuracy(name)), key=lambda n: not n.startswith("val_"))
    return [measures[name] for name in names]
