"""A program whose memory plan does not fit is tried once more, with a smaller one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines import standin

NOTE = """
note = {{"schema": 1, "given": 2**30, "budget": 2**30, "planned_bytes": 40 * 2**20, "next_budget": 36 * 2**20,
        "failed": {failed}, "asked": "OOM when allocating tensor"}}
if attempt <= {times}:
    artifacts.write_json(block.folder / "no_room.json", note)
    {end}
"""


def body(times: int, end: str = "sys.exit(75)", failed: bool = True) -> str:
    """What a program does that has no room in its first attempts."""
    return NOTE.format(times=times, end=end, failed=failed)


def folder(tmp_path: Path, text: str) -> Path:
    """An output folder with one such program."""
    return standin.make(tmp_path / "out", (text, ""))


@pytest.mark.parametrize("retries", ["0", "3"])
def test_a_second_failure_is_the_last(tmp_path: Path, retries: str) -> None:
    place = folder(tmp_path, body(9))
    done = standin.sknc("run", place, "--retries", retries)
    assert done.returncode == 3
    assert standin.ran(place)["submodel_00.py"] == 2
    said = standin.results(place)["submodels"][0]
    assert (said["status"], said["attempts"]) == ("failed", 2)
    assert said["no_room"] == {
        "budget": 2**30,
        "planned_bytes": 40 * 2**20,
        "next_budget": 36 * 2**20,
        "asked": "OOM when allocating tensor",
    }
    assert "exit status 75; the device had no room for the 40.0 MiB of its memory plan; tried 2 times" in done.stderr
    assert standin.statuses(place)["submodel_01.py"] == "finished"


def test_the_second_attempt_is_told_in_the_summary_of_later_runs_as_well(tmp_path: Path) -> None:
    place = folder(tmp_path, body(1))
    done = standin.sknc("run", place, "--retries", "0")
    assert done.returncode == 0, done.stderr
    assert "it will be tried again with a plan for 36.0 MiB" in done.stderr
    line = "submodel_00.py: the device had no room for the 40.0 MiB of its memory plan; trained with a smaller one"
    assert line in done.stdout
    assert line in standin.sknc("run", place).stdout
    assert standin.ran(place)["submodel_00.py"] == 2


@pytest.mark.parametrize(("number", "attempts"), [("SIGABRT", 2), ("SIGTERM", 1)])
def test_a_process_that_tensorflow_ended_counts(tmp_path: Path, number: str, attempts: int) -> None:
    # `failed` is what its next run goes by: nobody else could say so.
    checked = 'import json; assert attempt == 1 or json.loads((block.folder / "no_room.json").read_text())["failed"]\n'
    end = f"import signal; os.kill(os.getpid(), signal.{number})"
    place = folder(tmp_path, checked + body(1, end, failed=False))
    assert standin.sknc("run", place, "--retries", "0").returncode == (0 if attempts == 2 else 3)
    assert standin.ran(place)["submodel_00.py"] == attempts


@pytest.mark.parametrize(("failed", "end"), [(False, "os.abort()"), (True, "sys.exit(75)")])
def test_what_an_earlier_run_left_says_nothing_of_this_one(tmp_path: Path, failed: bool, end: str) -> None:
    place = folder(tmp_path, body(1, "os.kill(os.getpid(), 15)", failed=failed) + end)
    assert standin.sknc("run", place, "--retries", "0").returncode == 3
    done = standin.sknc("run", place, "--retries", "0")
    assert done.returncode == 3
    assert standin.ran(place)["submodel_00.py"] == 2
    assert "no_room" not in standin.results(place)["submodels"][0]


def test_a_status_of_the_users_own_is_an_ordinary_failure(tmp_path: Path) -> None:
    place = standin.make(tmp_path / "out", ("sys.exit(75)",))
    done = standin.sknc("run", place, "--retries", "0")
    assert standin.ran(place)["submodel_00.py"] == 1
    assert "submodel_00.py failed (exit status 75; tried once)" in done.stderr
    assert "no_room" not in standin.results(place)["submodels"][0]
