"""Programs that fail: retried, reported with the user's line, and never in the way of the others."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from sknc.engines import Outcome, Stop, Task
from sknc.engines import folder as folders
from sknc.engines.base import Event
from sknc.engines.local import LocalEngine
from tests.engines import standin

FAILS = 'print("before it"); raise ValueError("no such flower: \\N{ROSE}")'


def test_a_failure_is_retried(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("if attempt == 1: sys.exit('out of luck')", ""))
    done = standin.sknc("run", folder, "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert "submodel_00.py: failed (exit status 1); it will be tried again" in done.stderr
    assert standin.ran(folder) == {"submodel_00.py": 2, "submodel_01.py": 1, "compose.py": 1}
    # After the others: what was short may be there then.
    assert (folder / "ran.txt").read_text().split()[:3] == [
        "submodel_00.py",
        "submodel_01.py",
        "submodel_00.py",
    ]
    assert standin.results(folder)["submodels"][0]["attempts"] == 2
    (log,) = (folder / "artifacts").glob("submodel_00-*/log.txt")
    assert log.read_text() == "out of luck\n\n--- attempt 2 ---\n"


def test_a_program_that_keeps_failing_is_reported_and_the_others_go_on(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("", FAILS, ""))
    done = standin.sknc("run", folder, "--retries", "2")
    assert done.returncode == 3
    assert standin.ran(folder) == {"submodel_00.py": 1, "submodel_01.py": 3, "submodel_02.py": 1}
    assert "submodel_01.py failed (exit status 1; tried 3 times)" in done.stderr
    assert "ValueError: no such flower" in done.stderr
    # The manifest says that line 9 of the program is line 3 of the script.
    assert "  at train.py:3: print(" in done.stderr
    assert "2 of 3 submodels are finished and kept" in done.stderr
    said = standin.results(folder)
    assert said["status"] == "failed"
    assert standin.statuses(folder) == {
        "submodel_00.py": "finished",
        "submodel_01.py": "failed",
        "submodel_02.py": "finished",
    }
    failed = said["submodels"][1]
    assert (failed["attempts"], failed["reason"], failed["line"]) == (
        3,
        "exit status 1",
        {"file": "train.py", "line": 3},
    )
    assert "ROSE" in (folder / failed["log"]).read_text() or "\N{ROSE}" in (folder / failed["log"]).read_text()
    assert said["composed"] == {"status": "waiting"}
    assert "failed" in done.stdout


def test_the_next_run_does_the_rest_only(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("", "if not (here / 'mended').exists(): sys.exit(9)", ""))
    assert standin.sknc("run", folder, "--retries", "0").returncode == 3
    (folder / "mended").touch()
    done = standin.sknc("run", folder)
    assert done.returncode == 0, done.stderr
    assert standin.ran(folder) == {
        "submodel_00.py": 1,
        "submodel_01.py": 2,
        "submodel_02.py": 1,
        "compose.py": 1,
    }


def test_a_later_block_waits_for_an_earlier_one_that_failed(tmp_path: Path) -> None:
    folder = standin.make(
        tmp_path / "out",
        {"b0_submodel_00.py": FAILS, "b0_submodel_01.py": "", "b1_submodel_00.py": ""},
        blocks=[["b0_submodel_00.py", "b0_submodel_01.py"], ["b1_submodel_00.py"]],
    )
    assert standin.sknc("run", folder, "--retries", "0").returncode == 3
    assert standin.statuses(folder) == {
        "b0_submodel_00.py": "failed",
        "b0_submodel_01.py": "finished",
        "b1_submodel_00.py": "waiting",
    }
    assert "b1_submodel_00.py" not in standin.ran(folder)


def test_a_composer_that_fails(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("", ""), compose="sys.exit('the plot has no axes')")
    done = standin.sknc("run", folder)
    assert done.returncode == 3
    assert done.stdout.startswith("composing\n")
    assert "compose.py failed (exit status 1; tried once)" in done.stderr
    assert "the plot has no axes" in done.stderr
    assert "2 of 2 submodels are finished and kept" in done.stderr
    assert standin.results(folder)["composed"]["status"] == "failed"
    assert "accuracy" not in standin.results(folder)["composed"]


def test_measures_of_an_earlier_composer_are_not_shown_for_one_that_failed(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("",), compose="if (here / 'bad').exists(): sys.exit(1)")
    assert standin.sknc("run", folder).returncode == 0
    (folder / "bad").touch()
    assert standin.sknc("run", folder).returncode == 3
    assert standin.results(folder)["composed"] == {
        "status": "failed",
        "reason": "exit status 1",
        "log": "artifacts/compose/log.txt",
        "line": None,
    }


def test_the_original_fails(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("",), original="sys.exit('too wide')")
    done = standin.sknc("run", folder, "--baseline", "--retries", "1")
    assert done.returncode == 3
    assert "original.py failed (exit status 1; tried 2 times)" in done.stderr
    assert standin.results(folder)["composed"]["accuracy"] == 0.75
    assert standin.results(folder)["original"]["status"] == "failed"


def test_a_program_that_ends_too_early_has_failed(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("sys.exit(0)",))
    done = standin.sknc("run", folder, "--retries", "0")
    assert done.returncode == 3
    assert "it ended before its training was complete" in done.stderr


def test_a_program_that_fails_after_its_result_has_finished(tmp_path: Path) -> None:
    body = "import atexit; atexit.register(os._exit, 5)"
    folder = standin.make(tmp_path / "out", (body,))
    assert standin.sknc("run", folder, "--retries", "0").returncode == 0


def test_an_old_result_does_not_count_for_a_new_failure(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("if attempt > 1: sys.exit(4)",))
    assert standin.sknc("run", folder).returncode == 0
    (result,) = (folder / "artifacts").glob("submodel_*/result.json")
    result.write_text("{}")
    assert standin.sknc("run", folder, "--retries", "0").returncode == 3
    assert standin.statuses(folder) == {"submodel_00.py": "failed"}


def test_a_killed_program_is_retried(tmp_path: Path) -> None:
    body = "while attempt == 1: time.sleep(0.01)"
    folder = standin.make(tmp_path / "out", (body, ""))
    running = standin.start("run", folder, "--jobs", "2")
    found = standin.wait_for(lambda: standin.processes(folder).get("submodel_00.py"))
    standin.wait_for(lambda: "submodel_00.py" in standin.ran(folder))
    os.kill(found, signal.SIGKILL)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 0, said
    assert "killed by SIGKILL" in said
    assert standin.ran(folder) == {"submodel_00.py": 2, "submodel_01.py": 1, "compose.py": 1}


def test_what_a_failed_program_started_is_ended(tmp_path: Path) -> None:
    body = """import subprocess
helper = subprocess.Popen([sys.executable, str(here / "helper.py")])
while not (here / "helping").exists(): time.sleep(0.01)
os._exit(1)"""
    folder = standin.make(tmp_path / "out", (body,))
    (folder / "helper.py").write_text(
        f"import time, pathlib; pathlib.Path({str(folder / 'helping')!r}).touch(); time.sleep(60)"
    )
    assert standin.sknc("run", folder, "--retries", "0").returncode == 3
    standin.wait_for(lambda: "helper.py" not in standin.processes(folder), 5)
    assert (folder / "helping").exists()


def test_a_log_with_odd_bytes_and_a_great_many_lines(tmp_path: Path) -> None:
    body = """for number in range(100000): print("line", number, "of many")
sys.stdout.flush()
os.write(1, b"\\x1b[31mred\\x1b[0m \\xff\\xfe latin: \\xe9\\n1/9 [=>...]\\x08\\x08\\x08\\x089/9 [====]\\n")
sys.exit(6)"""
    folder = standin.make(tmp_path / "out", (body,))
    done = standin.sknc("run", folder, "--retries", "0")
    assert done.returncode == 3
    shown = [line for line in done.stderr.splitlines() if line.startswith("  | ")]
    assert len(shown) == 15
    assert shown[-2] == "  | red \ufffd\ufffd latin: \ufffd"
    assert shown[-1] == "  | 9/9 [====]"
    assert shown[0] == "  | line 99987 of many"
    (log,) = (folder / "artifacts").glob("submodel_*/log.txt")
    assert log.stat().st_size > 1_500_000


def test_a_full_disk(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("print('x' * 100000)", ""))
    home = next(program.task.home for program in folders.read(folder).submodels)
    home.mkdir(parents=True)
    # Everything that is written to /dev/full meets a full disk.
    (home / "log.txt").symlink_to("/dev/full")
    done = standin.sknc("run", folder, "--jobs", "1")
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "what is finished is kept" in done.stderr
    assert "internal error" not in done.stderr
    assert standin.statuses(folder)["submodel_01.py"] == "finished"


def test_a_disk_too_full_for_the_traceback_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = standin.make(tmp_path / "out", ("sys.exit(1)",))
    tasks = [program.task for program in folders.read(folder).submodels]
    monkeypatch.setattr("sknc.engines.local._ALMOST_FULL", 1 << 62)
    (outcome,) = LocalEngine(1).run(tasks, retries=0, observer=Silent(), stop=Stop())
    assert (outcome.status, outcome.reason) == ("failed", "exit status 1; no space left on device")


class Silent:
    """An observer that says nothing."""

    def started(self, task: Task, attempt: int) -> None: ...
    def event(self, task: Task, event: Event) -> None: ...
    def output(self, task: Task, data: bytes) -> None: ...
    def retrying(self, outcome: Outcome) -> None: ...
    def ended(self, outcome: Outcome) -> None: ...
    def tick(self) -> None: ...
