"""Markers: where comments can stand, what is a marker and what only looks like one."""

from __future__ import annotations

import pytest

from sknc.script.markers import find_blocks
from sknc.script.source import parse_source
from tests.script.helpers import block, compiled, dense, errors, line_of, program

BODY = "model = 1\nmodel.fit(x)\n"


def found(text: str) -> list[tuple[str, int]]:
    """Return code and line of what is wrong with a text's markers."""
    source = parse_source(text.encode(), "train.py")
    return [(d.code, d.span.line) for d in find_blocks(source).diagnostics]


def blocks(text: str) -> list[tuple[str | None, tuple[str, ...], dict[str, str], int]]:
    """Return kind, measures, keys and number of statements of each block."""
    source = parse_source(text.encode(), "train.py")
    markers = find_blocks(source)
    assert not markers.diagnostics
    return [(b.begin.kind, b.begin.measures, b.begin.keys, len(b.statements)) for b in markers.blocks]


def marked(begin: str, end: str = "#SKYNNET:END") -> str:
    return f"{begin}\n{BODY}{end}\n"


@pytest.mark.parametrize(
    ("begin", "kind", "measures", "keys"),
    [
        ("#SKYNNET:BEGIN", None, (), {}),
        ("#SKYNNET:BEGIN_MULTICLASS", "multiclass", (), {}),
        ("#SKYNNET:BEGIN_MULTICLASS_ACC", "multiclass", ("acc",), {}),
        ("#SKYNNET:BEGIN_MULTICLASS_LOSS", "multiclass", ("loss",), {}),
        ("#SKYNNET:BEGIN_MULTICLASS_ACC_LOSS", "multiclass", ("acc", "loss"), {}),
        ("#SKYNNET:BEGIN_ACC", None, ("acc",), {}),
        ("#SKYNNET:BEGIN_BINARYCLASS", "binary", (), {}),
        ("#SKYNNET:BEGIN_BINARY_ACC", "binary", ("acc",), {}),
        ("#SKYNNET:BEGIN_REGRESSION_LOSS", "regression", ("loss",), {}),
        ("#SKYNNET:BEGIN_LOCAL_REGRESSION", "local_regression", (), {}),
        ("#SKYNNET:BEGIN_LOCAL_REGRESSION_LOSS", "local_regression", ("loss",), {}),
        ("# SKYNNET:BEGIN_MULTICLASS", "multiclass", (), {}),
        ("#  SKYNNET : BEGIN_MULTICLASS  ", "multiclass", (), {}),
        ("#\tSKYNNET:\tBEGIN_MULTICLASS\t", "multiclass", (), {}),
        ("#SKYNNET:BEGIN_MULTICLASS classes=101", "multiclass", (), {"classes": "101"}),
        (
            "#SKYNNET:BEGIN_MULTICLASS classes=10   compose=product epochs=keep",
            "multiclass",
            (),
            {"classes": "10", "compose": "product", "epochs": "keep"},
        ),
    ],
)
def test_begin(begin: str, kind: str | None, measures: tuple[str, ...], keys: dict[str, str]) -> None:
    assert blocks(marked(begin)) == [(kind, measures, keys, 2)]


@pytest.mark.parametrize("end", ["#SKYNNET:END", "# SKYNNET:END ", "#SKYNNET: END\t"])
def test_end(end: str) -> None:
    assert len(blocks(marked("#SKYNNET:BEGIN", end))) == 1


@pytest.mark.parametrize(
    ("comment", "nearest"),
    [
        ("#SKYNNET:BEGIN_MULTICLAS", "#SKYNNET:BEGIN_MULTICLASS"),
        ("#SKYNNET:BEGIN_MULTI_CLASS", "#SKYNNET:BEGIN_MULTICLASS"),
        ("#SKYNNET:BEGIN_BINARYCLAS_ACC", "#SKYNNET:BEGIN_BINARYCLASS_ACC"),
        ("#SKYNNET:BEGIN_REGRESION", "#SKYNNET:BEGIN_REGRESSION"),
        ("#SKYNNET:BEGIN_MULTICLASS_ACCURACY", "#SKYNNET:BEGIN_MULTICLASS_ACC"),
        ("#skynnet:begin_multiclass", "#SKYNNET:BEGIN_MULTICLASS"),
        ("#Skynnet:Begin_Multiclass", "#SKYNNET:BEGIN_MULTICLASS"),
        ("#SKYNET:BEGIN_MULTICLASS", "#SKYNNET:BEGIN_MULTICLASS"),
        ("#SKYNNET BEGIN_MULTICLASS", "#SKYNNET:BEGIN_MULTICLASS"),
        ("#SKYNNET;BEGIN_MULTICLASS", "#SKYNNET:BEGIN_MULTICLASS"),
        ("##SKYNNET:BEGIN_MULTICLASS", "#SKYNNET:BEGIN_MULTICLASS"),
        ("#SKYNNET:BEGIN MULTICLASS", "#SKYNNET:BEGIN_MULTICLASS"),
        ("#SKYNNET:START", "#SKYNNET:BEGIN"),
        ("#SKYNNET:ENDE", "#SKYNNET:END"),
        ("#SKYNNET:end", "#SKYNNET:END"),
        ("#SKYNNET:KEP", "#SKYNNET:KEEP"),
    ],
)
def test_near_misses_are_errors_with_the_nearest_spelling(comment: str, nearest: str) -> None:
    made = compiled(f"x = 1\n{comment}\n{BODY}#SKYNNET:END\n")
    wrong = [d for d in errors(made) if d.span.line == 2]
    assert wrong, [(d.code, d.span.line) for d in made.diagnostics]
    assert nearest in (wrong[0].hint or ""), wrong[0]
    assert not made.files


@pytest.mark.parametrize(
    "comment",
    [
        "# skynet is a film",
        "# Skynnet: a paper about splitting networks",
        "# see SKYNNET:BEGIN in the manual",
        "#__CLOUDBOOK:BEGIN__",
        "# SKYNNET",
        "# begin",
        "#%% SKYNNET cell",
        "# the block ends here: END",
    ],
)
def test_ordinary_comments_are_no_markers(comment: str) -> None:
    assert len(blocks(f"{comment}\n" + marked("#SKYNNET:BEGIN") + f"x = 1  {comment}\n")) == 1


@pytest.mark.parametrize(
    "text",
    [
        's = """\n#SKYNNET:BEGIN\n"""\n',
        "s = '#SKYNNET:BEGIN'\n",
        'f"""\n#SKYNNET:END\n{1}"""\n',
        'def f():\n    """\n    #SKYNNET:BEGIN_MULTICLASS\n    """\n',
        "s = r'\\\n#SKYNNET:BEGIN'\n",
    ],
)
def test_markers_in_texts_are_no_markers(text: str) -> None:
    assert len(blocks(text + marked("#SKYNNET:BEGIN") + text)) == 1


@pytest.mark.parametrize(
    ("setting", "part"),
    [
        ("clases=10", "classes=10"),
        ("classes=ten", "whole number"),
        ("classes=0", "whole number"),
        ("classes=-3", "whole number"),
        ("classes", "key=value"),
        ("compose=sum", "product"),
        ("epochs=3", "keep"),
        ("color=red", "classes"),
    ],
)
def test_bad_settings(setting: str, part: str) -> None:
    made = compiled(marked(f"#SKYNNET:BEGIN_MULTICLASS {setting}"))
    wrong = [d for d in errors(made) if d.code == "SKN103"]
    assert [d.span.line for d in wrong] == [1]
    assert part in (wrong[0].hint or "")


PLACES = {
    "header of the file": "#SKYNNET:BEGIN\nx = 1\n#SKYNNET:END\ny = 1\n",
    "after a docstring": '"""A script."""\n#SKYNNET:BEGIN\nx = 1\n#SKYNNET:END\n',
    "footer of the file": "a = 1\n#SKYNNET:BEGIN\nx = 1\n#SKYNNET:END\n",
    "footer without a line end": "a = 1\n#SKYNNET:BEGIN\nx = 1\n#SKYNNET:END",
    "among comments": "# a\n\n# b\n#SKYNNET:BEGIN\n# c\n\nx = 1\n# d\n#SKYNNET:END\n# e\n",
    "in a function": "def f():\n    a = 1\n    #SKYNNET:BEGIN\n    x = 1\n    #SKYNNET:END\n    return x\n",
    "footer of a function": "def f():\n    #SKYNNET:BEGIN\n    x = 1\n    #SKYNNET:END\n\n\nf()\n",
    "footer of a function at the end": "def f():\n    #SKYNNET:BEGIN\n    x = 1\n    #SKYNNET:END\n",
    "under if": "if a:\n    #SKYNNET:BEGIN\n    x = 1\n    #SKYNNET:END\nelse:\n    y = 1\n",
    "under else": "if a:\n    y = 1\nelse:\n    #SKYNNET:BEGIN\n    x = 1\n    #SKYNNET:END\n",
    "in a method": "class C:\n    def f(self):\n        #SKYNNET:BEGIN\n        x = 1\n        #SKYNNET:END\n",
    "under with": "with a as b:\n    #SKYNNET:BEGIN\n    x = 1\n    #SKYNNET:END\n",
    "under try": "try:\n    #SKYNNET:BEGIN\n    x = 1\n    #SKYNNET:END\nfinally:\n    y = 1\n",
    "around a compound statement": "#SKYNNET:BEGIN\nif a:\n    x = 1\n#SKYNNET:END\n",
    "before a decorator": "#SKYNNET:BEGIN\n@d\ndef f():\n    pass\nx = 1\n#SKYNNET:END\n",
    "tabs": "if a:\n\t#SKYNNET:BEGIN\n\tx = 1\n\t#SKYNNET:END\n",
    "carriage returns": "if a:\r\n  #SKYNNET:BEGIN\r\n  x = 1\r\n  #SKYNNET:END\r\n",
    "after a deeper suite": "def f():\n    if a:\n        b = 1\n    #SKYNNET:BEGIN\n    x = 1\n    #SKYNNET:END\n",
    "ends after a deeper suite": "def f():\n    #SKYNNET:BEGIN\n    for a in b:\n        x = 1\n    #SKYNNET:END\n",
}


@pytest.mark.parametrize("name", PLACES)
def test_places(name: str) -> None:
    assert len(blocks(PLACES[name])) == 1


WRONG = {
    "no end": ("x = 1\n#SKYNNET:BEGIN\ny = 1\n", [("SKN104", 2)]),
    "no begin": ("x = 1\n#SKYNNET:END\n", [("SKN105", 2)]),
    "nothing": ("x = 1\n", [("SKN101", 1)]),
    "empty file": ("", [("SKN101", 1)]),
    "nested": ("#SKYNNET:BEGIN\nx = 1\n#SKYNNET:BEGIN\ny = 1\n#SKYNNET:END\n", [("SKN106", 3), ("SKN104", 1)]),
    "empty block": ("x = 1\n#SKYNNET:BEGIN\n#SKYNNET:END\ny = 1\n", [("SKN111", 2)]),
    "behind code": ("x = 1  #SKYNNET:BEGIN\ny = 1\n#SKYNNET:END\n", [("SKN109", 1), ("SKN105", 3)]),
    "in brackets": ("#SKYNNET:BEGIN\nx = [\n    1,\n    #SKYNNET:END\n]\n", [("SKN110", 4), ("SKN104", 1)]),
    "end inside a suite": ("#SKYNNET:BEGIN\nif a:\n    x = 1\n    #SKYNNET:END\n    y = 1\n", [("SKN107", 4)]),
    "begin inside a suite": ("if a:\n    #SKYNNET:BEGIN\n    x = 1\ny = 1\n#SKYNNET:END\n", [("SKN107", 2)]),
    "two branches": ("if a:\n    #SKYNNET:BEGIN\n    x = 1\nelse:\n    y = 1\n    #SKYNNET:END\n", None),
    "indented otherwise": ("def f():\n#SKYNNET:BEGIN\n    x = 1\n    #SKYNNET:END\n", [("SKN108", 2)]),
    "in a loop": ("for a in b:\n    #SKYNNET:BEGIN\n    x = 1\n    #SKYNNET:END\n", [("SKN112", 2)]),
    "in a while": ("while a:\n    #SKYNNET:BEGIN\n    x = 1\n    #SKYNNET:END\n", [("SKN112", 2)]),
    "in a loop in a function": (
        (
            "def f():\n    for a in b:\n        if a:\n            #SKYNNET:BEGIN\n            x = 1\n"
            "            #SKYNNET:END\n"
        ),
        [("SKN112", 4)],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_places_are_named_with_their_line(name: str) -> None:
    text, expected = WRONG[name]
    assert found(text) if expected is None else sorted(found(text)) == sorted(expected)
    assert not compiled(text).files


def test_several_blocks_are_numbered_in_order() -> None:
    text = block(dense("64")) + "\n" + block(dense("32"), kind="MULTICLASS classes=10")
    made = compiled(text)
    assert [b["index"] for b in made.blocks] == [0, 1]
    assert "block=1" in program(made, "submodel_06.py")


def test_keep_keeps_a_layer_and_nothing_else() -> None:
    body = "model = keras.Sequential([\n    keras.Input((20,)),\n    Dense(64),  #SKYNNET:KEEP\n    Dense(32),\n"
    text = block(body + "    Dense(10, 'softmax'),\n])\n")
    result = program(compiled(text))
    assert "Dense(64),  #SKYNNET:KEEP" in result
    assert "Dense(16)," in result


def test_keep_on_another_line_is_told() -> None:
    text = block("#SKYNNET:KEEP\n" + dense("64"))
    made = compiled(text)
    assert [(d.code, d.span.line) for d in made.diagnostics] == [("SKN113", line_of(text, "#SKYNNET:KEEP"))]
    assert "Dense(32," in program(made)


def test_keep_on_the_output_layer_is_refused() -> None:
    text = block("model = keras.Sequential([Dense(64),\n    Dense(10, 'softmax')])  #SKYNNET:KEEP\n")
    assert [(d.code, d.span.line) for d in errors(compiled(text))] == [("SKN309", line_of(text, "Dense(10"))]
