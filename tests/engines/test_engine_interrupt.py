"""Runs that are cut short: what is finished stays finished, nothing is left running, the next run does the rest."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.engines import standin

WAITS = "while not (here / 'go').exists(): time.sleep(0.01)"


def _start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a run and return when its first program is finished and its second one waits."""
    running = standin.start("run", folder, *arguments)
    standin.wait_for(
        lambda: (
            (folder / "results.json").exists()
            and standin.statuses(folder)["submodel_00.py"] == "finished"
            and "submodel_01.py" in standin.ran(folder)
        )
    )
    return running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_and_the_next_one_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    folder = standin.make(tmp_path / "out", ("", WAITS, ""))
    running = _start(folder, "--jobs", "1")
    running.send_signal(number)
    out, said = running.communicate(timeout=20)
    assert running.returncode == 130, said
    assert "internal error" not in said
    assert standin.processes(folder) == {}
    assert "1 of 3 submodels are finished and kept" in said
    assert standin.results(folder)["status"] == "stopped"
    assert standin.statuses(folder) == {
        "submodel_00.py": "finished",
        "submodel_01.py": "stopped",
        "submodel_02.py": "waiting",
    }
    assert "composing" not in out
    (folder / "go").touch()
    done = standin.sknc("run", folder)
    assert done.returncode == 0, done.stderr
    assert standin.ran(folder) == {
        "submodel_00.py": 1,
        "submodel_01.py": 2,
        "submodel_02.py": 1,
        "compose.py": 1,
    }


def test_a_program_that_does_not_end_is_killed_by_a_second_signal(tmp_path: Path) -> None:
    body = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); (here / 'deaf').touch()\n{WAITS}"
    folder = standin.make(tmp_path / "out", ("", body))
    running = _start(folder, "--jobs", "1")
    standin.wait_for((folder / "deaf").exists)
    running.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert running.poll() is None
    assert "submodel_01.py" in standin.processes(folder)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=3)
    assert running.returncode == 130
    assert standin.processes(folder) == {}


def test_the_composer_is_ended_as_well(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("",), compose=WAITS)
    running = standin.start("run", folder)
    standin.wait_for(lambda: "compose.py" in standin.ran(folder))
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=20)
    assert running.returncode == 130
    assert standin.processes(folder) == {}
    assert standin.results(folder)["composed"] == {"status": "stopped"}


def test_a_killed_run_leaves_nothing_running_and_the_next_one_does_the_rest(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("", WAITS, WAITS))
    running = _start(folder, "--jobs", "2")
    standin.wait_for(lambda: "submodel_02.py" in standin.ran(folder))
    running.kill()
    running.communicate(timeout=10)
    standin.wait_for(lambda: standin.processes(folder) == {}, 5)
    (folder / "go").touch()
    done = standin.sknc("run", folder)
    assert done.returncode == 0, done.stderr
    ran = standin.ran(folder)
    assert ran["submodel_00.py"] == 1
    assert (ran["submodel_01.py"], ran["submodel_02.py"], ran["compose.py"]) == (2, 2, 1)


def test_runs_killed_at_any_moment(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("time.sleep(0.15)",) * 3)
    for pause in (0.2, 0.5, 0.8):
        running = standin.start("run", folder, "--jobs", "2")
        time.sleep(pause)
        with contextlib.suppress(ProcessLookupError):
            os.kill(running.pid, signal.SIGKILL)
        running.communicate(timeout=10)
        before = {path.parent.name[:11]: path.stat().st_mtime_ns for path in _finished(folder)}
        standin.wait_for(lambda: standin.processes(folder) == {}, 5)
    counts = standin.ran(folder)
    assert standin.sknc("run", folder).returncode == 0
    after = standin.ran(folder)
    for name in before:
        assert after[f"{name}.py"] == counts[f"{name}.py"]
    assert standin.results(folder)["status"] == "finished"


def _finished(folder: Path) -> list[Path]:
    return list((folder / "artifacts").glob("submodel_*/result.json"))


def test_a_second_run_is_told_and_leaves(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("", WAITS))
    running = _start(folder, "--jobs", "1")
    second = standin.sknc("run", folder)
    assert second.returncode == 2
    assert f"process {running.pid}" in second.stderr
    assert "since 20" in second.stderr
    cleaning = standin.sknc("clean", folder)
    assert cleaning.returncode == 2
    assert f"process {running.pid}" in cleaning.stderr
    assert _finished(folder)
    (folder / "go").touch()
    _, said = running.communicate(timeout=20)
    assert running.returncode == 0, said
    assert standin.ran(folder) == {"submodel_00.py": 1, "submodel_01.py": 1, "compose.py": 1}


def test_the_lock_does_not_outlive_a_killed_run(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("", WAITS))
    running = _start(folder, "--jobs", "1")
    running.kill()
    running.communicate(timeout=10)
    (folder / "go").touch()
    assert standin.sknc("run", folder).returncode == 0
