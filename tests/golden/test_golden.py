"""Every golden case: its output, a stable second run, and programs that keep what stands outside the block."""

import re

import pytest

from sknc.diagnostics import has_errors
from tests.golden.harness import cases, compile_case, outcome, read, render

BEGIN = re.compile(rb"^[^\n]*#SKYNNET:BEGIN", re.MULTILINE)


def named(path):
    return path.stem


@pytest.mark.parametrize("path", cases(), ids=named)
def test_output(path, tmp_path):
    case = read(path)
    found = outcome(case, compile_case(case, tmp_path), tmp_path)
    assert found == case.expected, "if this is meant: make golden"
    assert render(case, found) == path.read_bytes().decode("utf-8")


@pytest.mark.parametrize("path", cases(), ids=named)
def test_a_second_run_is_the_same(path, tmp_path):
    case = read(path)
    (tmp_path / "other").mkdir()
    first, second = compile_case(case, tmp_path), compile_case(case, tmp_path / "other")
    assert first.files == second.files
    assert first.blocks == second.blocks


@pytest.mark.parametrize("path", cases(), ids=named)
def test_programs_are_the_script_but_for_the_block(path, tmp_path):
    case = read(path)
    made = compile_case(case, tmp_path)
    if has_errors(made.diagnostics):
        assert not made.files
        return
    source = case.script.encode("utf-8")
    before = source[: BEGIN.search(source).start()]
    after = source[source.rindex(b"#SKYNNET:END") :].partition(b"\n")[2]
    for name, content in made.files.items():
        compile(content, name, "exec")
        assert content.startswith(before), name
        if name.startswith("compose"):
            assert content.endswith(after), name
