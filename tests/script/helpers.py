"""What the tests of reading and rewriting share: compile a text, look at what came out, run programs against stand-ins."""

# ruff: noqa: E501 - scripts are kept in one line

from __future__ import annotations

import builtins
import math
import tempfile
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sknc.diagnostics import Diagnostic
from sknc.pipeline import Compilation, compile_script

HEAD = """\
import os
import sys
import numpy as np
import keras
from keras import layers, ops
from keras.layers import *
x, y = np.random.rand(100, 20), np.random.randint(0, 10, 100)
"""
FIT = "model.compile('adam', 'sparse_categorical_crossentropy')\nmodel.fit(x, y)\n"


def compiled(
    text: str | bytes, submodels: int = 6, classes: int | None = None, compose: str | None = None
) -> Compilation:
    """Compile a script that is given as text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.py"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return compile_script(path, submodels, classes, compose)


def block(body: str, before: str = "", kind: str = "MULTICLASS", fit: str = FIT, after: str = "") -> str:
    """Write a script around a network: its data, its training, its markers."""
    return f"{HEAD}{before}#SKYNNET:BEGIN_{kind}\n{body}{fit}#SKYNNET:END\n{after}"


def dense(units: str) -> str:
    """Write a network with one hidden layer."""
    return f"model = keras.Sequential([keras.Input((20,)), Dense({units}, 'relu'), Dense(10, 'softmax')])\n"


def errors(made: Compilation) -> list[Diagnostic]:
    """Return the errors among the findings."""
    return [d for d in made.diagnostics if d.severity == "error"]


def program(made: Compilation, name: str = "submodel_00.py") -> str:
    """Return a program's text; the script has to be accepted."""
    assert not errors(made), [f"{d.code} line {d.span.line}: {d.message}" for d in errors(made)]
    for file, content in made.files.items():
        if file.endswith(".py"):
            compile(content, file, "exec")
    return made.files[name].decode("utf-8-sig")


def widths(made: Compilation, index: int = 0) -> list[list[Any]]:
    """Return the old and new widths of a submodel, in the order of its layers."""
    program(made)
    return list(made.blocks[0]["programs"][index]["widths"].values())


def line_of(text: str, part: str) -> int:
    """Return the 1-based line of a text in which a part stands first."""
    return text[: text.index(part)].count("\n") + 1


class _Anything:
    """Stands for whatever a script imports: takes every call, attribute and item."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Any:
        return self


class _Recorder:
    """Stands for keras and its layers: remembers the units that Dense is called with."""

    def __init__(self) -> None:
        self.units: list[Any] = []

    def module(self) -> types.SimpleNamespace:
        nothing = _Anything()
        layers = types.SimpleNamespace(Dense=self._dense)
        return types.SimpleNamespace(layers=layers, Sequential=nothing, Input=nothing, Model=nothing)

    def _dense(self, units: Any, *args: Any, **kwargs: Any) -> Any:
        self.units.append(units)
        return _Anything()


def _runtime() -> types.SimpleNamespace:
    def width(value: int, factor: float, multiple: int = 1) -> int:
        if value <= 2:
            return value
        return min(value, math.ceil(max(2, math.ceil(value / factor)) / multiple) * multiple)

    nothing = _Anything()
    return types.SimpleNamespace(
        width=width, fit=nothing, finish=nothing, begin=nothing, path=nothing, epochs=lambda e, f: math.ceil(e / f)
    )


def units_of(text: str, argv: Iterable[str] = ()) -> list[Any]:
    """Run a program of which only the widths matter, and return the units of its Dense layers.

    `keras` is a recorder, so that hundreds of programs can be run; `skn_runtime.width` is the rule of the paper.
    """
    recorder = _Recorder()
    keras = recorder.module()
    modules: dict[str, Any] = {
        "keras": keras,
        "keras.layers": keras.layers,
        "sys": types.SimpleNamespace(argv=["train.py", *argv]),
        "skn_runtime": _runtime(),
    }

    def load(name: str, scope: Any = None, local: Any = None, parts: Any = (), level: int = 0) -> Any:
        if name in modules:
            return modules[name] if parts else modules[name.partition(".")[0]]
        return builtins.__import__(name, scope, local, parts, level)

    scope = {"__builtins__": {**vars(builtins), "__import__": load}, "__name__": "__main__", "__file__": "train.py"}
    exec(compile(text, "train.py", "exec"), scope)
    return recorder.units
