"""`sknc doctor` tells what was seen, not what is assumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sknc.doctor import examination as doctor

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str, before: str = "", **own: str) -> subprocess.CompletedProcess[str]:
    """Runs the command, after some code."""
    code = f"{before}\nimport sys; from sknc.cli import main; sys.exit(main(['doctor', *{list(arguments)!r}]))"
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "PYTHONPATH": str(ROOT), **own}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500, check=False)


def test_settings_are_tried_out(tmp_path: Path) -> None:
    done = run("--format", "json", TMPDIR=str(tmp_path), TF_ENABLE_ONEDNN_OPTS="1")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    checks = {check["name"]: check for check in said["checks"]}
    assert (said["schema"], said["can_train"]) == (1, True)
    for name in ("versions", "training", "memory statistics", "memory_limit", "BFC switch", "threads", "spill folder"):
        assert checks[name]["state"] == "works", checks[name]
    assert "default" in checks["allocator"]["found"]
    assert checks["growth"]["found"] == checks["workspace_limit"]["found"] == "no GPU"
    assert checks["XLA recomputation"]["state"] in ("works", "none")
    assert "held" in checks["XLA recomputation"]["found"]
    assert str(tmp_path) in checks["spill folder"]["found"]
    assert list(tmp_path.iterdir()) == []


NO_TENSORFLOW = """
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in ("tensorflow", "distributed") else found(name, *more)
"""


def test_without_tensorflow_it_names_the_extra() -> None:
    done = run(before=NO_TENSORFLOW)
    assert done.returncode == 2
    assert "tensorflow not installed" in done.stdout
    assert "pip install 'sknc[cpu]'" in done.stdout
    assert "pip install 'sknc[dask]'" in done.stdout
    assert "error: nothing can be trained here" in done.stderr


def test_an_installation_that_is_broken_cannot_train(tmp_path: Path) -> None:
    (tmp_path / "keras.py").write_text("raise ImportError('half of it is missing')", encoding="utf-8")
    done = run("--format", "json", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.returncode == 2, done.stdout
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["training"]["state"] == "broken"
    assert "half of it is missing" in checks["training"]["found"]


SEEN = {"refused": True, "counts_small": True, "at_once": 1, "made": "TF_CPU_BFC_MEM_LIMIT_IN_MB=64"}


@pytest.mark.parametrize(
    ("checks", "states"),
    [
        (doctor._limits(SEEN, gpu=False), ["works", "works"]),
        (doctor._limits({**SEEN, "refused": False, "counts_small": False}, gpu=False), ["none", "none"]),
        (doctor._limits({"failed": "RuntimeError: no"}, gpu=True), ["broken"]),
        ([doctor._threads({"at_once": 2}, SEEN), doctor._threads(SEEN, SEEN)], ["works", "none"]),
        ([doctor._threads({"failed": "x"}, SEEN)], ["unknown"]),
        ([doctor._xla({"peaks": [100, 50]}), doctor._xla({"peaks": [100, 95]})], ["works", "none"]),
        ([doctor._xla({"peaks": None}), doctor._xla({"failed": "no compiler"})], ["unknown", "unknown"]),
        ([doctor._statistics({"statistics": True}, {"peaks": None})], ["works"]),
        ([doctor._training({"backend": "jax"})], ["broken"]),
    ],
)
def test_what_was_seen_decides(checks: list[Any], states: list[str]) -> None:
    assert [check.state for check in checks] == states


def test_a_probe_that_hangs_is_no_reason_to_reinstall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_SECONDS", 0.01)
    found = doctor._training(doctor._probe("training", tmp_path))
    assert (found.state, found.hint.partition(";")[0]) == ("broken", "try again when the machine has less to do")


@pytest.mark.parametrize("by_file", [False, True])
def test_another_backend_is_told_though_it_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_file: bool
) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    if by_file:
        monkeypatch.delenv("KERAS_BACKEND", raising=False)
        (tmp_path / "keras.json").write_text('{"backend": "jax"}', encoding="utf-8")
    else:
        monkeypatch.setenv("KERAS_BACKEND", "jax")
    found = doctor._training({"failed": "ModuleNotFoundError: No module named 'jax'"})
    assert found.found == "Keras computes with jax, not with TensorFlow"
    assert "KERAS_BACKEND" in found.hint


def test_statistics_that_only_onednn_has_are_told() -> None:
    found = doctor._statistics({"statistics": False}, {"peaks": [2, 1]})
    assert (found.state, found.hint) == ("none", "set TF_ENABLE_ONEDNN_OPTS=1 to see peaks")
    assert not doctor._statistics({"statistics": False}, {"peaks": None}).hint


def test_a_spill_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    found = doctor._spill(tmp_path / "nowhere")
    assert found.state == "broken"
    assert "spill_folder" in found.hint
