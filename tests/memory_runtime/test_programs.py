"""`sknc split --budget`: the program plans, keeps its plan, trains within it, and says what it held."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import sknc

SCRIPT = """
import keras
import numpy as np
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D

keras.utils.set_random_seed(0)
#SKYNNET:BEGIN_MULTICLASS_ACC
x = np.random.default_rng(0).normal(size=(64, 32, 32, 3)).astype("float32")
y = keras.utils.to_categorical(np.arange(64) % 4, 4)
model = keras.Sequential([
    Input((32, 32, 3)),
    Conv2D(16, 3, padding="same", activation="relu"),
    Conv2D(16, 3, padding="same", activation="tanh"),
    Conv2D(16, 3, padding="same", activation="relu"),
    Conv2D(16, 3, padding="same", activation="tanh"),
    MaxPooling2D(4),
    Flatten(),
    Dense(4, activation="softmax"),
])
model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=32, epochs=2, verbose=0)
score = model.evaluate(x, y, verbose=0)
#SKYNNET:END
"""


ACTIVATION = 32 * 32 * 32 * 16 * 4


def spilling(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan with the second convolution's input on disk."""
    (other, *_) = plan["segments"]
    plain = {**other, "steps": 1, "written_bytes": 0, "read_bytes": 0, "kept": [], "parts": []}
    away = {"mode": "spill", "inputs": "disk", "written_bytes": ACTIVATION, "read_bytes": ACTIVATION}
    segments = [
        {**plain, "first": "conv2d", "last": "conv2d", "mode": "recompute"},
        {**plain, "first": "conv2d_1", "last": "conv2d_1", **away},
        {**plain, "first": "conv2d_2", "last": "dense", "mode": "keep", "steps": 5},
    ]
    return {**plan, "segments": segments}


def trained(folder: Path) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Runs the program; returns what it printed, its plan and its result."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, str(folder / "submodel_00.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (plan,) = folder.glob("artifacts/submodel_00-*/plan.json")
    result = json.loads((plan.parent / "result.json").read_text(encoding="utf-8"))
    return done.stdout, json.loads(plan.read_text(encoding="utf-8")), result


def test_a_baked_budget_is_kept(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT, encoding="utf-8")
    folder = Path(sknc.split(script, 1, tmp_path / "split", budget="11MiB").folder)
    printed, plan, result = trained(folder)
    assert "of 11.0 MiB" in printed
    assert plan["baseline_peak"] > plan["budget"] == 11 * 2**20
    assert any(segment["mode"] != "keep" for segment in plan["segments"])
    assert plan["resident_bytes"] > 64 * 32 * 32 * 3 * 4
    assert result["planned_bytes"] == plan["predicted_peak"]
    # Operations run in another order each time: what was predicted may be passed by a little, the budget may not.
    # Ready operations run in any order: steps of one program differ by some percent.
    assert 0 < result["peak_bytes"] <= min(plan["budget"], 1.1 * plan["predicted_peak"])
    assert result["epochs"] == 2
    assert result["moved_bytes"] == result["planned_moved_bytes"] == plan["moved_bytes"] == 0
    # The next run obeys the plan that lies there.
    (path,) = folder.glob("artifacts/submodel_00-*/plan.json")
    path.write_text(json.dumps(spilling(plan)), encoding="utf-8")
    printed, plan, result = trained(folder)
    assert "recomputed from disk" in printed
    assert plan["moved_bytes"] == 2 * ACTIVATION
    assert result["planned_moved_bytes"] == plan["moved_bytes"] * (2 * 64 // 32)
    assert result["planned_moved_bytes"] < result["moved_bytes"] <= 1.01 * result["planned_moved_bytes"]
