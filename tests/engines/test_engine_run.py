"""`sknc run` from the outside: what it runs, in which order, what it prints and stores."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.engines import standin


def test_a_whole_run(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out")
    done = standin.sknc("run", folder)
    assert done.returncode == 0, done.stderr
    # The composer's output comes first and unchanged, then the table.
    assert done.stdout.startswith("composing\nprediction: 7\n")
    *rows, note = done.stdout.splitlines()[2:]
    lines = [line.split() for line in rows]
    assert note == "a submodel's accuracy and loss: on its own task, after its last epoch"
    assert lines[0] == ["program", "parameters", "seconds", "accuracy", "loss"]
    assert [line[0] for line in lines[1:]] == [
        "submodel_00.py",
        "submodel_01.py",
        "submodel_02.py",
        "composed",
    ]
    assert lines[1] == ["submodel_00.py", "100", "2.0", "0.8000", "0.5000"]
    assert lines[4] == ["composed", "300", "0.7500", "0.5000"]
    said = standin.results(folder)
    assert said["status"] == "finished"
    assert [entry["file"] for entry in said["submodels"]] == [f"submodel_0{number}.py" for number in range(3)]
    first = said["submodels"][0]
    assert (first["status"], first["attempts"], first["seconds"], first["parameters"]) == (
        "finished",
        1,
        2.0,
        100,
    )
    assert first["peak_bytes"] is None
    assert first["share"] == "0, 3"
    assert said["composed"] == {"status": "finished", "accuracy": 0.75, "loss": 0.5, "parameters": 300}
    assert "original" not in said


def test_finished_programs_are_not_run_again(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out")
    standin.sknc("run", folder)
    again = standin.sknc("run", folder)
    assert again.returncode == 0, again.stderr
    assert "3 programs finished earlier, not run again" in again.stderr
    assert standin.ran(folder) == {
        "submodel_00.py": 1,
        "submodel_01.py": 1,
        "submodel_02.py": 1,
        "compose.py": 2,
    }
    assert [entry["reused"] for entry in standin.results(folder)["submodels"]] == [True] * 3
    assert [entry["attempts"] for entry in standin.results(folder)["submodels"]] == [1] * 3


def test_a_changed_program_is_run_again_and_others_are_not(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out")
    standin.sknc("run", folder)
    standin.make(folder, ("", "kept = 1", ""))
    again = standin.sknc("run", folder)
    assert again.returncode == 0, again.stderr
    assert standin.ran(folder)["submodel_01.py"] == 2
    assert standin.ran(folder)["submodel_00.py"] == standin.ran(folder)["submodel_02.py"] == 1


def test_fresh_forgets_everything(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("", ""))
    standin.sknc("run", folder)
    (folder / "artifacts" / "submodel_00-000000000000").mkdir()
    done = standin.sknc("run", folder, "--fresh")
    assert done.returncode == 0, done.stderr
    assert standin.ran(folder) == {"submodel_00.py": 2, "submodel_01.py": 2, "compose.py": 2}
    assert not (folder / "artifacts" / "submodel_00-000000000000").exists()


def test_a_damaged_result_is_no_result(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("", ""))
    standin.sknc("run", folder)
    first, second = sorted((folder / "artifacts").glob("submodel_*/result.json"))
    first.write_text('{"program": ')
    second.write_text(json.dumps({**json.loads(second.read_text()), "program": "0" * 64}))
    assert standin.sknc("run", folder).returncode == 0
    assert standin.ran(folder) == {"submodel_00.py": 2, "submodel_01.py": 2, "compose.py": 2}


def test_one_submodel(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("",))
    done = standin.sknc("run", folder)
    assert done.returncode == 0, done.stderr
    assert standin.statuses(folder) == {"submodel_00.py": "finished"}


def test_blocks_are_trained_in_order(tmp_path: Path) -> None:
    pause = "time.sleep(0.4)"
    folder = standin.make(
        tmp_path / "out",
        {"b0_submodel_00.py": pause, "b0_submodel_01.py": "", "b1_submodel_00.py": ""},
        blocks=[["b0_submodel_00.py", "b0_submodel_01.py"], ["b1_submodel_00.py"]],
    )
    done = standin.sknc("run", folder, "--jobs", "3")
    assert done.returncode == 0, done.stderr
    order = (folder / "ran.txt").read_text().split()
    assert order[2:] == ["b1_submodel_00.py", "compose.py"]
    finished = {path.parent.name[:14]: path.stat().st_mtime for path in (folder / "artifacts").glob("*/result.json")}
    assert finished["b0_submodel_00"] < finished["b1_submodel_00"]
    assert "composed (block 1)" in done.stdout
    assert "composed (block 2)" in done.stdout


def test_jobs_run_at_once_and_share_the_threads(tmp_path: Path) -> None:
    body = """from pathlib import Path
(here / f"began-{block.share.classes[0]}").touch()
while len(list(here.glob("began-*"))) < 2: time.sleep(0.01)
print(os.environ["OMP_NUM_THREADS"], os.environ["TF_NUM_INTRAOP_THREADS"], os.environ["TF_NUM_INTEROP_THREADS"])"""
    # Each waits for the other: were they run one after the other, the first would wait for ever.
    folder = standin.make(tmp_path / "out", (body, body))
    done = standin.sknc("run", folder, "--jobs", "2")
    assert done.returncode == 0, done.stderr
    share = str(max(1, len(os.sched_getaffinity(0)) // 2))
    for log in (folder / "artifacts").glob("submodel_*/log.txt"):
        assert log.read_text().split() == [share] * 3


def test_threads_that_the_user_set_are_kept(tmp_path: Path) -> None:
    body = 'print(os.environ["OMP_NUM_THREADS"], "of", os.environ["TF_NUM_INTRAOP_THREADS"])'
    folder = standin.make(tmp_path / "out", (body,))
    assert standin.sknc("run", folder, "--jobs", "1", OMP_NUM_THREADS="7").returncode == 0
    (log,) = (folder / "artifacts").glob("submodel_*/log.txt")
    assert log.read_text().startswith("7 of ")
    assert not log.read_text().startswith("7 of 7")


def test_one_job_runs_one_at_a_time(tmp_path: Path) -> None:
    body = """assert not (here / "busy").exists()
(here / "busy").touch(); time.sleep(0.2); (here / "busy").unlink()"""
    folder = standin.make(tmp_path / "out", (body, body, body))
    done = standin.sknc("run", folder, "--jobs", "1", "--retries", "0")
    assert done.returncode == 0, done.stderr


def test_baseline(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", original="")
    done = standin.sknc("run", folder, "--baseline")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert ["original", "400", "8.0", "0.7000", "0.6000"] in [line.split() for line in lines]
    assert "0.75 (sum of the submodels), 0.25 (the longest)" in lines[-1]
    said = standin.results(folder)
    assert (said["original"]["accuracy"], said["original"]["seconds"], said["original"]["status"]) == (
        0.7,
        8.0,
        "finished",
    )
    assert said["ratio"] == {"sum_seconds": 6.0, "longest_seconds": 2.0, "sum": 0.75, "longest": 0.25}
    again = standin.sknc("run", folder, "--baseline")
    assert again.returncode == 0
    assert standin.ran(folder)["original.py"] == 1
    assert "ratio" in standin.results(folder)


def test_baseline_is_only_run_when_asked_for(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("",), original="")
    assert standin.sknc("run", folder).returncode == 0
    assert "original.py" not in standin.ran(folder)


def test_programs_run_where_the_user_stands_and_find_his_modules(tmp_path: Path) -> None:
    body = "import neighbour\nprint(neighbour.NAME, os.getcwd())"
    folder = standin.make(tmp_path / "work" / "out", (body,))
    (tmp_path / "work" / "train.py").write_bytes(standin.SOURCE)
    (tmp_path / "work" / "neighbour.py").write_text("NAME = 'found'\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = standin.sknc("run", folder, "--retries", "0", cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    (log,) = (folder / "artifacts").glob("submodel_*/log.txt")
    assert log.read_text() == f"found {elsewhere}\n"


def test_output_of_the_composer_is_streamed_byte_for_byte(tmp_path: Path) -> None:
    body = """sys.stdout.buffer.write(b"\\xff\\x00raw\\n" + b"x" * 300000 + b"\\n"); sys.stdout.flush()
(here / "printed").touch()
while not (here / "seen").exists(): time.sleep(0.01)"""
    folder = standin.make(tmp_path / "out", ("",), compose=body)
    running = standin.start("run", folder)
    assert running.stdout is not None
    # What was printed arrives while the composer still runs.
    first = b""
    while len(first) < 300000:
        first += os.read(running.stdout.fileno(), 65536)
    (folder / "seen").touch()
    assert running.wait(30) == 0
    assert first.startswith(b"composing\n\xff\x00raw\nxxx")
    assert (folder / "artifacts" / "compose" / "log.txt").read_bytes().startswith(first)
    running.stdout.close()


def test_a_reader_that_goes_away_does_not_stop_the_run(tmp_path: Path) -> None:
    body = "for number in range(20000): print('line', number)"
    folder = standin.make(tmp_path / "out", ("",), compose=body)
    running = standin.start("run", folder)
    assert running.stdout is not None
    assert os.read(running.stdout.fileno(), 9)
    running.stdout.close()
    running.wait(30)
    assert standin.results(folder)["status"] == "finished"
    assert (folder / "artifacts" / "compose" / "log.txt").read_text().endswith("prediction: 7\n")


def test_results_say_where_a_run_is(tmp_path: Path) -> None:
    body = "while not (here / 'go').exists(): time.sleep(0.01)"
    folder = standin.make(tmp_path / "out", ("", body))
    running = standin.start("run", folder, "--jobs", "2")
    standin.wait_for(lambda: (folder / "results.json").exists() and "finished" in standin.statuses(folder).values())
    assert standin.results(folder)["status"] == "running"
    (folder / "go").touch()
    assert running.wait(30) == 0
    running.communicate()
    assert standin.results(folder)["status"] == "finished"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--jobs", "0"], "--jobs"),
        (["--jobs", "-1"], "--jobs"),
        (["--retries", "-1"], "--retries"),
        (["--engine", "slurm"], "slurm"),
        (["--scheduler", "tcp://host:1"], "--scheduler is for --engine dask"),
        (["--baseline"], "has no original.py"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], said: str) -> None:
    folder = standin.make(tmp_path / "out", ("",))
    done = standin.sknc("run", folder, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "internal error" not in done.stderr
    assert standin.ran(folder) == {}


def test_dask_names_what_is_missing(tmp_path: Path) -> None:
    folder = standin.make(tmp_path / "out", ("",))
    done = standin.sknc("run", folder, "--engine", "dask")
    assert done.returncode == 2
    assert "dask" in done.stderr
    assert standin.ran(folder) == {}
