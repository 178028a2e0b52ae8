"""Callbacks of a submodel write to its own place, and the engine hears of the training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import keras
import pytest

import sknc.runtime as skn_runtime
from sknc.runtime.callbacks import own_callbacks
from tests.runtime.helpers import spy


def test_everything_that_writes_gets_its_own_path(begin, data, tmp_path) -> None:
    class Own(keras.callbacks.Callback):
        def __init__(self) -> None:
            super().__init__()
            self.filename = Path("own.txt")
            self.title = "own.txt and more"
            self.monitor = "loss"

        def on_train_end(self, logs: Any = None) -> None:
            self.filename.write_text(self.title)

    own = Own()
    callbacks = [
        keras.callbacks.ModelCheckpoint("ckpt/{epoch:02d}.weights.h5", save_weights_only=True),
        keras.callbacks.CSVLogger(tmp_path / "log.csv"),
        keras.callbacks.BackupAndRestore("backup", delete_checkpoint=False),
        own,
    ]
    out = begin().out
    skn_runtime.fit(spy(), *data, epochs=2, verbose=0, callbacks=callbacks)
    written = sorted(str(p.relative_to(out)) for p in out.rglob("*") if p.is_file())
    assert [name for name in written if not name.startswith("backup/")] == [
        "ckpt/01.weights.h5",
        "ckpt/02.weights.h5",
        "log.csv",
        "own.txt",
    ]
    assert any(name.startswith("backup/") for name in written)
    assert own.title == "own.txt and more"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["split"]


def test_a_second_fit_with_the_same_callbacks_writes_to_the_same_place(begin, data) -> None:
    out = begin().out
    callback = keras.callbacks.CSVLogger("log.csv", append=True)
    for _ in range(2):
        skn_runtime.fit(spy(), *data, verbose=0, callbacks=callback)
    assert callback.filename == str(out / "log.csv")
    assert len((out / "log.csv").read_text().splitlines()) == 3


def test_tensorboard_logs_apart(begin) -> None:
    out = begin().out
    board = keras.callbacks.TensorBoard(log_dir="logs")
    own_callbacks(([board],), [])
    assert board.log_dir == str(out / "logs")


def test_a_list_that_keras_made_is_kept(begin) -> None:
    out = begin().out
    model = spy()
    made = keras.callbacks.CallbackList([keras.callbacks.CSVLogger("log.csv")], model=model, epochs=1)
    extra = keras.callbacks.Callback()
    assert own_callbacks(made, [extra]) is made
    assert made.callbacks[-1] is extra
    assert extra.model is model
    assert any(getattr(c, "filename", None) == str(out / "log.csv") for c in made.callbacks)


def test_progress_is_one_line_of_json_an_event(begin, data, tmp_path, monkeypatch) -> None:
    progress = tmp_path / "progress.jsonl"
    monkeypatch.setenv("SKN_PROGRESS", str(progress))
    begin()
    skn_runtime.fit(spy(), *data, batch_size=10, epochs=2, verbose=0, validation_data=(data[0], data[1]))
    with pytest.raises(SystemExit):
        skn_runtime.finish()
    events = [json.loads(line) for line in progress.read_text().splitlines()]
    kinds = [event["event"] for event in events if event["event"] != "batch"]
    assert kinds == ["begin", "start", "epoch", "epoch", "done"]
    start = events[1]
    assert (start["epochs"], start["steps"], start["parameters"], start["rows"]) == (2, 3, 15, 30)
    epochs = [event for event in events if event["event"] == "epoch"]
    assert [event["epoch"] for event in epochs] == [1, 2]
    assert all(event["epochs"] == 2 and "val_loss" in event["metrics"] and event["time"] for event in epochs)
    batch = next(event for event in events if event["event"] == "batch")
    assert (batch["step"], batch["steps"], batch["epoch"]) == (1, 3, 1)
    assert events[-1]["epochs"] == 2


def test_progress_that_cannot_be_written_does_not_end_the_training(begin, data, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SKN_PROGRESS", str(tmp_path / "missing" / "progress.jsonl"))
    begin()
    assert skn_runtime.fit(spy(), *data, verbose=0).epoch == [0]
