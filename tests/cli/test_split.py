"""`sknc split` and `sknc check`, from the outside."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sknc
from sknc import cli
from sknc.emit import read_manifest
from sknc.errors import FindingsError, UsageError

ROOT = Path(__file__).resolve().parents[2]
WRONG = "#SKYNNET:BEGIN_MULTICLAS\nx = 1\n#SKYNNET:END\n"


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "samples" / "mlp_digits.py", tmp_path / "train.py")
    return tmp_path / "train.py"


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_as_the_contract_says(script, capsys):
    before = script.read_bytes()
    assert cli.main(["split", "train.py", "-m", "6"]) == 0
    folder = script.parent / "train_split"
    manifest = read_manifest(folder)
    (block,) = manifest["blocks"]
    assert block["kind"] == "multiclass"
    assert (block["requested"], block["submodels"], block["factor"]) == (6, 6, 2)
    files = [program["file"] for program in block["programs"]]
    assert files == [f"submodel_{index:02}.py" for index in range(6)]
    assert set(contents(folder)) == {*manifest["files"], "manifest.json"}
    assert (folder / "skn_runtime" / "__init__.py").exists()
    for name in [*files, block["composer"]]:
        compile((folder / name).read_bytes(), name, "exec")
    assert script.read_bytes() == before
    out = capsys.readouterr().out
    assert "submodel_00.py ... submodel_05.py" in out
    assert "next: sknc run train_split" in out


def test_the_summary_tells_the_budget_and_that_one_program_is_not_composed(script, capsys):
    assert cli.main(["split", str(script), "-m", "1", "--budget", "2GiB"]) == 0
    out = capsys.readouterr().out
    assert "2.00 GiB for each training" in out
    assert "what is one program as it is: compose.py" in out and "coupling" not in out
    assert cli.main(["split", str(script), "-m", "6"]) == 0
    out = capsys.readouterr().out
    assert "coupling, in compose.py" in out and "budget" not in out


def test_two_splits_and_the_check(script, capsys):
    assert cli.main(["split", "train.py", "-m", "6", "--check"]) == 1
    assert not (script.parent / "train_split").exists()
    cli.main(["split", "train.py", "-m", "6"])
    cli.main(["split", "train.py", "-m", "6", "-o", "again"])
    assert contents(script.parent / "train_split") == contents(script.parent / "again")
    assert cli.main(["split", "train.py", "-m", "6", "--check"]) == 0
    assert cli.main(["split", "train.py", "-m", "3", "--check"]) == 1
    capsys.readouterr()
    assert cli.main(["split", "train.py", "-m", "6"]) == 0
    assert "was up to date" in capsys.readouterr().out


@pytest.mark.parametrize("changed", ["script", "program", "runtime", "manifest", "version", "missing", "extra"])
def test_check_sees_one_character(script, changed, monkeypatch, capsys):
    cli.main(["split", "train.py", "-m", "3"])
    folder = script.parent / "train_split"
    path = {
        "script": script,
        "program": folder / "submodel_01.py",
        "runtime": folder / "skn_runtime" / "__init__.py",
        "manifest": folder / "manifest.json",
    }.get(changed)
    if path is not None:
        path.write_bytes(path.read_bytes() + b"#")
    elif changed == "version":
        monkeypatch.setattr("sknc.emit._manifest.__version__", sknc.__version__ + "1")
    elif changed == "missing":
        (folder / "submodel_02.py").unlink()
    else:
        (folder / "numpy.py").touch()
    assert cli.main(["split", "train.py", "-m", "3", "--check"]) == 1
    assert "not what a split would write" in capsys.readouterr().err


def test_diff_writes_nothing_and_can_be_applied(script, capfd):
    assert cli.main(["split", "train.py", "-m", "3", "--diff"]) == 0
    diff = capfd.readouterr().out
    assert sorted(path.name for path in script.parent.iterdir()) == ["train.py"]
    assert diff.startswith("--- train.py\n+++ submodel_00.py\n")
    cli.main(["split", "train.py", "-m", "3"])
    program = (script.parent / "train_split" / "submodel_00.py").read_bytes()
    one = diff.partition("--- train.py\n+++ submodel_01.py\n")[0]
    patched = subprocess.run(
        ["patch", "-s", "-o", "-", str(script)], input=one.encode(), capture_output=True, check=True
    ).stdout
    assert patched == program


def test_json(script, capfd):
    assert cli.main(["split", "train.py", "-m", "6", "--format", "json"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert (said["schema"], said["folder"], said["written"]) == (1, "train_split", True)
    assert len(said["blocks"][0]["programs"]) == 6
    assert cli.main(["split", "train.py", "-m", "6", "--check", "--format", "json"]) == 0
    assert json.loads(capfd.readouterr().out)["differences"] == []


@pytest.mark.parametrize("command", [["split", "-m", "6"], ["check"]])
def test_findings(script, command, capsys):
    script.write_text(WRONG)
    assert cli.main([command[0], "train.py", *command[1:]]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error[SKN1")
    assert " --> train.py:1:" in err
    assert "hint: " in err
    assert sorted(path.name for path in script.parent.iterdir()) == ["train.py"]
    assert cli.main([command[0], "train.py", *command[1:], "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["diagnostics"][0]["line"] == 1
    assert cli.main([command[0], "train.py", *command[1:], "--format", "github"]) == 1
    assert capsys.readouterr().out.startswith("::error title=sknc (SKN1")


def test_check_says_when_all_is_well(script, capsys):
    assert cli.main(["check", "train.py", "train.py"]) == 0
    assert "2 scripts: nothing that stops a split" in capsys.readouterr().out


def test_a_script_that_is_not_text(script, capsys):
    script.write_bytes(b"\xff\xfe\x00#SKYNNET:BEGIN\n")
    assert cli.main(["check", "train.py"]) in (1, 2)
    assert "error" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["file", "theirs", ".", "file/below"])
def test_outputs_that_cannot_be(script, output, capsys):
    (script.parent / "file").write_text("x")
    (script.parent / "theirs").mkdir()
    (script.parent / "theirs" / "thesis.txt").write_text("years")
    before = contents(script.parent)
    assert cli.main(["split", "train.py", "-m", "3", "-o", output]) == 2
    assert "error: " in capsys.readouterr().err
    assert contents(script.parent) == before


def test_a_script_inside_the_output_folder(script, capsys):
    cli.main(["split", "train.py", "-m", "3"])
    inside = script.parent / "train_split" / "train.py"
    shutil.copy(script, inside)
    assert cli.main(["split", str(inside), "-m", "3", "-o", "train_split"]) == 2
    assert "lies inside the output folder" in capsys.readouterr().err
    assert inside.read_bytes() == script.read_bytes()


def test_a_run_at_work_is_not_disturbed(script, capsys):
    from sknc.engines.lock import acquire

    cli.main(["split", "train.py", "-m", "3"])
    before = contents(script.parent / "train_split")
    with acquire(script.parent / "train_split", "run"):
        assert cli.main(["split", "train.py", "-m", "6"]) == 2
    assert "at work" in capsys.readouterr().err
    after = contents(script.parent / "train_split")
    assert {name: after[name] for name in before} == before
    assert cli.main(["split", "train.py", "-m", "6"]) == 0


def test_artifacts_survive(script):
    cli.main(["split", "train.py", "-m", "3"])
    kept = script.parent / "train_split" / "artifacts" / "submodel_00-0123456789ab" / "weights.npz"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"trained")
    cli.main(["split", "train.py", "-m", "6"])
    assert kept.read_bytes() == b"trained"


def test_nothing_of_the_script_is_run(script):
    canary = script.parent / "canary"
    script.write_text(f"open({str(canary)!r}, 'w')\n" + script.read_text())
    code = (
        "import sys; from sknc.cli import main; main(['check', 'train.py']); main(['split', 'train.py', '-m', '6']);"
        "print([m for m in ('tensorflow', 'keras') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]")
    assert (script.parent / "train_split" / "compose.py").exists()
    assert not canary.exists()


def test_the_library_does_what_the_command_does(script):
    cli.main(["split", "train.py", "-m", "6"])
    result = sknc.split("train.py", 6, "by_library")
    assert result.written
    assert result.folder == Path("by_library")
    assert len(result.blocks[0]["programs"]) == 6
    assert contents(script.parent / "train_split") == contents(script.parent / "by_library")
    script.write_text(WRONG)
    with pytest.raises(FindingsError) as caught:
        sknc.split("train.py")
    assert caught.value.diagnostics[0].span.line == 1
    with pytest.raises(UsageError):
        sknc.split("train.py", submodels=0)
    with pytest.raises(UsageError, match="much"):
        sknc.split("train.py", budget="much")


def test_an_unwritable_parent(script, capsys):
    if os.geteuid() == 0:
        target = "/proc/sknc_split"  # even root cannot make a folder here
    else:
        (script.parent / "closed").mkdir(mode=0o500)
        target = "closed/split"
    assert cli.main(["split", "train.py", "-m", "3", "-o", target]) == 2
    assert f"cannot write {target}" in capsys.readouterr().err.replace(str(script.parent) + "/", "")
