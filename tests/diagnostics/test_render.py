"""Carets stand under what is meant, whatever the line is made of."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sknc.diagnostics import Diagnostic, Note, Span, render, render_github, render_json, render_text


def finding(span, **more):
    return Diagnostic("SKN101", "error", "'MULTI' is no kind", "write MULTICLASS", span, **more)


def test_the_whole_picture():
    lines = ["import keras", "x = Dense(64)", ""]
    assert render_text([finding(Span("train.py", 2, 5, 2, 14))], {"train.py": lines}) == (
        "error[SKN101]: 'MULTI' is no kind\n"
        " --> train.py:2:5\n"
        "  |\n"
        "2 | x = Dense(64)\n"
        "  |     ^^^^^^^^^\n"
        "  = hint: write MULTICLASS\n"
    )


def columns(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("\t\tx = Dense(64)", "Dense"),
        ("  \tx = Dense(64)", "Dense"),
        ("s = '日本語'; Dense(64)", "Dense"),
        ("s = '日本語'; Dense(64)", "日本語"),
        ("# e\u0301t\u00e9 Dense", "Dense"),
    ],
)
def test_tabs_wide_and_combining_characters(line, word):
    col = line.index(word) + 1
    out = render_text([finding(Span("a.py", 1, col, 1, col + len(word)))], {"a.py": [line]}).splitlines()
    shown, carets = out[3][4:], out[4][4:]
    before = shown[: shown.index(word)].replace("\u0301", "")
    assert columns(before) == carets.index("^")
    assert carets.count("^") == columns(word)


def test_a_long_line_is_cut_around_the_place():
    line = "a" * 300 + "Dense" + "b" * 300
    out = render_text([finding(Span("a.py", 1, 301, 1, 306))], {"a.py": [line]}).splitlines()
    shown, carets = out[3][4:], out[4][4:]
    assert len(shown) < 140
    assert shown.startswith("...") and shown.endswith("...")
    assert shown.index("Dense") == carets.index("^")


def test_several_lines():
    lines = ["x = Dense(", "    64,", ")"]
    out = render_text([finding(Span("a.py", 1, 5, 3, 2))], {"a.py": lines})
    assert "    ^^^^^^ ... and 2 more lines\n" in out


def test_a_note_points_at_a_second_place():
    note = Note("the block begins here", Span("a.py", 1, 1, 1, 3))
    out = render_text([finding(Span("a.py", 12), notes=(note,))], {"a.py": ["x"] * 12})
    assert "  --> a.py:12:1\n" in out
    assert "  --> a.py:1:1: the block begins here\n" in out
    assert " 1 | x\n" in out


def test_a_script_cannot_steer_the_terminal():
    out = render_text([finding(Span("a.py", 1))], {"a.py": ["x = '\x1b[2J\u202e'"]})
    assert "\x1b" not in out and "\u202e" not in out
    assert "\u241b[2J" in out


def test_a_place_outside_the_source_still_renders():
    assert "a.py:9:4" in render_text([finding(Span("a.py", 9, 4))], {})
    assert "^" in render_text([finding(Span("a.py", 1, 40, 1, 44))], {"a.py": ["short"]})


def test_colour_changes_nothing_but_colour():
    import re

    args = [finding(Span("a.py", 1, 1, 1, 3))], {"a.py": ["xyz"]}
    assert re.sub("\x1b\\[[0-9;]*m", "", render_text(*args, colour=True)) == render_text(*args)


def test_json():
    found = json.loads(render_json([finding(Span("a.py", 2, 5, 2, 14))]))
    assert found["schema"] == 1
    assert found["diagnostics"][0]["code"] == "SKN101"
    assert (found["diagnostics"][0]["line"], found["diagnostics"][0]["end_col"]) == (2, 14)


def test_github_escapes():
    bad = Diagnostic("SKN101", "error", "100% of\nit", "", Span("a,b:c.py", 2, 5, 2, 14))
    assert render_github([bad]) == (
        "::error title=sknc (SKN101),file=a%2Cb%3Ac.py,line=2,col=5,endLine=2,endColumn=14::100%25 of%0Ait\n"
    )


def test_unknown_format():
    with pytest.raises(ValueError, match="yaml"):
        render("yaml", [], {})


@given(st.text(max_size=200), st.integers(1, 220), st.integers(0, 40))
def test_anything_renders(line, col, length):
    out = render_text([finding(Span("a.py", 1, col, 1, col + length))], {"a.py": [line]})
    assert "^" in out
    assert "\r" not in out and "\x1b" not in out
