"""Bytes outside the edits are the user's: any indentation, line ends, encoding, comments, with or without a last line end."""

# ruff: noqa: E501 - scripts are kept in one line

from __future__ import annotations

import codecs

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from tests.script.helpers import compiled, errors

TEXTS = st.text(st.characters(codec="latin-1", exclude_categories=("Cc", "Cs")), max_size=12).filter(
    lambda text: "SK" not in text.upper() and "#" not in text and "\x85" not in text and "coding" not in text
)
STYLES = st.fixed_dictionaries(
    {
        "newline": st.sampled_from(["\n", "\r\n", "\r"]),
        "indent": st.sampled_from(["  ", "    ", "\t", " ", "        "]),
        "encoding": st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "cp1252"]),
        "last": st.booleans(),
        "comments": st.lists(TEXTS, min_size=6, max_size=6),
        "where": st.sampled_from(["module", "function", "if", "method"]),
        "blank": st.integers(0, 2),
        "tail": st.booleans(),
    }
)
LINES = [
    "a = '''{c0}",
    "  kept\t'''  # {c1}",
    "BEGIN",
    "units = 64  # {c2}",
    "model = keras.Sequential([  # {c3}",
    "    Dense(units),{s}# {c4}",
    "",
    "  Dense(10, 'softmax'),",
    "])",
    "model.compile('adam', 'mse')",
    "model.fit(x, y)  # {c5}",
    "print('after')",
    "END",
]


def written(style: dict[str, object]) -> str:
    """Write a script in a style, with line feeds as its line ends."""
    comments = {f"c{i}": c for i, c in enumerate(style["comments"])}  # type: ignore[call-overload]
    body = [line.format(s=" " * 3, **comments) for line in LINES]
    body = ["#SKYNNET:BEGIN_MULTICLASS" if b == "BEGIN" else "#SKYNNET:END" if b == "END" else b for b in body]
    head, depth, foot = {
        "module": ([], 0, []),
        "function": (["def main():"], 1, ["main()"]),
        "if": (["if __name__ == '__main__':"], 1, []),
        "method": (["class Job:", "{i}def run(self):"], 2, ["Job().run()"]),
    }[str(style["where"])]
    indent = str(style["indent"])
    prefix = indent * depth
    inside = False
    lines = []
    for line in body:
        lines.append(line if inside or not line else prefix + line)
        inside = line.count("'''") == 1 and not inside
    encoding = {"latin-1": ["# -*- coding: latin-1 -*-"], "cp1252": ["# coding: cp1252"]}.get(
        str(style["encoding"]), []
    )
    start = [*encoding, "x = y = None", "import keras", "from keras.layers import Dense", *[""] * int(style["blank"])]  # type: ignore[call-overload]
    tail = ["", "print('tail')"] if style["tail"] else []
    text = "\n".join([*start, *(h.format(i=indent) for h in head), *lines, *foot, *tail])
    return text + ("\n" if style["last"] else "")


@settings(max_examples=100, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
@given(STYLES)
def test_bytes_outside_the_edits_are_the_users(style: dict[str, object]) -> None:
    newline, encoding = str(style["newline"]), str(style["encoding"])
    assume(
        newline != "\r" or encoding.startswith("utf")
    )  # Python itself looks for the encoding in lines that end with \n
    text = written(style)
    compile(text, "train.py", "exec")
    raw = text.replace("\n", newline).encode(encoding)
    made = compiled(raw)
    assert not errors(made), [(d.code, d.message) for d in errors(made)]
    before, mark, rest = raw.partition(b"#SKYNNET:BEGIN_MULTICLASS")
    for name, content in made.files.items():
        compile(content, name, "exec")
        assert content.startswith(before + b"import skn_runtime; skn_runtime.begin"), name
        assert content.count(codecs.BOM_UTF8) == raw.count(codecs.BOM_UTF8)
        other = content.decode(encoding).replace(newline, "")
        assert not set("\r\n") & set(other), name
    original = made.files["compose.py"].partition(mark)[2]
    training = b"model.fit(x, y)"
    replaced = b"model = skn_runtime.composed(model); skn_runtime.trained(model, x, y)"
    end = b"skn_runtime.end(globals())  " if style["where"] in ("module", "if") else None
    expected = rest.replace(training, replaced, 1)
    if end is not None:
        assert original == expected.replace(b"#SKYNNET:END", end + b"#SKYNNET:END", 1)
    else:
        head, _, tail = expected.partition(b"#SKYNNET:END")
        assert original.startswith(head)
        assert original.endswith(b"#SKYNNET:END" + tail)
    submodel = made.files["submodel_00.py"].partition(mark)[2]
    cut = rest.partition(training)[0].replace(b"Dense(units)", b"Dense(32)").replace(b"Dense(10,", b"Dense(5,")
    assert submodel.startswith(cut + b"skn_runtime.fit(model, x, y)  # ")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"\xef\xbb\xbf",
        b"\x00",
        b"x = '\xff'\n",
        b"# coding: nonsense\n",
        b"x = (\n",
        b"\tx = 1\n  y = 2\n",
        b"if a:\n\tx = 1\n        y = 2\n",
        "x = 'é'\n".encode("utf-16"),
        b"# coding: utf-8\nx = '\xe9'\n",
        b"\xef\xbb\xbf# coding: latin-1\nx = 1\n",
        b"return 1\n#SKYNNET:BEGIN\nx = 1\n#SKYNNET:END\n",
        b"x = 1\n\x0c\ny = 2\n",
        b"print 'python 2'\n",
        b"#SKYNNET:BEGIN\nmodel.fit(x)\n#SKYNNET:END\nbreak\n",
    ],
)
def test_what_is_no_script_is_refused(raw: bytes) -> None:
    made = compiled(raw)
    assert errors(made)
    assert all(d.hint and d.code and d.span.line >= 1 for d in errors(made))
    assert not made.files


def test_the_place_of_a_syntax_error() -> None:
    made = compiled("a = 1\nb = 2\nc = = 3\nd = 4\n#SKYNNET:BEGIN\nx = 1\n#SKYNNET:END\n")
    assert [(d.code, d.span.line) for d in errors(made)] == [("SKN202", 3)]


MIXED = (
    b"import keras\r\nfrom keras.layers import Dense\nx = y = 0\r\n#SKYNNET:BEGIN_MULTICLASS\r\n"
    b"model = keras.Sequential([Dense(64),\n\r\nDense(10)])\nmodel.compile('adam', 'mse')\r\nmodel.fit(x, y)\n#SKYNNET:END\r\n"
)


def test_mixed_line_ends_stay_mixed() -> None:
    made = compiled(MIXED)
    content = made.files["compose.py"]
    expected = MIXED.replace(
        b"model.fit(x, y)", b"model = skn_runtime.composed(model); skn_runtime.trained(model, x, y)"
    )
    assert content.partition(b"#SKYNNET:BEGIN_MULTICLASS")[2] == expected.partition(b"#SKYNNET:BEGIN_MULTICLASS")[
        2
    ].replace(b"#SKYNNET:END", b"skn_runtime.end(globals())  #SKYNNET:END")
