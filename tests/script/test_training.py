"""How a block trains its network, and what happens to that afterwards: what cannot be split is told where it stands."""

from __future__ import annotations

import pytest

from tests.script.helpers import FIT, HEAD, block, compiled, dense, errors, line_of, program, widths

BUILD = "def build(units=64):\n    return keras.Sequential([Dense(units, 'relu'), Dense(10, 'softmax')])\n"


def indented(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.splitlines())


LOOPS = {
    "sizes": "for units in (32, 64):\n" + indented(dense("units") + FIT),
    "folds": "for a, b in KFold(3).split(x):\n" + indented(dense("64") + FIT),
    "while": "while more():\n" + indented(dense("64") + FIT),
    "further epochs": "for fold in folds:\n" + indented(dense("64") + "for e in (1, 2):\n" + indented(FIT)),
    "in a function": "def train():\n" + indented(dense("64") + FIT) + "for fold in folds:\n    train()\n",
}


@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS)
def test_a_network_for_each_round(body: str) -> None:
    text = block(body, fit="")
    made = errors(compiled(text))
    assert [(d.code, d.span.line) for d in made] == [("SKN226", line_of(text, "model.fit("))]
    loop = next(part for part in ("for units", "for a, b", "while", "for fold") if part in text)
    assert f"the loop of line {line_of(text, loop)}" in made[0].message


def test_a_network_for_each_call() -> None:
    text = block("def train(units):\n" + indented(dense("units") + FIT) + "train(32)\ntrain(64)\n", fit="")
    made = errors(compiled(text))
    assert [(d.code, d.span.line) for d in made] == [("SKN226", line_of(text, "model.fit("))]
    assert f"called again at line {line_of(text, 'train(64)')}" in made[0].message


def test_a_network_that_is_trained_further() -> None:
    assert not errors(compiled(block(dense("64"), fit="for e in (1, 2):\n" + indented(FIT))))


def test_two_networks_are_two() -> None:
    text = block(BUILD + "model = build()\nother = build()\n", fit=FIT + FIT.replace("model", "other"))
    made = errors(compiled(text))
    assert [(d.code, d.span.line) for d in made] == [("SKN206", line_of(text, "other.fit"))]
    assert f"line {line_of(text, 'model.fit')}" in made[0].message


def test_names_of_keras_1() -> None:
    text = block(
        "i = keras.Input((8,))\no = Dense(10, 'softmax')(Dense(64)(i))\nmodel = keras.Model(input=i, output=o)\n"
    )
    made = errors(compiled(text))
    assert [(d.code, d.span.line) for d in made] == [("SKN229", line_of(text, "keras.Model("))] * 2
    assert [d.hint for d in made] == ["write inputs=", "write outputs="]


APART = {
    "a layer less": ("model.pop()\n", "pop takes a layer off"),
    "a layer more": ("model.add(Softmax())\n", "add puts a layer on"),
    "weights for another": (
        "other.set_weights(model.get_weights())\n",
        "set_weights gives another network the weights of",
    ),
}


@pytest.mark.parametrize(("then", "what"), APART.values(), ids=APART)
@pytest.mark.parametrize("outside", [False, True])
def test_a_trained_network_taken_apart(then: str, what: str, outside: bool) -> None:
    body = BUILD + "model, other = build(), None\n" + dense("64").replace("model", "other")
    text = block(body, fit=FIT + ("" if outside else then), after=then if outside else "")
    made = errors(compiled(text))
    assert [(d.code, d.span.line) for d in made] == [("SKN228", line_of(text, then))]
    assert made[0].message == f"{what} the network that line {line_of(text, 'model.fit')} trained"
    assert not errors(compiled(text, 1))


@pytest.mark.parametrize(
    "then", ["best = model.get_weights()\nmodel.set_weights(best)\n", "print(model.get_weights())\n"]
)
def test_a_trained_network_keeps_its_own_weights(then: str) -> None:
    assert not errors(compiled(block(dense("64"), fit=FIT + then)))


def test_layers_are_taken_off_before_the_training() -> None:
    body = dense("64") + "model.pop()\nmodel.add(Dense(12, 'softmax'))\n"
    assert [b["classes"] for b in compiled(block(body)).blocks] == [12]


ENTRIES = {
    "absl": "from absl import app\nif __name__ == '__main__':\n    app.run(main)\n",
    "absl by keyword": "from absl import app\napp.run(main=main)\n",
    "tensorflow 1": "import tensorflow as tf\ntf.compat.v1.app.run(main)\n",
    "tensorflow 1 by its name": "import tensorflow as tf\ntf.app.run()\n",
    "fire": "import fire\nfire.Fire(main)\n",
    "fire with commands": "import fire\nfire.Fire({'train': main})\n",
    "fire with all": "import fire\nif __name__ == '__main__':\n    fire.Fire()\n",
    "typer": "import typer\ntyper.run(main)\n",
    "a thread": "from threading import Thread\nThread(target=main).start()\n",
    "a partial": "from functools import partial\nimport jobs\njobs.submit(partial(main, []))\n",
    "subcommands": "import argparse\np = argparse.ArgumentParser()\np.add_subparsers().add_parser('train')\n"
    "p.set_defaults(run=main)\nargs = p.parse_args()\nargs.run(args)\n",
    "an object": "runner = make_runner()\nrunner.start(main)\n",
    "another function": "from absl import app\ndef run(argv):\n    main(argv)\napp.run(run)\n",
}
MAIN = "def main(argv=None, hidden=64):\n" + indented(block(dense("hidden")).split("10, 100)\n", 1)[1])


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_a_function_that_is_handed_over_is_called(entry: str) -> None:
    made = compiled(HEAD + MAIN + entry)
    assert "SKN220" not in [d.code for d in made.diagnostics]
    # Who calls it may give it other arguments.
    if "run(argv)" not in entry:
        assert "skn_runtime.width(hidden, 2)" in program(made)


def test_a_command_of_a_decorator_is_called() -> None:
    head = HEAD + "import typer\ncli = typer.Typer()\n"
    made = compiled(head + "@cli.command()\n" + MAIN + "cli()\n")
    assert "SKN220" not in [d.code for d in made.diagnostics] and not errors(made)


def test_a_method_of_a_class_that_is_handed_over() -> None:
    cls = "class Trainer:\n" + indented(MAIN.replace("argv", "self"))
    made = compiled(HEAD + cls + "import fire\nfire.Fire(Trainer)\n")
    assert "SKN220" not in [d.code for d in made.diagnostics] and not errors(made)


def test_what_a_caller_gives_on_the_way_is_known() -> None:
    made = compiled(HEAD + MAIN + "from absl import app\ndef run(argv):\n    main(hidden=32)\napp.run(run)\n")
    assert "SKN220" not in [d.code for d in made.diagnostics]
    assert [w[0] for w in widths(made)] == [32, 10]


@pytest.mark.parametrize("rest", ["", "import jobs\njobs.submit(3)\n", "import fire\nfire.Fire(print)\n"])
def test_a_function_that_nobody_calls(rest: str) -> None:
    text = HEAD + MAIN + rest
    found = [(d.code, d.span.line) for d in compiled(text).diagnostics]
    assert ("SKN220", line_of(text, "#SKYNNET:BEGIN")) in found


SECOND = {
    "behind": "model = build()\nother = build()\n",
    "before": "other = build()\nmodel = build()\n",
    "another size": "other = build(1)\nmodel = build()\n",
    "in a dictionary": "models = {'small': build(1), 'big': build()}\nmodel = models['big']\n",
    "with its weights": "model = build()\nother = build()\nother.set_weights(model.get_weights())\n",
    "compiled": "model = build()\nother = build()\nother.compile('adam', 'mse')\n",
}


@pytest.mark.parametrize("body", SECOND.values(), ids=SECOND)
@pytest.mark.parametrize("before", [False, True])
def test_a_second_network_that_is_not_trained(body: str, before: bool) -> None:
    text = block(("" if before else BUILD) + body, before=BUILD if before else "")
    made = compiled(text)
    assert widths(made) == [[64, 32], [10, 5]]
    assert "Dense(5, 'softmax')" in program(made)


@pytest.mark.parametrize("use", ["y = other.predict(x)\n", "y = other(x)\n", "y = other(x).numpy()\n"])
def test_a_second_network_that_gives_the_targets(use: str) -> None:
    text = block(BUILD + "model = build()\nother = build()\n" + use)
    made = errors(compiled(text))
    assert [(d.code, d.span.line) for d in made] == [("SKN223", line_of(text, "Dense(units"))]
    assert "not known" not in made[0].message
    # What the composed network predicts is no matter: nothing is trained any more.
    assert not errors(compiled(block(BUILD + "model = build()\nother = build()\n", fit=FIT + use)))


def test_one_line_for_a_hidden_layer_and_the_output() -> None:
    text = block("model = keras.Sequential([Dense(n, 'softmax') for n in (10, 10)])\n")
    assert [(d.code, d.span.line) for d in errors(compiled(text))] == [("SKN223", line_of(text, "Dense(n"))]


def test_a_second_network_whose_size_is_fixed() -> None:
    body = "model = build()\nother = build()\nother.load_weights('teacher.weights.h5')\n"
    text = block(BUILD + body)
    assert [(d.code, d.span.line) for d in errors(compiled(text))] == [("SKN209", line_of(text, "Dense(units"))]


OUTSIDE = {
    "a lambda": ("build = lambda: keras.Sequential([Dense(64), Dense(10, 'softmax')])\n", "model = build()\n"),
    "settings": (
        "out = {'units': 10}\n",
        "model = keras.Sequential([Dense(64), Dense(**out, activation='softmax')])\n",
    ),
}


@pytest.mark.parametrize(("before", "body"), OUTSIDE.values(), ids=OUTSIDE)
def test_an_output_layer_outside_the_block(before: str, body: str) -> None:
    text = block(body, before=before)
    made = errors(compiled(text))
    assert [(d.code, d.span.line) for d in made] == [("SKN235", line_of(text, before))]
    assert "function (def, not lambda)" in made[0].hint


def test_a_pooling_that_is_missing() -> None:
    body = (
        "base = keras.applications.VGG16(include_top=False)\nmodel = keras.Sequential([base, Dense(10, 'softmax')])\n"
    )
    text = block(body)
    made = errors(compiled(text))
    assert [(d.code, d.span.line) for d in made] == [("SKN212", line_of(text, "Dense(10"))]
    assert "a Flatten or GlobalAveragePooling layer is missing" in made[0].hint


LAYER = "class Own(keras.layers.Layer):\n    def __init__(self, units=32, **more):\n        super().__init__(**more)\n"
LAYER += "        self.units = units\n    def build(self, s):\n        self.w = self.add_weight(shape={})\n"
LAYER += "    def call(self, v):\n        return ops.matmul(v, self.w)\n"


@pytest.mark.parametrize(("shape", "size"), [("(s[-1], self.units)", 64), ("[s[-1], 48]", 48)])
@pytest.mark.parametrize("outside", [False, True])
def test_layers_of_own_classes_that_keep_their_size(shape: str, size: int, outside: bool) -> None:
    cls = LAYER.format(shape)
    body = "model = keras.Sequential([keras.Input((20,)), Own(64), ReLU(), Dense(32), Dense(10, 'softmax')])\n"
    text = block(body if outside else cls + body, before=cls if outside else "")
    made = compiled(text)
    told = [(d.span.line, d.message) for d in made.diagnostics if d.code == "SKN222"]
    assert [line for line, _ in told] == [line_of(text, "model = ")] and f"its size of {size}:" in told[0][1]
    assert widths(made) == [[32, 16], [10, 5]] and "Own(64)" in program(made)
    assert "SKN222" not in [d.code for d in compiled(text, 1).diagnostics]


@pytest.mark.parametrize("shape", ["(s[-1],)", "(s[-1], 1)", "(s[-1], len(y))"])
def test_layers_of_own_classes_without_a_size(shape: str) -> None:
    body = "model = keras.Sequential([keras.Input((20,)), Own(64), Dense(32), Own(), Dense(10, 'softmax')])\n"
    made = compiled(block(LAYER.format(shape) + body))
    assert [d for d in made.diagnostics if "class in this script" in d.message] == []


def test_layers_that_derive_from_one_with_a_size() -> None:
    cls = "class Own(keras.layers.Dense):\n    pass\n"
    text = block(cls + "model = keras.Sequential([Own(64), Dense(32), Dense(10, 'softmax')])\n")
    told = [(d.span.line, d.message) for d in compiled(text).diagnostics if d.code == "SKN222"]
    assert [line for line, _ in told] == [line_of(text, "model = ")] and "keeps its size:" in told[0][1]
