"""Messages about a notebook name the cell and the line inside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sknc import cli
from sknc.script.cells import CellLine, cells_of, locate
from tests.notebooks.helpers import BLOCK, HEAD, notebook


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)

    def run(*cells: str, form: str = "text") -> str:
        Path("net.ipynb").write_text(notebook(*cells), encoding="utf-8")
        cli.main(["check", "net.ipynb", "--format", form])
        out, err = capsys.readouterr()
        return err if form == "text" else out

    return run


MISSPELT = BLOCK.replace("MULTICLASS", "MULTICLAS")


def test_text_names_the_cell_among_all_cells(check) -> None:
    text = check("# Text", HEAD, "# Text", "\n" + MISSPELT)
    assert "--> net.ipynb: cell 4, line 2, column 1\n" in text
    assert "2 | #SKYNNET:BEGIN_MULTICLAS\n" in text


def test_json_has_the_cell_beside_the_line_of_the_script(check) -> None:
    found = json.loads(check("# Text", HEAD, MISSPELT, form="json"))["diagnostics"][0]
    assert (found["file"], found["cell"], found["cell_line"], found["col"]) == ("net.ipynb", 3, 1, 1)
    assert found["line"] == found["end_line"] > 4


def test_json_of_a_script_has_no_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "net.py"
    script.write_text(f"# %% cell 1\n{HEAD}\n{MISSPELT}\n", encoding="utf-8")
    cli.main(["check", str(script), "--format", "json"])
    found = json.loads(capsys.readouterr().out)["diagnostics"][0]
    assert found["line"] == 5 and "cell" not in found


def test_github_annotates_the_file_and_says_the_cell(check) -> None:
    text = check(HEAD, MISSPELT, form="github")
    assert text.startswith("::error title=sknc (SKN102),file=net.ipynb::cell 2, line 1: '#SKYNNET:BEGIN_MULTICLAS'")


def test_lines_inside_messages_are_those_of_the_cell(check) -> None:
    loop = "\nfor i in range(2):\n" + "\n".join(f"    {line}" for line in BLOCK.split("\n"))
    assert "in the loop of line 2 of cell 2:" in check(HEAD, loop)


@pytest.mark.parametrize(
    ("cells", "place", "message"),
    [
        (["x = (1,\n2]"], "cell 2, line 2, column 2", "does not match opening parenthesis '(' on line 1 of cell 2"),
        (["x = 1\nif x:", "y = 2"], "cell 3, line 1", "indented block after 'if' statement on line 2 of cell 2"),
        (["x = 1", "x = = 1"], "cell 3, line 1, column 5", "invalid syntax"),
    ],
)  # fmt: skip
def test_what_is_not_python(check, cells: list[str], place: str, message: str) -> None:
    text = check(HEAD, *cells)
    assert f"--> net.ipynb: {place}" in text and message in text
    assert "hint: running the cell in Jupyter shows the same place" in text and "py_compile" not in text


def test_values_of_commands_are_warned_of(check) -> None:
    text = check(HEAD, "\nfiles = !ls\nif x:\n    %cd data", BLOCK)
    assert "warning[SKN240]: programs do not run '!ls': files is [] in them\n --> net.ipynb: cell 2, line 2" in text
    assert "warning[SKN240]: programs do not run '%cd data'\n --> net.ipynb: cell 2, line 4, column 5" in text
    assert text.count("SKN240") == 2
    assert "run '%%cython'\n --> net.ipynb: cell 2, line 1, column 1" in check(HEAD, "%%cython\ndef f(): ...", BLOCK)
    assert "SKN240" not in check(HEAD, "%%bash\nls", "!ls\n%matplotlib inline\nx?\nnote = '# not run: %cd'", BLOCK)


def test_a_comment_that_looks_like_a_header_is_none() -> None:
    cells = cells_of("# coding\n# %% cell 2\nx\n# %% cell 1\n# %% cell 2\n# %% cell 4\ny", "a.ipynb")
    assert cells == ((2, 2), (6, 4))
    assert [locate(cells, line) for line in (1, 2, 3, 5, 7)] == [(0, 0), (2, 1), (2, 1), (2, 3), (4, 1)]
    assert cells_of("# %% cell 1\n", "a.py") == ()


def test_a_line_of_a_cell_is_a_number_with_another_text() -> None:
    line = CellLine(7, ((2, 2), (6, 4)))
    assert line == 7 and line + 1 == 8 and json.dumps([line]) == "[7]"
    assert f"{line}" == str(line) == "1 of cell 4"
    assert f"{CellLine(1, ((2, 2),))}" == "1"
