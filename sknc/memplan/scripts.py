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
import numpy as np

from sknc.memplan.child import Answer, accounted
from sknc.memplan.reports import report_for
from sknc.memplan.request import Request
from sknc.memplan.usercode import call_user
from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.tensorflow import ModelSubjects

DEFAULT_BATCH = 32
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
        data: bytes of the arrays that `fit` copies to the device.
    """

    model: Any
    batch: int
    shape: Any
    data: int


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
    shape = request.input_shape or (None if getattr(start.model, "inputs", None) else start.shape)
    subjects = ModelSubjects(start.model, target, request.optimizer, request.allocator, shape, start.data, (NOTE,))
    answer({"report": report_for(request.with_batch(start.batch), accounted(request, subjects), tell)})


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
    x = found.call.get("x")
    arrays = [value for value in keras.tree.flatten([x, found.call.get("y")]) if isinstance(value, np.ndarray)]
    batch = found.call.get("batch_size")
    spec = getattr(x, "element_spec", None)
    if spec is not None:
        x = spec[0] if isinstance(spec, tuple) else spec
        batch = keras.tree.flatten(x)[0].shape[0] or batch
    elif x is not None and hasattr(x, "__getitem__") and hasattr(x, "__len__") and not _held(x):
        first = x[0]
        x = first[0] if isinstance(first, tuple) else first
        batch = len(keras.tree.flatten(x)[0])
    return Start(found.model, int(batch or DEFAULT_BATCH), _shapes(x), sum(map(copied_bytes, arrays)))


def _held(x: Any) -> bool:
    """Whether data are arrays, or arrays in a structure, and no source that hands out batches."""
    return isinstance(x, (list, tuple, dict)) or hasattr(x, "shape")


def _shapes(x: Any) -> Any:
    """The inputs of a batch as symbols in their structure; None where their shapes are not known."""
    parts = keras.tree.flatten(x)
    if not parts or not all(hasattr(part, "shape") and hasattr(part, "dtype") and part.shape for part in parts):
        return None
    if any(size is None for part in parts for size in part.shape[1:]):
        return None

    def symbol(part: Any) -> Any:
        dtype = keras.backend.standardize_dtype(getattr(part.dtype, "name", part.dtype))
        # Keras hands floats over in its own type.
        return keras.KerasTensor((None, *part.shape[1:]), dtype=keras.backend.floatx() if "float" in dtype else dtype)

    return keras.tree.map_structure(symbol, x)


def copied_bytes(array: Any) -> int:
    """Bytes of an array after `fit` has copied it: floats become the default float type."""
    floating = np.issubdtype(array.dtype, np.floating)
    width: int = np.dtype(keras.backend.floatx()).itemsize if floating else array.itemsize
    return int(array.size) * width
