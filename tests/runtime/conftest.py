"""Programs in one process: each test begins its blocks anew, in a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from sknc.runtime import context as contexts
from sknc.runtime import notes
from tests.runtime.helpers import CLASSES, TOTAL


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No block has begun, nothing was told, and the working folder is empty."""
    contexts.reset()
    notes._told.clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SKN_PROGRESS", raising=False)
    yield
    contexts.reset()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program file in an output folder."""
    place = tmp_path / "split" / "submodel_00.py"
    place.parent.mkdir()
    place.write_text("# a program\n", encoding="utf-8")
    return place


@pytest.fixture
def begin(program: Path) -> Callable[..., contexts.Context]:
    """Begins a block: multiclass with CLASSES of TOTAL unless told otherwise."""

    def start(**share: Any) -> contexts.Context:
        chosen = share or {"kind": "multiclass", "of": TOTAL, "classes": list(CLASSES)}
        return contexts.begin(str(program), block=chosen.pop("block", 0), **chosen)

    return start


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    """Sixty rows, ten of each class, whose first input is the row number and second the class."""
    y = np.arange(60) % TOTAL
    x = np.stack([np.arange(60), y, np.ones(60), np.zeros(60)], axis=1).astype("float32")
    return x, y
