"""What is shown while a run goes on: live on a terminal, plain lines in a log."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest
from rich.console import Console

from sknc.engines import folder as folders
from sknc.engines.report import begin
from sknc.report import progress
from tests.engines import standin

# Epochs far enough apart for the display to draw each.
EPOCHS = """for step in (1, 2, 3):
    context.event("epoch", epoch=step, epochs=4, loss=0.125 * step, metrics={"accuracy": 0.25 * step})
    time.sleep(PAUSE)
"""


def _on_a_terminal(*arguments: object, rows: int = 24, columns: int = 100) -> tuple[int, str]:
    """Run sknc on a terminal; return its exit status and all that it drew."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        standin.command(*arguments),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=standin.environment(TERM="xterm-256color"),
        start_new_session=True,
    )
    os.close(theirs)
    drawn = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        drawn += chunk
    os.close(ours)
    return process.wait(10), drawn.decode()


def _plain(drawn: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn).replace("\r", "")


def test_the_live_display(tmp_path: Path) -> None:
    body = EPOCHS.replace("PAUSE", "0.6")
    folder = standin.make(tmp_path / "out", (body, body))
    status, drawn = _on_a_terminal("run", folder, "--jobs", "2")
    text = _plain(drawn)
    assert status == 0, text
    # It was drawn over itself, with epoch, loss and the time that is left.
    assert "\x1b[2K" in drawn
    assert re.search(r"submodel_00\.py +\S+ +epoch 2/4 +loss 0\.25, accuracy 0\.500 +\d+\.\d s left", text), text
    assert "0 of 2 submodels finished" in text
    # The cursor is back, and nothing is drawn around what the composer prints.
    assert drawn.rindex("\x1b[?25h") < drawn.index("composing")
    after = _plain(drawn[drawn.index("composing") :])
    assert after.startswith("composing\nprediction: 7\n")
    assert "submodels finished" not in after
    assert "submodel_00.py: finished after" in text


def test_the_live_display_is_taken_away_after_a_failure(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("time.sleep(0.4); sys.exit('bad luck')", ""))
    status, drawn = _on_a_terminal("run", folder, "--retries", "1")
    assert status == 3
    assert drawn.count("\x1b[?25l") == drawn.count("\x1b[?25h") > 0
    assert "it will be tried again" in _plain(drawn)
    assert "  | bad luck" in _plain(drawn)


def test_more_programs_than_lines_on_the_screen(tmp_path: Path) -> None:
    wait = """(here / f"here-{os.getpid()}").touch()
while len(list(here.glob("here-*"))) < 6: time.sleep(0.01)
time.sleep(0.6)"""
    folder = standin.make(tmp_path / "out", (wait,) * 6)
    status, drawn = _on_a_terminal("run", folder, "--jobs", "6", rows=8)
    assert status == 0
    assert "and 2 more" in _plain(drawn)


def test_plain_lines_in_a_log(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", (EPOCHS.replace("PAUSE", "0"), ""))
    # Even when everything is told that there is colour: a log is a file.
    done = standin.sknc("run", folder, "--jobs", "1", FORCE_COLOR="1", TERM="xterm")
    assert done.returncode == 0
    assert "\x1b[?25" not in done.stderr
    text = _plain(done.stderr)
    lines = text.splitlines()
    assert lines[0] == "submodel_00.py: started (1 of 2)"
    assert re.fullmatch(r"submodel_00\.py: finished after \d+\.\d s; loss 0\.5, accuracy 0\.800", lines[1])
    assert lines[2] == "submodel_01.py: started (2 of 2)"
    assert lines[4] == "compose.py: started"
    assert len(lines) == 5


def test_a_log_has_few_lines_of_a_long_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PLAIN_SECONDS", 0.3)
    split = folders.read(standin.make(tmp_path / "out", ("",)))
    log, task = io.StringIO(), split.submodels[0].task
    watcher = progress.Watcher(begin(split, baseline=False), Console(file=log, width=20), io.BytesIO())
    watcher.started(task, 1)
    watcher.event(task, {"event": "start", "epochs": 40, "time": time.time()})
    for epoch in range(1, 41):
        time.sleep(0.02)
        said = {"event": "epoch", "epoch": epoch, "loss": 0.125, "metrics": {"acc": 0.5}, "time": time.time()}
        watcher.event(task, said)
    lines = log.getvalue().splitlines()
    assert 3 <= len(lines) <= 4
    # One line each, though the console says that it is narrow.
    assert re.fullmatch(r"submodel_00\.py: epoch \d+/40, loss 0\.125, accuracy 0\.500, 0\.\d s left", lines[1])
