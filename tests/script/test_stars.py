"""Sizes that come through `*` and `**`: they change where only layers read them, else they stay and that is told."""

from __future__ import annotations

import pytest

from tests.script.helpers import FIT, block, compiled, errors, line_of, program, units_of, widths

NET = "model = keras.Sequential([{}, Dense(10, 'softmax')])\n"


def net(layer: str, before: str = "") -> str:
    return before + NET.format(layer)


OWN = {
    "dict": net("Dense(**cfg)", "cfg = dict(units=64, activation='relu')\n"),
    "braces": net("Dense(**cfg)", "cfg: dict = {'units': 64, 'activation': 'relu'}\n"),
    "tuple": net("Dense(*params)", "params = (64, 'relu')\n"),
    "list": net("Dense(*params, use_bias=False)", "params = [64]\n"),
    "inline": net("Dense(**dict(units=64))"),
    "inline braces": net("Dense(**{'units': 64})"),
    "inline list": net("Dense(*[64, 'relu'])"),
    "merged": net("Dense(**cfg)", "relu = {'activation': 'relu'}\ncfg = {**relu, 'units': 64}\n"),
}


@pytest.mark.parametrize("body", OWN.values(), ids=OWN)
def test_a_size_for_layers_alone(body: str) -> None:
    made = compiled(block(body))
    assert widths(made)[0] == [64, 32]
    assert any(new in program(made) for new in ("units=32", "'units': 32", "(32, 'relu')", "[32"))


def test_two_layers_of_one_dictionary() -> None:
    made = compiled(block(net("Dense(**cfg), Dense(**cfg)", "cfg = {'units': 64}\n")))
    assert widths(made)[:2] == [[64, 32], [64, 32]] and "{'units': 32}" in program(made)


READ = {
    "printed": "print(cfg)\n",
    "read": "half = cfg['units'] // 2\n",
    "changed": "cfg['units'] = 64\n",
    "another function": "tune(**cfg)\n",
    "another name": "other = cfg\n",
    "a new value": "cfg = {'units': 64}\n",
    "in a function": "def show():\n    return cfg\n",
    "a parameter": "def show(cfg):\n    return Dense(**cfg)\n",
}


@pytest.mark.parametrize("use", READ.values(), ids=READ)
def test_a_size_that_is_read_elsewhere(use: str) -> None:
    text = block(net("Dense(**cfg)", "cfg = {'units': 64}\n" + use))
    made = compiled(text)
    assert "cfg = {'units': 64}" in program(made) and widths(made)[0] == [64, 64]
    told = [d for d in made.diagnostics if d.code == "SKN222"]
    assert [d.span.line for d in told] == [line_of(text, "Dense(**cfg), ")]
    assert "'cfg', which holds its size, is used elsewhere as well" in told[0].message


UNWRITTEN = {
    "computed": net("Dense(*sizes)", "sizes = [8 * n for n in (8,)]\n"),
    "loop": "model = keras.Sequential()\nfor cfg in [{'units': 64}]:\n    model.add(Dense(**cfg))\n"
    "model.add(Dense(10, 'softmax'))\n",
    "wrapper": "def dense(*args, **more):\n    return Dense(*args, **more)\n" + net("dense(64, activation='relu')"),
    "partial": "from functools import partial\nwide = partial(Dense, **{'units': 64})\n" + net("wide()"),
}


@pytest.mark.parametrize("body", UNWRITTEN.values(), ids=UNWRITTEN)
def test_a_size_without_a_place_of_its_own(body: str) -> None:
    made = compiled(block(body))
    assert widths(made)[0] == [64, 64]
    assert [d.code for d in made.diagnostics if d.code == "SKN222"] == ["SKN222"]


def test_a_dictionary_outside_the_block() -> None:
    text = block(net("Dense(**cfg)"), before="cfg = {'units': 64}\n")
    made = compiled(text)
    assert widths(made)[0] == [64, 64]
    assert ["outside the block" in d.message for d in made.diagnostics if d.code == "SKN222"] == [True]


def test_the_output_layer() -> None:
    body = "out = {'units': 10, 'activation': 'softmax'}\nmodel = keras.Sequential([Dense(64), Dense(**out)])\n"
    made = compiled(block(body))
    assert widths(made) == [[64, 32], [10, 5]] and "'units': 5," in program(made)
    # A number that others read has to stay, and with it the output.
    text = block(body, fit="print(out)\n" + FIT)
    assert [(d.code, d.span.line) for d in errors(compiled(text))] == [("SKN209", line_of(text, "model = "))]


@pytest.mark.parametrize("use", ["", "print(cfg)\n"])
def test_the_program_makes_what_is_said(use: str) -> None:
    body = net("Dense(**cfg), Dense(*params)", "cfg = {'units': 64}\nparams = (32,)\n" + use)
    text = block(body).replace("from keras import layers, ops\n", "")
    assert units_of(program(compiled(text))) == [64 if use else 32, 16, 5]
    unpacked = text.replace("cfg = {'units': 64}\nparams = (32,)", "cfg, params = {'units': 64}, (32,)")
    assert units_of(program(compiled(unpacked))) == [64, 32, 5]
