"""What the benchmarks say of a process that ends without a word."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


def test_a_child_that_was_killed_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("memory_accuracy", BENCH / "memory_accuracy.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    killed = subprocess.CompletedProcess([], -9, stdout="", stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: killed)
    assert module.run_child({"name": "mlp"}) is None
    assert capsys.readouterr().err == "mlp: its process ended with -9\n"
