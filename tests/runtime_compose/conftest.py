"""Programs of a folder, executed in this process one after the other."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from sknc import runtime
from sknc.runtime import context as contexts
from sknc.runtime import notes


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No block has begun, and programs find the runtime under the name that they import."""
    contexts.reset()
    notes._told.clear()
    monkeypatch.setitem(sys.modules, "skn_runtime", runtime)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SKN_PROGRESS", raising=False)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    yield
    contexts.reset()
