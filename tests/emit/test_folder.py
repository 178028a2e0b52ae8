"""Output folders: made, replaced, refused, recovered."""

import json
import os
import stat

import pytest

from sknc.emit import MANIFEST, _exchange, _folder, compare, read_manifest, recover, write
from sknc.errors import EnvironmentProblem, FolderNotOurs, UnknownSchema, UsageError
from tests.emit.versions import version


@pytest.fixture(params=["exchange", "journal"])
def folder(request, tmp_path, monkeypatch):
    if request.param == "journal":
        monkeypatch.setattr(_exchange, "exchange", lambda first, second: False)
    return tmp_path / "deep" / "train_split"


def alone(folder):
    return sorted(folder.parent.iterdir()) == [folder]


def test_nothing_to_do_leaves_the_folder_alone(folder):
    assert write(folder, version(0)) is True
    before = folder.stat().st_ino
    assert write(folder, version(0)) is False
    assert folder.stat().st_ino == before


def test_a_new_folder_and_its_replacement(folder):
    write(folder, version(0))
    assert compare(folder, version(0)) == []
    write(folder, version(1))
    assert compare(folder, version(1)) == []
    assert not (folder / "submodel_11.py").exists()
    assert alone(folder)


def test_what_sknc_did_not_write_stays(folder):
    write(folder, version(0))
    (folder / "artifacts" / "a-1").mkdir(parents=True)
    (folder / "artifacts" / "a-1" / "weights.npz").write_bytes(b"w")
    (folder / "results.json").write_text("{}")
    (folder / "skn_runtime" / "data" / "mine.txt").write_text("mine")
    (folder / "skn_runtime" / "__pycache__").mkdir()
    (folder / "link").symlink_to("artifacts")
    write(folder, version(1))
    assert (folder / "link" / "a-1" / "weights.npz").read_bytes() == b"w"
    assert (folder / "results.json").exists()
    assert (folder / "skn_runtime" / "data" / "mine.txt").read_text() == "mine"
    assert not (folder / "skn_runtime" / "__pycache__").exists()
    assert alone(folder)


def test_artifacts_written_during_a_write_are_kept_too(folder, monkeypatch):
    write(folder, version(0))
    (folder / "artifacts" / "a-1").mkdir(parents=True)
    (folder / "artifacts" / "a-1" / "old").touch()
    finish = _folder._finish

    def late(target):
        if (target / _folder._JOURNAL).exists():
            (target / "artifacts" / "a-1").mkdir(parents=True)
            (target / "artifacts" / "a-1" / "new").touch()
        finish(target)

    monkeypatch.setattr(_folder, "_finish", late)
    write(folder, version(1))
    assert sorted(os.listdir(folder / "artifacts" / "a-1")) == ["new", "old"]


def test_an_empty_folder_is_filled(folder):
    folder.mkdir(parents=True)
    write(folder, version(0))
    assert compare(folder, version(0)) == []


@pytest.mark.parametrize("content", [None, "{", "[]", '{"schema": 1}', '{"sknc": "0.1"}'])
def test_a_folder_of_somebody_else_is_refused(folder, content):
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("years")
    if content is not None:
        (folder / MANIFEST).write_text(content)
    with pytest.raises(FolderNotOurs, match="did not make") as caught:
        write(folder, version(0))
    assert "-o" in caught.value.hint
    assert (folder / "thesis.txt").read_text() == "years"
    assert alone(folder)


def test_an_unknown_schema_is_refused_by_name(folder):
    write(folder, version(0))
    manifest = json.loads((folder / MANIFEST).read_bytes()) | {"schema": 7, "sknc": "9.0"}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(UnknownSchema, match=r"schema 7, written by sknc 9\.0"):
        write(folder, version(1))
    with pytest.raises(UnknownSchema):
        read_manifest(folder)


def test_a_users_file_in_the_way(folder):
    write(folder, version(1))
    (folder / "submodel_11.py").write_text("mine")
    with pytest.raises(FolderNotOurs, match=r"submodel_11\.py"):
        write(folder, version(0))
    assert (folder / "submodel_11.py").read_text() == "mine"
    assert alone(folder)


@pytest.mark.parametrize(
    "name", ["../out.py", "/etc/out.py", "a/../../b", "artifacts/a.py", "", ".", "a//b", "a\\b", "./a", "a\0b"]
)
def test_paths_that_lead_out(folder, name):
    with pytest.raises(UsageError):
        write(folder, {**version(0), name: b""})
    assert not folder.exists()


def test_a_link_to_a_folder_stays_a_link(folder, tmp_path):
    write(folder, version(0))
    link = tmp_path / "link"
    link.symlink_to(folder)
    write(link, version(1))
    assert link.is_symlink()
    assert compare(folder, version(1)) == []


def test_a_file_or_a_circle_as_output(folder, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for name in ("file", "circle"):
        with pytest.raises(UsageError, match=name):
            write(tmp_path / name, version(0))
    assert (tmp_path / "file").read_text() == "x"


def test_the_folder_the_command_runs_in(folder, monkeypatch):
    write(folder, version(0))
    monkeypatch.chdir(folder / "skn_runtime")
    with pytest.raises(UsageError, match="runs in"):
        write(folder, version(1))
    recover(folder)


def test_a_parent_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvironmentProblem, match="cannot write"):
        write(tmp_path / "file" / "split", version(0))


def test_the_mode_of_a_replaced_folder(folder):
    write(folder, version(0))
    folder.chmod(0o770)
    write(folder, version(1))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o770


class Cut(BaseException):
    """Stands for a kill: nothing after it runs in the write."""


STEPS = ["_fill", "_note", "_put_in_place", "_finish", "_move"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_cut_short_at_every_step(folder, monkeypatch, step, when):
    write(folder, version(0))
    (folder / "artifacts").mkdir()
    (folder / "artifacts" / "weights").write_bytes(b"w")
    real, recovering = getattr(_folder, step), _folder._recover

    def cut(*args):
        if step == "_finish" and not (folder / _folder._JOURNAL).exists():
            return real(*args)
        if when == "after":
            real(*args)
        monkeypatch.setattr(_folder, "_recover", lambda target: None)  # a killed process puts nothing right
        raise Cut

    monkeypatch.setattr(_folder, step, cut)
    with pytest.raises(Cut):
        write(folder, version(1))
    monkeypatch.setattr(_folder, step, real)
    monkeypatch.setattr(_folder, "_recover", recovering)
    recover(folder)
    early = step in ("_fill", "_note") or (step, when) == ("_put_in_place", "before")
    assert compare(folder, version(0 if early else 1)) == []
    assert (folder / "artifacts" / "weights").read_bytes() == b"w"
    assert alone(folder)


def test_ctrl_c_puts_things_right_at_once(folder, monkeypatch):
    write(folder, version(0))

    def interrupted(target, new, token):
        raise KeyboardInterrupt

    monkeypatch.setattr(_folder, "_put_in_place", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(folder, version(1))
    assert compare(folder, version(0)) == []
    assert alone(folder)


def test_between_the_two_renames_of_the_journal(tmp_path, monkeypatch):
    """The one moment in which nothing is in place; only without an exchange."""
    monkeypatch.setattr(_exchange, "exchange", lambda first, second: False)
    folder = tmp_path / "train_split"
    write(folder, version(0))
    (folder / "artifacts").mkdir()
    monkeypatch.setattr(_folder, "_finish", lambda target: None)
    write(folder, version(1))
    monkeypatch.undo()
    (new,) = [each for each in tmp_path.iterdir() if "sknc-old" in each.name]
    folder.rename(tmp_path / new.name.replace("old", "new"))
    assert not folder.exists()
    recover(folder)
    assert compare(folder, version(1)) == []
    assert (folder / "artifacts").is_dir()
    assert alone(folder)


@pytest.mark.parametrize("foreign", [["../thesis"], ["/etc/passwd"], ["a/../../b"], 3, [3]])
def test_a_journal_that_leads_elsewhere_is_not_followed(folder, foreign):
    write(folder, version(0))
    token = "0123456789ab"
    (folder / _folder._JOURNAL).write_text(json.dumps({"token": token, "foreign": foreign}))
    old = folder.with_name(f".train_split.sknc-new-{token}")
    old.mkdir()
    (old / "kept").touch()
    (folder.parent / "thesis").touch()
    recover(folder)
    assert (old / "kept").exists()
    assert (folder.parent / "thesis").exists()
    assert compare(folder, version(0)) == []


def test_recover_without_anything_to_do(tmp_path):
    recover(tmp_path / "nowhere" / "at all")
    recover(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_neighbours_are_left_alone(folder):
    write(folder, version(0))
    for name in (".train_split.sknc-new-zz", ".other.sknc-new-0123456789ab", "train_split.sknc-new-0123456789ab"):
        (folder.parent / name).mkdir()
    recover(folder)
    assert len(list(folder.parent.iterdir())) == 4


def test_another_writer_is_waited_for(folder, monkeypatch):
    monkeypatch.setattr(_exchange, "_PATIENCE", 0.1)
    folder.parent.mkdir()
    with _exchange.locked(folder.parent), pytest.raises(EnvironmentProblem, match="another sknc"):
        write(folder, version(0))
    write(folder, version(0))
