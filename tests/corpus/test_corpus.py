"""Scripts in the manner of tutorials. Each says in its first comments what a split makes of it.

# split: -m 6                     the number of submodels that is asked for
# widths: 64->32 10->n            the widths in the order of the text; n: the classes of a submodel, expr: at run time,
#                                 none: the original at full width
# refused: TEXT|TEXT : why        instead: the line of the first error has one of these texts
"""

import importlib
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from sknc.splitting import prepare

FOLDER = Path(__file__).resolve().parent
SCRIPTS = sorted(path for path in FOLDER.glob("[lt][0-9_]*.py"))
ACCEPTED = [path for path in SCRIPTS if not path.stem.endswith("_refused")]
REFUSED = [path for path in SCRIPTS if path.stem.endswith("_refused")]


def said(path, what):
    """Return what a script's first comments say under a word."""
    text = path.read_text(encoding="utf-8-sig")
    found = re.search(rf"^# {what}: (.*)$", text, re.MULTILINE)
    return "" if found is None else found.group(1).strip()


def split(path):
    return prepare(path, submodels=int(said(path, "split").removeprefix("-m ")))


def name(path):
    return path.stem


def shown(widths, classes):
    """Write widths as the scripts' comments do."""
    words = []
    for old, new in widths:
        if not isinstance(old, int):
            words.append("expr")
        elif old == classes != new:
            words.append(f"{old}->n")
        else:
            words.append(f"{old}->{new}")
    return words


@pytest.mark.parametrize("path", ACCEPTED, ids=name)
def test_accepted(path):
    made = split(path)
    assert [d for d in made.diagnostics if d.severity == "error"] == []
    for program, content in made.programs.items():
        compile(content, program, "exec")
    found = []
    for block in made.blocks:
        program = block["programs"][0]
        found += shown(program["widths"].values(), block["classes"])
    assert sorted(found or ["none"]) == sorted(said(path, "widths").split())


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A function that writes a script's files and builds the networks of some programs, untrained."""

    def make(made):
        for file, content in made.files.items():
            place = tmp_path / "programs" / file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["program"])
        monkeypatch.syspath_prepend(tmp_path / "programs")
        runtime = importlib.import_module("skn_runtime")
        models = []
        for block in made.blocks[:1]:  # a later block needs what the first has trained
            for program in (block["programs"][0], block["programs"][-1]):
                models.append((program, runtime.build_only(tmp_path / "programs" / program["file"])))
        return models

    yield make
    for module in [name for name in sys.modules if name.partition(".")[0] == "skn_runtime"]:
        del sys.modules[module]


def sizes(model):
    """Count the widths of the layers of a built model."""
    found = Counter()
    for layer in model._flatten_layers():
        for size in ("units", "filters", "output_dim"):
            found[getattr(layer, size, None)] += 1
    return found


@pytest.mark.parametrize("path", ACCEPTED, ids=name)
def test_builds(path, build, monkeypatch):
    monkeypatch.setenv("DEEP", "1")  # t_conditional_depth.py
    made = split(path)
    for program, model in build(made):
        widths = {layer: new for layer, (old, new) in program["widths"].items() if isinstance(old, int)}
        expected = Counter(new for layer, new in widths.items() if not layer.startswith("Reshape"))
        assert not expected - sizes(model)
        if model.built and made.blocks[0]["kind"] == "multiclass" and made.blocks[0]["submodels"] > 1:
            assert model.output_shape[-1] == len(program["classes"])


@pytest.mark.parametrize("path", REFUSED, ids=name)
def test_refused(path):
    made = split(path)
    errors = [d for d in made.diagnostics if d.severity == "error"]
    assert errors, "it is not refused"
    assert not made.files
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    texts = said(path, "refused").partition(" : ")[0].split("|")
    line = lines[errors[0].span.line - 1]
    assert any(text in line for text in texts), f"{errors[0].message} at {line!r}"
    assert errors[0].hint


def test_every_script_says_what_is_expected():
    assert len(SCRIPTS) > 60
    for path in SCRIPTS:
        word = "refused" if path in REFUSED else "widths"
        assert said(path, "split"), path.name
        assert said(path, word), path.name
