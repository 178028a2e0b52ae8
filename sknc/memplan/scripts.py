"""Scripts: run up to where training would start; model, batch size and data are taken from there."""

from __future__ import annotations

import inspect
import os
import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras

from sknc.memplan.child import Answer, whole_report
from sknc.memplan.request import Request
from sknc.memplan.usercode import call_user
from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.feeds import DEFAULT_BATCH, feed_of, resident_bytes, symbols
from sknc.runtime.memory.tensorflow import ModelSubjects
from sknc.runtime.memory.tracing import says_shapes

NOTE = "the script was run up to its first fit, in a process of its own; its weights and its data were made"


class TrainingWouldStart(BaseException):
    """Leaves a script where it would train; no `Exception`, so that the script does not catch it.

    Args:
        model: the model.
        call: fit's arguments by name.
    """

    def __init__(self, model: Any, call: dict[str, Any]) -> None:
        super().__init__("training would start")
        self.model = model
        self.call = call


@dataclass(frozen=True, slots=True)
class Start:
    """What a script would train.

    Attributes:
        model: the compiled model.
        batch: its batch size.
        shape: the inputs as symbols, where the data say their shapes.
        data: bytes of the arrays that `fit` copies to the device, as the allocator counts them.
        notes: what the user should know about it.
    """

    model: Any
    batch: int
    shape: Any
    data: int
    notes: tuple[str, ...] = ()


def plan_script(request: Request, name: str, answer: Callable[[Answer], None], tell: Callable[[str], None]) -> None:
    """Plan what a script trains.

    Args:
        request: the options.
        name: the script.
        answer: takes the answer.
        tell: is told how far a long search is.

    Raises:
        PlanError: when the script ends without training.
        UserCodeFailed: when the script raises before.
    """
    start = run_to_fit(name)
    target = name if Path(request.target).is_dir() else request.target
    shape = request.input_shape or (None if says_shapes(start.model) else start.shape)
    subjects = ModelSubjects(start.model, target, request.optimizer, request.allocator, shape, start.data, start.notes)
    answer({"report": whole_report(request.with_batch(start.batch), subjects, tell)})


def run_to_fit(name: str) -> Start:
    """Run a script until a model's `fit` is called.

    Args:
        name: the script.

    Returns:
        What it would train.

    Raises:
        PlanError: when it ends without training.
        UserCodeFailed: when it raises before.
    """
    fit = keras.Model.fit
    names = inspect.signature(fit)

    def stop(model: Any, *args: Any, **kwargs: Any) -> None:
        raise TrainingWouldStart(model, dict(names.bind(model, *args, **kwargs).arguments))

    keras.Model.fit = stop
    path = Path(name).resolve()
    sys.argv[:] = [str(path)]
    sys.path.insert(0, str(path.parent))
    folder = os.getcwd()
    try:
        call_user(f"'{name}'", lambda: runpy.run_path(str(path), run_name="__main__"))
    except TrainingWouldStart as found:
        return start_of(found)
    finally:
        keras.Model.fit = fit
        os.chdir(folder)
    raise PlanError(f"'{name}' ended without calling fit: there is nothing to plan")


def start_of(found: TrainingWouldStart) -> Start:
    """Batch size, shapes and data from the arguments of `fit`."""
    # Nobody trains here any more: what is drawn from a data set is missed by nobody.
    feed = feed_of((), found.call, draw=True)
    notes = () if feed.batch else (f"nothing says how large the batches are: {DEFAULT_BATCH} samples; --batch says it",)
    return Start(
        found.model, feed.batch or DEFAULT_BATCH, symbols(feed.x), resident_bytes((), found.call), (NOTE, *notes)
    )
