"""Under a hard limit of the allocator, a network that plain Keras cannot train is trained."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from sknc.runtime.errors import ProgramError
from sknc.runtime.measuring import peak_bytes, reset_peak
from sknc.runtime.memory.execute.configure import configure
from sknc.runtime.memory.execute.keeper import fit_in_memory
from sknc.runtime.memory.execute.monitor import COLUMNS, MemoryMonitor
from sknc.runtime.memory.execute.spill import PREFIX

ROOT = Path(__file__).resolve().parents[2]
LIMIT, BLOCKS = 80, 12
# How a process ends that writes where it was given no memory.
ENDED = (signal.SIGABRT, signal.SIGBUS, signal.SIGSEGV)


def run(how: str, folder: Path) -> dict[str, Any]:
    """Trains in a process of its own."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "tests.memory_runtime.hard_limit", how, str(LIMIT), str(BLOCKS)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    if -done.returncode in ENDED:
        # Without room TensorFlow's convolutions sometimes end the process instead of raising.
        return {"failed": f"signal {-done.returncode}"}
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_a_net_that_plain_keras_cannot_train_is_trained(tmp_path: Path) -> None:
    assert "failed" in run("plain", tmp_path)
    ours = run("ours", tmp_path)
    assert "failed" not in ours, ours
    assert ours["made"] == {"memory_limit": f"TF_CPU_BFC_MEM_LIMIT_IN_MB={LIMIT}"}
    assert len(ours["losses"]) == 3
    assert ours["planned"] <= LIMIT * 2**20 and ours["peak"] <= min(LIMIT * 2**20, 1.1 * ours["planned"])
    assert not list(tmp_path.glob(f"{PREFIX}*"))


def test_configuring_too_late_says_where_it_belongs() -> None:
    tf.constant(1.0)
    with pytest.raises(ProgramError, match="right after the imports"):
        configure(memory_limit="1GiB")


def test_the_monitor_writes_a_line_an_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = keras.Sequential([keras.Input((512,)), layers.Dense(512), layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)
    fit_in_memory(model, "1GiB", 512)
    x = np.ones((512, 512), "float32")
    monitor = MemoryMonitor(tmp_path / "logs" / "memory.csv", tmp_path / "board")

    def much(batch: int, logs: Any) -> None:
        if not monitor.rows:
            # More than other tests leave behind in this process.
            tf.zeros((768 * 2**18,))

    gc.collect()
    reset_peak()
    large = keras.callbacks.LambdaCallback(on_train_batch_begin=much)
    model.fit(x, x[:, :1], batch_size=512, epochs=2, verbose=0, callbacks=[monitor, large])
    peaks = [row["peak_bytes"] for row in monitor.rows]
    assert peak_bytes() == peaks[0] > 768 * 2**20 > peaks[1], "the training's peak is not the last epoch's"
    lines = (tmp_path / "logs" / "memory.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == ",".join(COLUMNS)
    assert [line.split(",")[0] for line in lines[1:]] == ["1", "2"]
    assert all(int(line.split(",")[1]) > x.nbytes for line in lines[1:])
    (events,) = (tmp_path / "board").iterdir()
    shown = [value.tag for event in tf.compat.v1.train.summary_iterator(str(events)) for value in event.summary.value]
    names = ["peak_bytes", "planned_bytes", "moved_bytes", "planned_moved_bytes"]
    assert shown == [f"memory/{name}" for name in names] * 2

    def no_statistics(_: str) -> Any:
        raise ValueError("no statistics here")

    monkeypatch.setattr(tf.config.experimental, "get_memory_info", no_statistics)
    model.fit(x, x[:, :1], batch_size=512, epochs=1, verbose=0, callbacks=[monitor])
    lines = (tmp_path / "logs" / "memory.csv").read_text(encoding="utf-8").splitlines()
    assert lines[1].startswith("1,unknown,")
