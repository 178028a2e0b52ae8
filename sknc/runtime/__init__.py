"""What every program that sknc writes imports as `skn_runtime`.

The package is copied as it is beside the programs, so it imports nothing but the standard library,
numpy, keras and tensorflow, and the last two only when they are needed.
"""

from __future__ import annotations

import importlib
from typing import Any

from .context import begin, begin_original
from .errors import BuildOnly, EmptyShareError, LabelError, ProgramError

# Found on first use: the composing and training halves import keras.
_LATER = {
    "begin_composed": "compose",
    "composed": "compose",
    "trained": "compose",
    "end": "compose",
    "evaluate": "evaluating",
    "fit": "training",
    "finish": "training",
    "build_only": "building",
    "path": "paths",
    "exists": "restoring",
    "load_model": "restoring",
    "load_weights": "restoring",
    "load": "paths",
    "width": "sizes",
    "units": "sizes",
    "epochs": "sizes",
    "patch_shape": "sizes",
    "generator_classes": "data.classes",
}

__all__ = [
    "BuildOnly",
    "EmptyShareError",
    "LabelError",
    "ProgramError",
    "begin",
    "begin_composed",
    "begin_original",
    "build_only",
    "composed",
    "end",
    "epochs",
    "evaluate",
    "exists",
    "finish",
    "fit",
    "generator_classes",
    "load",
    "load_model",
    "load_weights",
    "patch_shape",
    "path",
    "trained",
    "units",
    "width",
]


def __getattr__(name: str) -> Any:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
