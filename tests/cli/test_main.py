"""The command line's own manners: quick, lazy, one clear message whatever happens."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sknc
from sknc import cli
from sknc.diagnostics import all_rules
from sknc.errors import MissingExtra, SkncError, TrainingFailed

ROOT = Path(__file__).resolve().parents[2]


def sknc_(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "sknc", *arguments], capture_output=True, text=True, timeout=120, **more
    )


def test_help_lists_the_commands_that_are_there():
    done = sknc_("--help")
    assert done.returncode == 0
    for command in ("split", "check", "explain"):
        assert f"\n  {command} " in done.stdout
    there = {path.stem for path in (ROOT / "sknc" / "cli").glob("[a-z]*.py")}
    listed = {line.split()[0] for line in done.stdout.partition("Commands:")[2].splitlines() if line.strip()}
    assert listed == there


@pytest.mark.parametrize("arguments", [["--help"], ["split", "--help"], ["explain", "SKN101"], ["--version"]])
def test_tensorflow_is_not_imported(arguments):
    code = (
        f"import sys; from sknc.cli import main; main({arguments!r});"
        "print([m for m in ('tensorflow', 'keras') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]")


def test_version_and_module():
    assert sknc_("--version").stdout == f"sknc {sknc.__version__}\n"


def test_no_command_shows_the_help(capsys):
    cli.main([])
    assert "Commands:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (["spilt"], "no command 'spilt'", "sknc split"),
        (["split", "--nope", "x.py"], "--nope", "sknc split --help"),
        (["split"], "SCRIPT", "sknc split --help"),
        (["split", "x.py"], "-m", "sknc split --help"),
        (["split", "x.py", "-m", "0"], "-m", "--help"),
        (["split", "x.py", "-m", "x"], "-m", "--help"),
        (["split", "x.py", "-m", "-3"], "-m", "--help"),
        (["split", "x.py", "-m", "6", "--classes", "0"], "--classes", "--help"),
        (["split", "x.py", "-m", "6", "--budget", "much"], "much", "--help"),
        (["split", "x.py", "-m", "6", "--format", "yaml"], "yaml", "--help"),
        (["split", "x.py", "-m", "6"], "x.py does not exist", "markers"),
        (["split", ".", "-m", "6"], ". is a folder", "script"),
        (["check"], "SCRIPT", "--help"),
        (["check", "nowhere/x.py"], "nowhere/x.py does not exist", None),
        (["explain", "SKN01"], "no diagnostic 'SKN01'", "SKN"),
        (["explain", "nonsense"], "nonsense", "sknc explain"),
    ],
)
def test_wrong_usage(arguments, said, hint, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ") and err.count("error: ") == 1
    assert said in err.splitlines()[0]
    if hint is not None:
        assert f"hint: {hint}" in err or hint in err.splitlines()[1]
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_nearly_right(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    assert cli.main(["split", "trian.py", "-m", "6"]) == 2
    assert "did you mean train.py?" in capsys.readouterr().err


def test_a_script_without_a_command(capsys, tmp_path):
    (tmp_path / "train.py").touch()
    assert cli.main([str(tmp_path / "train.py")]) == 2
    assert "sknc split" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (SkncError("it is so", "do that"), 2, "error: it is so\nhint: do that\n"),
        (SkncError("stale", status=1), 1, "error: stale\n"),
        (TrainingFailed("submodel_00.py failed"), 3, "error: submodel_00.py failed\n"),
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
        (SystemExit(3), 3, ""),
        (MissingExtra("cpu", "sknc run"), 2, "sknc[cpu]"),
        (ModuleNotFoundError("No module named 'keras'", name="keras.layers"), 2, "sknc[cpu]"),
        (ModuleNotFoundError("No module named 'distributed'", name="distributed"), 2, "sknc[dask]"),
    ],
)
def test_statuses(error, status, said, capsys, monkeypatch):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr("sknc.diagnostics.all_rules", fails)
    monkeypatch.setattr("sknc.cli.explain.all_rules", fails)
    assert cli.main(["explain"]) == status
    assert said in capsys.readouterr().err


def test_an_unforeseen_error_is_one_message(capsys, monkeypatch):
    def fails():
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr("sknc.cli.explain.all_rules", fails)
    assert cli.main(["explain"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: internal error: ZeroDivisionError: by zero\nhint: ")
    assert "SKNC_DEBUG=1" in err
    assert "Traceback" not in err
    monkeypatch.setenv("SKNC_DEBUG", "1")
    assert cli.main(["explain"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_closed_pipe_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-m", "sknc", "explain"], stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == ""


def test_a_terminal_that_knows_only_ascii(tmp_path):
    done = sknc_("check", str(tmp_path / "träin.py"), env={"PYTHONIOENCODING": "ascii", "PATH": ""})
    assert done.returncode == 2
    assert "in.py does not exist" in done.stderr
    assert "Traceback" not in done.stderr


def test_explain_every_rule(capsys):
    assert cli.main(["explain"]) == 0
    listed = capsys.readouterr().out
    for rule in all_rules():
        assert f"{rule.code}  " in listed
        assert cli.main(["explain", rule.code.lower()]) == 0
        page = capsys.readouterr().out
        assert rule.title in page and "Wrong:" in page and "Right:" in page
