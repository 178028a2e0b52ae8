"""Notebooks are read as the script of their code cells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sknc import cli

CELLS = [
    "%matplotlib inline\nimport keras\n!pip install something",
    "%%bash\nls",
    """#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(32), keras.layers.Dense(10, 'softmax')])
model.compile('adam', 'sparse_categorical_crossentropy')""",
    "%%time\nmodel.fit(x, y)\n#SKYNNET:END",
]


def notebook(cells: list[str]) -> str:
    made = [{"cell_type": "code", "source": c, "metadata": {}, "outputs": [], "execution_count": None} for c in cells]
    made.insert(1, {"cell_type": "markdown", "source": "# Text", "metadata": {}})
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def test_a_notebook_is_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.ipynb").write_text(notebook(CELLS), encoding="utf-8")
    assert cli.main(["split", "net.ipynb", "-m", "6"]) == 0
    program = Path("net_split/submodel_00.py").read_text("utf-8")
    assert "# %matplotlib inline\nimport keras\n# !pip install something" in program
    assert "# %%bash\n# ls" in program
    assert "keras.layers.Dense(16)" in program and "skn_runtime.fit(model, x, y)" in program


def test_what_is_no_notebook_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.ipynb"
    broken.write_text("{", encoding="utf-8")
    assert cli.main(["split", str(broken), "-m", "6"]) != 0
    assert "is not a notebook" in capsys.readouterr().err
