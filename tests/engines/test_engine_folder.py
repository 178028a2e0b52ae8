"""Folders that cannot be run, that were edited, and cleaning."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sknc.engines import folder as folders
from sknc.errors import FolderNotOurs, InputProblem, SkncError, UnknownSchema
from tests.engines import standin


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return standin.make(tmp_path / "out", ("", ""))


def _edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def test_reading(folder: Path) -> None:
    split = folders.read(folder)
    assert [program.task.name for program in split.submodels] == ["submodel_00.py", "submodel_01.py"]
    assert (split.source, split.changed, split.original) == ("train.py", (), None)
    assert split.submodels[0].lines == ((9, 3, 1),)
    assert split.blocks[0].kind == "multiclass"


def test_blocks_are_in_order_whatever_the_manifest_does(tmp_path: Path) -> None:
    bodies = {"b0_submodel_00.py": "", "b1_submodel_00.py": ""}
    folder = standin.make(tmp_path / "out", bodies, blocks=[["b0_submodel_00.py"], ["b1_submodel_00.py"]])
    _edit(folder, lambda manifest: manifest["blocks"].reverse())
    split = folders.read(folder)
    assert [block.index for block in split.blocks] == [0, 1]
    assert [program.task.name for program in split.submodels] == ["b0_submodel_00.py", "b1_submodel_00.py"]
    # One composer for all of them.
    assert [program.task.name for program in split.composers] == ["compose.py"]


def test_there_is_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(InputProblem, match="does not exist"):
        folders.read(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(InputProblem, match="is a file"):
        folders.read(tmp_path / "file")


@pytest.mark.parametrize("name", ["run", "clean"])
def test_folders_of_others_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / "thesis.txt").write_text("years of work")
    with pytest.raises(FolderNotOurs):
        folders.read(tmp_path)
    done = standin.sknc(name, tmp_path)
    assert done.returncode == 2
    assert "not a folder that sknc made" in done.stderr
    assert (tmp_path / "artifacts" / "thesis.txt").exists()


def test_another_schema_is_named(folder: Path) -> None:
    _edit(folder, lambda manifest: manifest.update(schema=99))
    with pytest.raises(UnknownSchema, match="99"):
        folders.read(folder)
    done = standin.sknc("run", folder)
    assert done.returncode == 2
    assert "99" in done.stderr


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest.update(blocks=[]),
        lambda manifest: manifest.update(blocks=[7]),
        lambda manifest: manifest["blocks"][0].update(programs=[]),
        lambda manifest: manifest["blocks"][0].pop("composer"),
        lambda manifest: manifest["blocks"][0]["programs"][0].pop("file"),
        lambda manifest: manifest["blocks"][0]["programs"][0].update(file="../evil.py"),
        lambda manifest: manifest["blocks"][0]["programs"][0].update(file="/bin/true"),
        lambda manifest: manifest["blocks"][0]["programs"][0].update(file="submodel_01.py"),
        lambda manifest: manifest["blocks"][0]["programs"][0].update(lines=[[1]]),
        lambda manifest: manifest["blocks"][0].update(composer="skn_runtime/__init__.py"),
        lambda manifest: manifest.update(files=[]),
    ],
)
def test_an_edited_manifest_is_refused(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    _edit(folder, change)
    with pytest.raises(SkncError, match="damaged") as caught:
        folders.read(folder)
    assert caught.value.status == 2


def test_a_manifest_that_is_no_json(folder: Path) -> None:
    (folder / "manifest.json").write_bytes(b"\xff{")
    done = standin.sknc("run", folder)
    assert done.returncode == 2
    assert "internal error" not in done.stderr
    assert standin.ran(folder) == {}


def test_a_missing_program(folder: Path) -> None:
    (folder / "submodel_01.py").unlink()
    done = standin.sknc("run", folder)
    assert done.returncode == 2
    assert "submodel_01.py is missing" in done.stderr
    assert standin.ran(folder) == {}


def test_a_program_that_was_edited_is_run_as_it_is_now_with_a_warning(folder: Path) -> None:
    with open(folder / "submodel_01.py", "a") as program:
        program.write("print('mine')\n")
    done = standin.sknc("run", folder)
    assert done.returncode == 0, done.stderr
    assert "submodel_01.py was changed after the split; what is there now is run" in done.stderr
    assert "submodel_00.py was changed" not in done.stderr
    (log,) = (folder / "artifacts").glob("submodel_01-*/log.txt")
    assert log.read_text() == "mine\n"


def test_a_read_only_folder(folder: Path) -> None:
    folder.chmod(0o555)
    done = standin.sknc("run", folder, plain_user=True)
    folder.chmod(0o755)
    assert done.returncode == 2
    assert f"cannot write in {folder}: Permission denied" in done.stderr
    assert "internal error" not in done.stderr


def test_results_that_cannot_be_written(folder: Path) -> None:
    (folder / "results.json").mkdir()
    done = standin.sknc("run", folder)
    assert done.returncode == 2
    assert f"cannot write in {folder}" in done.stderr
    assert standin.ran(folder) == {}
    assert not list(folder.glob(".results.json.*"))


def test_clean_removes_what_runs_produced_and_nothing_else(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert standin.sknc("run", folder).returncode == 0
    (folder / "ran.txt").unlink()
    (folder / "notes.txt").write_text("mine")
    cache = folder / "skn_runtime" / "__pycache__"
    cache.mkdir(exist_ok=True)
    (cache / "x.pyc").write_bytes(b"1234")
    files = [path for path in (folder / "artifacts").rglob("*") if path.is_file() and path.name != ".lock"]
    size = sum(path.stat().st_size for path in [*files, folder / "results.json"]) + 4
    done = standin.sknc("clean", folder)
    assert done.returncode == 0, done.stderr
    assert "removed artifacts/, results.json, skn_runtime/__pycache__/" in done.stdout
    assert f"{len(files) + 2} files" in done.stdout
    assert f"{size / 1024:.1f} KiB" in done.stdout
    (folder / "notes.txt").unlink()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    again = standin.sknc("clean", folder)
    assert again.returncode == 0
    assert "nothing to remove" in again.stdout


def test_clean_does_not_follow_links(folder: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "kept.txt").write_text("kept")
    (folder / "artifacts").symlink_to(scratch)
    done = standin.sknc("clean", folder)
    assert done.returncode == 0, done.stderr
    assert "what it leads to is left alone" in done.stdout
    assert not os.path.lexists(folder / "artifacts")
    assert (scratch / "kept.txt").read_text() == "kept"


def test_ranges() -> None:
    assert folders.ranges([]) == ""
    assert folders.ranges([3]) == "3"
    assert folders.ranges([0, 1]) == "0, 1"
    assert folders.ranges([0, 1, 2, 5, 7, 8, 9, 10]) == "0-2, 5, 7-10"
