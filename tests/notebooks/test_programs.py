"""Programs of notebooks run without IPython."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest

from sknc import cli
from sknc.notebooks import as_script
from tests.notebooks.helpers import BLOCK, HEAD, notebook


def run(*cells: str) -> str:
    script, out = as_script(notebook(*cells).encode(), "net.ipynb"), io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(script, "net.ipynb", "exec"), {})
    return out.getvalue()


def test_display_prints() -> None:
    assert run("def f():\n    display('a', 1, display_id=True)", "f()") == "a 1\n"


def test_there_is_no_ipython() -> None:
    assert run("if 'colab' in str(get_ipython()):\n    !pip install a\nprint(get_ipython())") == "None\n"


def test_the_future_comes_first() -> None:
    assert run('"""About."""\nfrom __future__ import annotations\ndef f(a: B): display(a)', "f(2)") == "2\n"


@pytest.mark.parametrize(
    "own",
    [
        "from IPython.display import display",
        "from IPython.display import *",
        "def display(x): pass",
        "display = print",
        "import tools.display as display",
        "def f(display): display(1)",
    ],
)
def test_a_name_that_the_notebook_gives_a_meaning_is_left_alone(own: str) -> None:
    assert "def display(*shown" not in as_script(notebook(own, "display(1)").encode(), "n").decode()


def test_nothing_is_defined_that_is_not_used() -> None:
    text = as_script(notebook("print('display, get_ipython')\na.display()").encode(), "n").decode()
    assert text == "# coding: utf-8\n# %% cell 1\nprint('display, get_ipython')\na.display()\n\n"


def test_a_cell_cannot_change_the_encoding() -> None:
    assert run("# -*- coding: latin-1 -*-\nprint('\u00e9')") == "\u00e9\n"


def test_all_programs_have_what_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = BLOCK.replace("model.fit(", "display(model)\n%time history = model.fit(")
    Path("net.ipynb").write_text(notebook(HEAD, "# Text", block, "display(history)"), encoding="utf-8")
    assert cli.main(["split", "net.ipynb", "-m", "3"]) == 0
    for name in ("submodel_00.py", "compose.py"):
        program = Path("net_split", name).read_text("utf-8")
        compile(program, name, "exec")
        assert program.index("def display(*shown") < program.index("# %% cell 3") < program.index("display(model)")
    assert "history = skn_runtime.fit(model, x, y" in Path("net_split/submodel_00.py").read_text("utf-8")
    assert "Dense(43, 'relu')" in Path("net_split/submodel_00.py").read_text("utf-8")
    assert json.loads(Path("net_split/manifest.json").read_text("utf-8"))["schema"] == 1
    assert cli.main(["split", "net.ipynb", "-m", "3", "--check"]) == 0
