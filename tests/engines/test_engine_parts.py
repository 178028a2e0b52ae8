"""The small parts: progress files, logs, the division of the machine, files."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from sknc.engines import capacity, files, logs
from sknc.engines.base import Capacity
from sknc.engines.lock import cannot_write
from sknc.engines.progress import Progress, Tail, is_accuracy
from sknc.errors import EnvironmentProblem
from sknc.report.progress import seconds
from sknc.report.table import bytes_text
from sknc.runtime import tracebacks


def test_tail_reads_what_is_new_and_only_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    tail = Tail(path)
    assert tail.read() == []
    path.write_bytes(b'{"event": "begin"}\n{"event": "ep')
    assert tail.read() == [{"event": "begin"}]
    assert tail.read() == []
    with open(path, "ab") as file:
        file.write(b'och", "epoch": 1}\nnoise \xff\n[1]\n{"no": "event"}\n{"event": "done"}\n')
    assert tail.read() == [{"event": "epoch", "epoch": 1}, {"event": "done"}]


def test_progress_of_a_training() -> None:
    progress = Progress()
    for event in (
        {"event": "begin", "time": 0.0},
        {"event": "start", "epochs": 4, "parameters": 10, "time": 100.0},
        {"event": "batch", "epoch": 1, "step": 5, "steps": 10, "loss": 9.0, "time": 101.0},
    ):
        progress.apply(event)
    assert (progress.epoch, progress.epochs, progress.parameters, progress.loss) == (1, 4, 10, 9.0)
    assert progress.fraction == pytest.approx(1 / 8)
    # One point tells no pace, and the step that led to it compiled the network.
    assert progress.seconds_left() is None
    said = {"event": "epoch", "epoch": 1, "loss": 3.0, "metrics": {"acc": 0.5, "val_acc": 0.4}, "time": 103.0}
    progress.apply(said)
    assert progress.fraction == pytest.approx(1 / 4)
    assert (progress.loss, progress.accuracy()) == (3.0, 0.4)
    # An eighth took two seconds; six are left.
    assert progress.seconds_left() == pytest.approx(12.0)
    assert progress.seconds_left(105.0) == pytest.approx(10.0)
    assert progress.seconds_left(1000.0) == 0.0
    progress.apply({"event": "done"})
    assert progress.done


def test_a_second_training_starts_over() -> None:
    progress = Progress()
    progress.apply({"event": "start", "epochs": 2, "time": 0.0})
    progress.apply({"event": "epoch", "epoch": 1, "loss": 1.0, "metrics": {"acc": 1.0}, "time": 5.0})
    progress.apply({"event": "epoch", "epoch": 2, "loss": 1.0, "metrics": {"acc": 1.0}, "time": 10.0})
    assert progress.seconds_left() == 0.0
    progress.apply({"event": "start", "epochs": 5, "time": 20.0})
    assert (progress.fraction, progress.epochs, progress.seconds_left()) == (0.0, 5, None)
    # What the first one measured is not the second one's.
    assert (progress.loss, progress.accuracy()) == (None, None)
    progress.apply({"event": "epoch", "epoch": 1, "time": 21.0})
    progress.apply({"event": "epoch", "epoch": 2, "time": 22.0})
    assert progress.seconds_left() == pytest.approx(3.0)


def test_odd_events_do_no_harm() -> None:
    progress = Progress()
    progress.apply({"event": "epoch", "epoch": "x", "epochs": None, "loss": None, "metrics": [1], "time": "now"})
    progress.apply({"event": "batch", "step": 3, "steps": 0, "loss": float("nan")})
    progress.apply({"event": "unheard of"})
    assert (progress.fraction, progress.loss, progress.seconds_left()) == (0.0, None, None)


def test_names_of_accuracies() -> None:
    yes = ("acc", "accuracy", "val_accuracy", "binary_accuracy", "val_sparse_categorical_accuracy")
    assert all(map(is_accuracy, yes))
    assert not any(map(is_accuracy, ("loss", "val_loss", "auc", "accumulated")))


def test_tail_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    assert logs.tail(log) == []
    log.write_bytes(b"old\n" + b"1%\r50%\r100%\n\n" + b"w" * 500 + b"\nbell\x07\n")
    assert logs.tail(log) == ["old", "100%", "w" * 300 + "...", "bell"]
    assert logs.tail(log, start=4, lines=3) == ["100%", "w" * 300 + "...", "bell"]
    log.write_bytes(b"a" * 70000 + b"\nend\n")
    assert logs.tail(log) == ["end"]
    log.write_bytes(b"a" * 70000)
    assert logs.tail(log) == ["a" * 300 + "..."]
    log.write_text(
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
        "I0000 00:00:1796018591.131931   32375 port.cc:153] oneDNN custom operations are on.\n"
        "E0000 00:00:1796018591.131932   32375 device.cc:1] no memory\n"
    )
    assert logs.tail(log) == ["E0000 00:00:1796018591.131932   32375 device.cc:1] no memory"]


def test_the_users_line(tmp_path: Path) -> None:
    program = tmp_path / "submodel_00.py"
    program.write_text("import x\n\nboom()\n    later()\n")
    shown = [
        f'  File "{program}", line 3, in <module>',
        '  File "/site-packages/keras/layers.py", line 4, in call',
        "ValueError: no",
    ]
    lines = [(3, 40, 2)]
    assert str(logs.users_line(shown, program, lines, "train.py")) == "train.py:40: boom()"
    shown.insert(1, f'  File "{program}", line 4, in f')
    assert str(logs.users_line(shown, program, lines, "train.py")) == "train.py:41: later()"
    assert logs.users_line(shown[-1:], program, lines, "train.py") is None
    # A line that sknc wrote is nobody's.
    assert logs.users_line([f'  File "{program}", line 1'], program, lines, "train.py") is None


def test_the_users_line_of_a_notebook(tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    # The second cell's function is copied in front of the third one's code.
    program.write_text("# %% cell 1\nimport x\n# %% cell 4\nbegin()\n  def f(): bad()\nboom()\n")
    shown = [f'  File "{program}", line 6, in <module>', "ValueError"]
    lines = [[1, 1, 4], [5, 4, 1], [6, 8, 1]]
    headers = [[1, 1, 2], [3, 6, 2], [5, 4, 1], [6, 8, 1]]
    assert str(logs.users_line(shown, program, headers, "net.ipynb")) == "net.ipynb: cell 4, line 2: boom()"
    assert str(logs.users_line(shown, program, lines, "net.py")) == "net.py:8: boom()"
    copied = [f'  File "{program}", line 5, in f']
    assert str(logs.users_line(copied, program, headers, "net.ipynb")) == "net.ipynb: cell 1, line 3: def f(): bad()"
    assert tracebacks.place("net.ipynb", [(1, 1, 2), (3, 6, 2)], program.read_text().split("\n"), 8) == (
        "net.ipynb: cell 4, line 2"
    )
    assert tracebacks.place("net.py", [(1, 1, 9)], [], 8) == "net.py:8"


def test_division_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "cores", lambda: 8)
    monkeypatch.setattr(capacity, "free_memory", lambda: 64 << 30)
    assert capacity.plan(100, None) == Capacity(8, 1)
    assert capacity.plan(3, None) == Capacity(3, 2)
    assert capacity.plan(6, 2) == Capacity(2, 4)
    assert capacity.plan(6, 100) == Capacity(6, 1)
    assert capacity.plan(1, None) == Capacity(1, 8)
    monkeypatch.setattr(capacity, "free_memory", lambda: 4 << 30)
    assert capacity.plan(100, None) == Capacity(2, 4)
    monkeypatch.setattr(capacity, "free_memory", lambda: 1 << 20)
    assert capacity.plan(100, None) == Capacity(1, 8)


def test_what_this_machine_has() -> None:
    assert 1 <= capacity.cores() <= (os.cpu_count() or 1)
    assert 1 << 20 < capacity.free_memory() < 1 << 50


def test_environment_of_a_program() -> None:
    made = capacity.environment(Capacity(2, 4), {"OMP_NUM_THREADS": "1", "HOME": "/h"})
    assert (made["OMP_NUM_THREADS"], made["TF_NUM_INTRAOP_THREADS"], made["HOME"]) == ("1", "4", "/h")
    assert made["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
    assert "TF_FORCE_GPU_ALLOW_GROWTH" not in capacity.environment(Capacity(1, 4), {})


def test_json_is_written_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    files.write_json(path, {"a": "\N{ROSE}"})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": "\N{ROSE}"}
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    with pytest.raises(TypeError):
        files.write_json(path, {"a": object()})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": "\N{ROSE}"}
    assert [each.name for each in tmp_path.iterdir()] == ["results.json"]
    with pytest.raises(EnvironmentProblem, match="cannot write"):
        files.write_json(tmp_path / "nowhere" / "x.json", {})


def test_a_full_disk_is_named() -> None:
    with pytest.raises(OSError, match="No space") as caught:
        Path("/dev/full").write_bytes(b"x")
    problem = cannot_write(Path("out"), caught.value)
    assert problem.message == "cannot write in out: No space left on device"
    assert problem.hint is not None
    assert problem.status == 2


def test_texts() -> None:
    times = [0.04, 9.9, 9.96, 59.4, 59.6, 185, 3599.4, 7830]
    assert [seconds(value) for value in times] == [
        "0.0 s",
        "9.9 s",
        "10 s",
        "59 s",
        "1 min 00 s",
        "3 min 05 s",
        "59 min 59 s",
        "2 h 10 min",
    ]
    assert [bytes_text(value) for value in (None, 0, 1023, 1536, 5 << 30, 3 << 40)] == [
        "",
        "0 bytes",
        "1023 bytes",
        "1.5 KiB",
        "5.0 GiB",
        "3072.0 GiB",
    ]
