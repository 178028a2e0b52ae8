"""Manifests, comparisons, diffs and the files that travel along."""

import hashlib
import json
from pathlib import Path

import pytest

import sknc
from sknc.emit import (
    Difference,
    assemble,
    build_manifest,
    compare,
    diff_text,
    parse_manifest,
    read_manifest,
    render_template,
    runtime_files,
    write,
)
from sknc.errors import EnvironmentProblem
from tests.emit.versions import version


def test_what_a_manifest_says():
    files = {"b.py": b"b", "a.py": b"a"}
    manifest = parse_manifest(build_manifest("/some/where/träin.py", b"source", [{"index": 0}], files))
    assert manifest == {
        "schema": 1,
        "sknc": sknc.__version__,
        "source": {"file": "träin.py", "sha256": hashlib.sha256(b"source").hexdigest()},
        "blocks": [{"index": 0}],
        "files": {name: hashlib.sha256(files[name]).hexdigest() for name in ("a.py", "b.py")},
    }


def test_the_same_bytes_whatever_the_order():
    first = build_manifest("t.py", b"", [{"a": 1, "b": [2]}], {"x": b"1", "y": b"2"})
    second = build_manifest("t.py", b"", [{"b": [2], "a": 1}], {"y": b"2", "x": b"1"})
    assert first == second
    assert first.endswith(b"}\n")


def test_no_manifest(tmp_path):
    with pytest.raises(EnvironmentProblem, match="is not an output folder"):
        read_manifest(tmp_path)
    with pytest.raises(EnvironmentProblem, match="does not exist"):
        read_manifest(tmp_path / "nowhere")


def test_a_damaged_manifest():
    manifest = json.loads(build_manifest("t.py", b"", [], {}))
    del manifest["blocks"]
    with pytest.raises(EnvironmentProblem, match="'blocks'"):
        parse_manifest(json.dumps(manifest).encode())


def test_compare_tells_what_differs(tmp_path):
    folder = tmp_path / "split"
    write(folder, version(0))
    (folder / "artifacts").mkdir()
    (folder / "artifacts" / "x.py").touch()
    (folder / "log.txt").touch()
    (folder / "skn_runtime" / "__pycache__").mkdir()
    assert compare(folder, version(0)) == []
    (folder / "compose.py").write_bytes(b"# compose 1\n")
    (folder / "submodel_01.py").unlink()
    (folder / "skn_runtime" / "more.txt").touch()
    (folder / "numpy.py").touch()
    assert compare(folder, version(0)) == [
        Difference("compose.py", "changed"),
        Difference("numpy.py", "extra"),
        Difference("skn_runtime/more.txt", "extra"),
        Difference("submodel_01.py", "missing"),
    ]


def test_a_program_of_an_earlier_split_is_extra(tmp_path):
    write(tmp_path / "split", version(0))
    assert Difference("submodel_11.py", "extra") in compare(tmp_path / "split", version(1))


def test_compare_without_a_folder(tmp_path):
    assert {each.what for each in compare(tmp_path / "nowhere", version(0))} == {"missing"}


def test_diff_keeps_ends_of_lines():
    assert diff_text("a.py", "x\r\ny\x0cz", "b.py", "x\r\ny\x0cw") == (
        "--- a.py\n+++ b.py\n@@ -1,2 +1,2 @@\n x\r\n"
        "-y\x0cz\n\\ No newline at end of file\n+y\x0cw\n\\ No newline at end of file\n"
    )
    assert diff_text("a.py", "x\n", "b.py", "x\n") == ""


def test_the_runtime_travels_byte_for_byte():
    root = Path(sknc.__file__).parent / "runtime"
    files = runtime_files()
    assert files
    for name, content in files.items():
        assert (root / name.removeprefix("skn_runtime/")).read_bytes() == content
    assert not any("__pycache__" in name or name.endswith(".pyc") for name in files)
    expected = [path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert len(files) == len(expected)


def test_a_whole_folder():
    files = assemble({"submodel_00.py": b"x"}, [{"index": 0}], "train.py", b"source")
    manifest = parse_manifest(files["manifest.json"])
    assert set(manifest["files"]) == set(files) - {"manifest.json"}
    assert "submodel_00.py" in files


def test_templates_are_strict():
    import jinja2

    with pytest.raises(jinja2.UndefinedError, match="rules"):
        render_template("diagnostics.md.j2")
