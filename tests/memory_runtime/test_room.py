"""A plan for which the device has no room: what is said, written down, and done the next time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

import sknc
from sknc.engines import room as engine_room
from sknc.runtime.errors import ProgramError
from sknc.runtime.memory.execute import room
from sknc.runtime.memory.execute.keeper import fit_in_memory, plan_of
from sknc.runtime.memory.execute.watching import Guarded, watched

ROOT = Path(__file__).resolve().parents[2]
MIB = 2**20

SCRIPT = """
import keras
import numpy as np
from keras.layers import Dense, Flatten, Input, MaxPooling2D

keras.utils.set_random_seed(0)
#SKYNNET:BEGIN_MULTICLASS_ACC
x = np.random.default_rng(0).normal(size=(64, 32, 32, 3)).astype("float32")
y = keras.utils.to_categorical(np.arange(64) % 4, 4)
model = keras.Sequential([
    Input((32, 32, 3)),
    Dense(32, activation="relu"),
    Dense(32, activation="tanh"),
    Dense(32, activation="relu"),
    Dense(32, activation="tanh"),
    Dense(32, activation="relu"),
    Dense(32, activation="tanh"),
    MaxPooling2D(4),
    Flatten(),
    Dense(4, activation="softmax"),
])
model.compile("sgd", "categorical_crossentropy", jit_compile=False)
model.fit(x, y, batch_size=32, verbose=0)
#SKYNNET:END
"""


@pytest.mark.slow
def test_a_program_is_tried_once_more_with_the_next_smaller_plan(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT, encoding="utf-8")
    # The budget says more than there is.
    folder = Path(sknc.split(script, 1, tmp_path / "split", budget="1GiB").folder)
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "PYTHONPATH": str(ROOT)}
    limited = {**environment, "TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "24"}
    command = [sys.executable, "-m", "sknc", "run", str(folder), "--retries", "0"]
    done = subprocess.run(command, cwd=tmp_path, env=limited, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (row,) = json.loads((folder / "results.json").read_text(encoding="utf-8"))["submodels"]
    failed = row["no_room"]
    assert (row["status"], row["attempts"], failed["budget"]) == ("finished", 2, 1024 * MIB)
    assert failed["planned_bytes"] > 24 * MIB >= failed["next_budget"] >= row["planned_bytes"]
    assert row["peak_bytes"] <= 24 * MIB
    assert "it will be tried again with a plan for" in done.stderr
    assert f"no room for the {failed['planned_bytes'] / MIB:.1f} MiB of its memory plan" in done.stdout
    assert not list(folder.glob(f"artifacts/*/{room.NO_ROOM}"))


def dense() -> Any:
    """A model in training within a budget."""
    model = keras.Sequential([keras.Input((512,)), keras.layers.Dense(512), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)
    return fit_in_memory(model, "1GiB", 8)


def test_the_error_has_the_numbers() -> None:
    model = dense()
    keeper, plan = model.fit.keeper, plan_of(model)
    assert plan is not None
    with pytest.raises(room.OutOfRoom, match=r"planned were .* of 1\.00 GiB; OOM when allocating") as failed:
        Guarded(lambda: tf.zeros([2**44]), keeper)()
    shortage = failed.value.shortage
    assert (shortage.given, shortage.planned_bytes, shortage.failed) == (2**30, plan.predicted_peak, True)
    assert shortage.next_budget < plan.predicted_peak
    assert failed.value.exit_status == room.NO_ROOM_STATUS
    with pytest.raises(room.OutOfRoom), watched(keeper):
        tf.zeros([2**44])
    with pytest.raises(tf.errors.InvalidArgumentError), watched(keeper):
        tf.reshape(tf.zeros([3]), [2])


def test_only_a_failure_with_the_same_budget_is_remembered(tmp_path: Path) -> None:
    plan = plan_of(dense())
    assert plan is not None
    room.write_shortage(tmp_path, room.shortage_of(plan, 100))
    assert room.last_shortage(tmp_path, 100) is None, "it is still running, or was killed"
    failed = room.shortage_of(plan, 100, "OOM", plan.predicted_peak // 2)
    assert failed.next_budget == plan.predicted_peak // 2
    room.write_shortage(tmp_path, failed)
    assert room.last_shortage(tmp_path, 100) == failed
    assert room.last_shortage(tmp_path, 200) is None
    room.forget_shortage(tmp_path)
    assert room.last_shortage(tmp_path, 100) is None
    (tmp_path / room.NO_ROOM).write_text("[]", encoding="utf-8")
    assert room.last_shortage(tmp_path, 100) is None


def test_the_engine_knows_the_same_names() -> None:
    assert (engine_room.STATUS, engine_room.NOTE) == (room.NO_ROOM_STATUS, room.NO_ROOM)


class NoRoom(keras.callbacks.Callback):
    """Fails as TensorFlow does, when the validation or the training begins."""

    def __init__(self, when: str) -> None:
        super().__init__()
        setattr(self, f"on_{when}_batch_begin", self.fail)

    def fail(self, *_: Any, **__: Any) -> None:
        raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor with shape[9,9]")


@pytest.mark.parametrize(("when", "message"), [("test", "what is not training"), ("train", "planned were")])
def test_a_validation_without_room_is_not_the_plans_fault(when: str, message: str) -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    fit_in_memory(model, "1GiB", 4)
    batch = tf.zeros((4, 4)), tf.zeros((4, 2))
    with pytest.raises(ProgramError, match=message) as caught:
        model.fit(*batch, batch_size=4, validation_data=batch, verbose=0, callbacks=[NoRoom(when)])
    assert isinstance(caught.value, room.OutOfRoom) == (when == "train")
