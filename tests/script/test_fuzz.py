"""Whatever stands in a script: programs that are Python, or diagnostics; never anything else."""

# ruff: noqa: E501 - scripts are kept in one line

from __future__ import annotations

import random
import sysconfig
import warnings
from pathlib import Path

import pytest

from sknc.diagnostics import has_errors, render_text
from tests.script.generate import script
from tests.script.helpers import compiled

MARKERS = (
    "#SKYNNET:BEGIN", "#SKYNNET:BEGIN_MULTICLASS", "#SKYNNET:END", "#SKYNNET:END", "#SKYNNET:KEEP", "#SKYNNET:begin",
    "# SKYNNET:BEGIN_REGRESSION_ACC", "#SKYNNET:BEGIN_BINARY classes=3 epochs=keep", "#SKYNET:END",
)  # fmt: skip


def check(text: str, submodels: int) -> None:
    """Compile a script; what comes out is whole."""
    made = compiled(text, submodels)
    if has_errors(made.diagnostics):
        assert made.files == {}
        assert all(d.message and d.span.line >= 1 for d in made.diagnostics)
    else:
        assert "compose.py" in made.files
        for name, content in made.files.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(content, name, "exec")
    for one in made.diagnostics:
        render_text([one], {one.span.file: made.source_lines})


@pytest.mark.parametrize("start", range(0, 240, 40))
def test_random_scripts(start: int) -> None:
    for seed in range(start, start + 40):
        check(script(seed), (1, 2, 6, 15)[seed % 4])


@pytest.mark.parametrize("seed", [1108, 1133, 1369, 1375, 1017, 1189, 238, 432])
def test_scripts_that_once_failed(seed: int) -> None:
    for submodels in (1, 2, 6, 15):
        check(script(seed), submodels)


def test_markers_at_random_places_of_real_files() -> None:
    folder = Path(sysconfig.get_paths()["stdlib"])
    names = (
        "dataclasses.py",
        "bisect.py",
        "contextlib.py",
        "keyword.py",
        "textwrap.py",
        "this.py",
        "sched.py",
        "shlex.py",
    )
    r = random.Random(7)
    for round_ in range(16):
        lines = (folder / names[round_ % len(names)]).read_text("utf-8").splitlines()[: 60 + 40 * round_]
        for _ in range(r.randint(1, 4)):
            at = r.randrange(len(lines) + 1)
            near = lines[at - 1] if at and r.random() < 0.7 else ""
            indent = near[: len(near) - len(near.lstrip())]
            lines.insert(at, indent + r.choice(MARKERS))
        check("\n".join(lines) + "\n", 6)


RECURSIVE = {
    "powers": "n = 10\nfor _ in range(300):\n    n = n ** 2\n",
    "lists": "s = [1]\nfor _ in range(300):\n    s = s + s\n",
    "itself": "s = []\ns.append(s)\nd = {}\nd['d'] = d\nf'{s}{d}'\ns == s\nDense(s)\n",
    "a folder": "def walk(d):\n    for e in os.scandir(d):\n        if e.is_dir():\n            walk(e.path)\nwalk('.')\n",
    "two calls": "def f(n):\n    if n > len(sys.argv):\n        return f(n - 1) + f(n - 2)\n    return n\nf(30)\n",
    "a tree": "class T:\n    def __init__(self, n):\n        self.kids = [T(n - 1) for _ in range(3)] if n else []\nT(int(sys.argv[1]))\n",
    "each other": "def f(n):\n    return g(n) + g(n)\ndef g(n):\n    return f(n) * f(n)\nf(1)\n",
    "endless": "def f():\n    return f()\nf()\n",
    "loops": "for a in range(300):\n    for b in range(300):\n        for c in range(300):\n            a + b + c\n",
    "while": "while True:\n    while x:\n        while y:\n            x = y\n    break\n",
    "texts": "s = 'ab'\nfor _ in range(300):\n    s = s + s\n",
    "comprehensions": "[[a * b * c for a in range(99)] for b in range(99) for c in range(99)]\n",
}


@pytest.mark.parametrize("name", RECURSIVE)
def test_what_does_not_end_is_not_followed_to_the_end(name: str) -> None:
    head = "import os, sys, keras\nfrom keras.layers import *\nx = y = 0\n"
    net = "model = keras.Sequential([Dense(64), Dense(10)])\nmodel.compile('adam', 'mse')\nmodel.fit(x, y)\n"
    made = compiled(f"{head}{RECURSIVE[name]}#SKYNNET:BEGIN_MULTICLASS\n{net}#SKYNNET:END\n")
    assert not has_errors(made.diagnostics), [d.message for d in made.diagnostics]
    assert b"Dense(32), Dense(5)" in made.files["submodel_00.py"]
