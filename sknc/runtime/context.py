"""Blocks that a program has begun: what it trains, and what became of it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import artifacts, tracebacks
from .data.shares import Share, make_share
from .errors import ProgramError

PROGRESS = "SKN_PROGRESS"


@dataclass
class Context:
    """One block of one program.

    Args:
        program: absolute path of the program.
        block: the block's index in the script.
        share: what this program has of the block's task.
        mode: "submodel", "original" or "composed".
        measures: "acc" and "loss", as the marker asks for.
        folder: the program's artifacts.
        model: the model that was trained last.
        fitted: whether it was trained, rather than loaded.
        restored: whether something was read from a file that this program wrote.
        fits: for each call of `fit` its rows and steps, where they are known.
        history: metrics by name over all epochs of all fits.
        label_map: how labels name the classes, a `data.labels.LabelMap`.
        generator_classes: whether the script's generator was called with this submodel's classes.
        crop: [[top, bottom], [left, right]] that is cut off the model's output, or None.
        uncropped: shape of the output that it is cut off from.
        inputs: shape and type of the inputs that were trained on, in their container; None where not known.
        budget: bytes that the training may hold on its device, or None.
        last_call: the arguments of the original's last `fit`, by name.
        results: more entries for result.json.
    """

    program: Path
    block: int
    share: Share
    mode: str
    measures: tuple[str, ...] = ()
    folder: Path = Path()
    model: Any = None
    fitted: bool = False
    restored: bool = False
    fits: list[dict[str, Any]] = field(default_factory=list)
    history: dict[str, list[Any]] = field(default_factory=dict)
    epochs: list[int] = field(default_factory=list)
    seconds: float = 0.0
    peak_bytes: int | None = None
    label_map: Any = None
    generator_classes: bool = False
    crop: Any = None
    uncropped: Any = None
    inputs: Any = None
    budget: int | str | None = None
    last_call: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    @property
    def out(self) -> Path:
        """The folder for what the user's code writes."""
        return self.folder / artifacts.OUT


@dataclass
class Session:
    """The blocks of one execution of a program text.

    Args:
        build: whether the text is executed only up to the point where its model would train.
    """

    build: bool = False
    blocks: dict[tuple[str, int], Context] = field(default_factory=dict)
    current: Context | None = None


_sessions: list[Session] = [Session()]


def session() -> Session:
    """Returns the session of the program text that is being executed."""
    return _sessions[-1]


@contextmanager
def new_session(*, build: bool) -> Iterator[Session]:
    """Executes another program text inside this process, apart from the blocks begun so far.

    Args:
        build: see `Session`.
    """
    inner = Session(build=build)
    _sessions.append(inner)
    try:
        yield inner
    finally:
        _sessions.remove(inner)


def reset() -> None:
    """Forgets every block; for tests, where many programs share a process."""
    _sessions[:] = [Session()]


def open_block(context: Context) -> Context:
    """Makes a block the current one.

    Args:
        context: a block that was not begun before in this execution.

    Returns:
        The same context.

    Raises:
        ProgramError: the block was begun before.
    """
    here = session()
    key = (str(context.program), context.block)
    if key in here.blocks:
        raise ProgramError(
            f"block {context.block} of {context.program.name} began a second time; a block must run once",
            "a loop around a block (k-fold validation, repeated trials) cannot be split; "
            "put the loop into a shell script that runs the program once per fold",
        )
    here.blocks[key] = context
    here.current = context
    if not here.build:
        tracebacks.install(context.program)
        event("begin", file=context.program.name, block=context.block, mode=context.mode)
    return context


def begin(
    file: str,
    *,
    block: int,
    kind: str,
    of: int | None = None,
    classes: Sequence[int] | None = None,
    half: int | None = None,
    part: Sequence[int] | None = None,
    grid: Sequence[int] | None = None,
    labels: bool = False,
    whole: bool = False,
    budget: int | str | None = None,
) -> Context:
    """Begins the block that this submodel program trains.

    Args:
        file: the program's `__file__`.
        block: the block's index.
        kind: multiclass, binary, regression or local_regression.
        of: multiclass: the number of classes; binary: 2.
        classes: multiclass: ids of this submodel's classes.
        half: binary: 0 or 1.
        part: regression: [index, number of parts].
        grid: regression: [rows, columns] of patches.
        labels: the regression is over the labels of a multilabel target.
        whole: no selection at all.
        budget: bytes (or "8GiB") that the training may hold on its device; None sets no bound.

    Returns:
        The block's context.

    Raises:
        ProgramError: the arguments do not fit together, or the block was begun before.
    """
    share = make_share(kind, of=of, classes=classes, half=half, part=part, grid=grid, labels=labels, whole=whole)
    program = Path(file).absolute()
    place = artifacts.folder(program)
    return open_block(Context(program, block, share, "submodel", folder=place, budget=budget))


def begin_original(
    file: str,
    *,
    block: int,
    kind: str,
    of: int | None = None,
    measures: Sequence[str] = (),
    labels: bool = False,
) -> Context:
    """Begins a block of the original script, trained whole to compare with.

    Args:
        file: the program's `__file__`.
        block: the block's index.
        kind: multiclass, binary, regression or local_regression.
        of: the number of classes.
        measures: "acc" and "loss", as the marker asks for.
        labels: whether the targets are labels of a multilabel task.

    Returns:
        The block's context.

    Raises:
        ProgramError: the kind is unknown, or the block was begun before.
    """
    share = make_share(kind, of=of, labels=labels, whole=True)
    program = Path(file).absolute()
    place = artifacts.folder(program)
    return open_block(Context(program, block, share, "original", tuple(measures), place))


def current() -> Context:
    """Returns the block that was begun last.

    Raises:
        ProgramError: no block was begun.
    """
    found = session().current
    if found is None:
        raise ProgramError("no block has begun: skn_runtime.begin(...) comes first")
    return found


def event(name: str, **values: Any) -> None:
    """Appends a line of JSON to the file that SKN_PROGRESS names, for the engine that watches.

    Args:
        name: begin, start, batch, epoch or done.
        values: what `artifacts.plain` accepts.
    """
    target = os.environ.get(PROGRESS)
    if not target:
        return
    line = json.dumps({"event": name, **artifacts.plain(values), "time": time.time()})
    try:
        with open(target, "a", encoding="utf-8") as stream:
            stream.write(line + "\n")
    except OSError:
        # Progress is a courtesy: a full disk or a removed file must not end a training.
        return
