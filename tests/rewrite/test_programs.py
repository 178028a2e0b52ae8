"""Programs: where they end, what is copied into them, several blocks, the dialect, epochs, paths, lines."""

# ruff: noqa: E501 - scripts are kept in one line

from __future__ import annotations

from typing import Any

import pytest

from sknc.pipeline import Compilation
from tests.script.helpers import HEAD, block, compiled, dense, errors, line_of, program

COMPILE = "model.compile('adam', 'mse')\n"


def ending(text: str) -> str:
    """Return what a program does from its training on."""
    return text[text.index("skn_runtime.fit(") :]


def submodel(fit: str, before: str = "", submodels: int = 6) -> str:
    return program(compiled(block(dense("64"), before, fit=COMPILE + fit), submodels))


# Where a submodel's program ends.


def test_nothing_is_run_behind_the_last_training() -> None:
    text = submodel("model.fit(x, y)\nprint('one')\nmodel.fit(x, y)\nprint('two')\nmodel.save('a.keras')\n")
    assert (
        ending(text)
        == "skn_runtime.fit(model, x, y)\nprint('one')\nskn_runtime.fit(model, x, y)\nskn_runtime.finish(model)\n"
    )


@pytest.mark.parametrize(
    "fit",
    [
        "for i in range(3):\n    model.fit(x, y)\n    print(i)\n",
        "while True:\n    h = model.fit(x, y)\n    if h:\n        break\n",
        "try:\n    model.fit(x, y)\nexcept KeyboardInterrupt:\n    pass\nfinally:\n    print(1)\n",
        "hs = [model.fit(x, y) for _ in range(3)]\n",
        "if x is not None: model.fit(x, y)\n",
        "with open('log') as log:\n    print(model.fit(x, y), file=log)\n",
    ],
)
def test_the_statement_around_the_training_is_kept_whole(fit: str) -> None:
    text = submodel(fit + "print('after')\n")
    assert text.endswith("skn_runtime.finish(model)\n")
    assert "print('after')" not in text
    assert (
        fit.replace("model.fit(", "skn_runtime.fit(model, ")
        in text.replace("skn_runtime.fit(model, x, y)\n    skn_runtime.finish(model)", "skn_runtime.fit(model, x, y)")
        or "with" in fit
    )


def test_a_branch_without_training_ends_as_well() -> None:
    text = submodel(
        "if os.path.exists('w'):\n    print('there')\nelse:\n    model.fit(x, y)\n    print('trained')\nprint('after')\n"
    )
    assert "print('after')" not in text
    assert text.rstrip().splitlines()[-1].startswith("skn_runtime.finish(")


def test_a_block_in_a_function_ends_the_program_in_the_function() -> None:
    lines = block(dense("64"), after="print(model.predict(x))\n").splitlines()
    start = lines.index("#SKYNNET:BEGIN_MULTICLASS")
    text = "\n".join([*lines[:start], "def main():", *("    " + line for line in lines[start:]), "main()", ""])
    made = compiled(text)
    body = program(made)
    assert "    skn_runtime.fit(model, x, y)\n    skn_runtime.finish(" in body
    assert "    print(model.predict(x))\nmain()\n" in body
    assert "skn_runtime.end({**globals(), **locals()})  #SKYNNET:END\n    print(model.predict(x))\nmain()\n" in program(
        made, "compose.py"
    )


# Copies of what stands outside the block.

BUILDER = 'def build(units):\n  """Builds.\n\n  A text\n"""\n  h = Dense(units)  # first\n  return keras.Sequential([h, Dense(10)])\n'


def test_a_builder_outside_is_copied_and_not_changed() -> None:
    text = block("model = build(64)\n", BUILDER)
    result = program(compiled(text))
    head, _, body = result.partition("import skn_runtime")
    assert head == text[: text.index("#SKYNNET:BEGIN")]
    changed = BUILDER.replace("Dense(units)", "Dense(32)").replace("Dense(10)", "Dense(5)")
    assert (
        body.count(changed) == 1 or body.count(changed.replace("Dense(32)", "Dense(skn_runtime.width(units, 2))")) == 1
    )


def test_a_copy_is_indented_like_its_block_but_for_its_texts() -> None:
    text = f"{HEAD}{BUILDER}if True:\n        #SKYNNET:BEGIN_MULTICLASS\n        model = build(64)\n        model.compile('adam', 'mse')\n        model.fit(x, y)\n        #SKYNNET:END\n"
    body = program(compiled(text)).partition("import skn_runtime")[2]
    assert '        def build(units):\n          """Builds.\n\n  A text\n"""\n          h = Dense(' in body


def test_an_alias_of_a_builder_gets_the_copy() -> None:
    text = block("model = make(64)\n", BUILDER + "make = build\n")
    body = program(compiled(text)).partition("import skn_runtime")[2]
    assert body.index("make = build\n") < body.index("model = make(64)")


def test_a_builder_that_is_not_changed_is_not_copied() -> None:
    before = "def data(n):\n    return x[:n], y[:n]\n"
    text = submodel("model.fit(*data(50))\n", before)
    assert text.count("def data(n):") == 1


def test_a_builder_of_two_blocks() -> None:
    before = "def build(units, classes):\n    return keras.Sequential([Dense(units), Dense(classes)])\n"
    first = block("model = build(64, 10)\n", before)
    second = (
        "#SKYNNET:BEGIN_MULTICLASS\nother = build(32, 4)\nother.compile('adam', 'mse')\nother.fit(x, y)\n#SKYNNET:END\n"
    )
    made = compiled(first + second)
    assert [list(b["programs"][0]["widths"].values()) for b in made.blocks] == [
        [[64, 32], [10, 5]],
        [[32, 16], [4, 2]],
    ]
    later = program(made, "submodel_06.py")
    assert later.count("def build(units, classes):\n    return keras.Sequential([Dense(units), Dense(classes)])\n") >= 1
    compose = program(made, "compose.py")
    assert compose.count("def build") == 1


# Several blocks.


def test_a_later_block_sees_the_composition_of_an_earlier_one() -> None:
    first = block(dense("64"), after="z = model.predict(x)\n")
    second = "#SKYNNET:BEGIN_MULTICLASS\nnet = keras.Sequential([Dense(48), Dense(3)])\nnet.compile('adam', 'mse')\nnet.fit(z, y)\n#SKYNNET:END\nprint('end')\n"
    made = compiled(first + second)
    later = program(made, "submodel_08.py")
    assert "model = skn_runtime.composed(model); skn_runtime.trained(model, x, y)\n" in later
    assert "z = model.predict(x)\n" in later
    assert "net = keras.Sequential([Dense(32), Dense(2)])\n" in later
    assert "print('end')" not in later
    assert [len(b["programs"]) for b in made.blocks] == [6, 3]
    assert program(made, "compose.py").endswith("print('end')\n")
    assert program(made).endswith("skn_runtime.fit(model, x, y)\nskn_runtime.finish(model)\n")


# The dialect of the original tool.

DIALECT = f"""{HEAD}#SKYNNET:BEGIN_MULTICLASS_ACC
_DATA_TRAIN_X, _DATA_TRAIN_Y = x, y
_NEURON_1 = 128
_NEURON_2 = 10
_FILTERS_1: int = 96
_EMBEDDING_ = 64
_CELL_1 = 48
_EPOCHS = 20
model = keras.Sequential([
    keras.Input((20,)),
    Dense(_NEURON_1), Dense(int(_NEURON_1 / 1.5)), Dense(77), Dense(_FILTERS_1), Dense(_CELL_1 + _EMBEDDING_),
    Dense(_NEURON_2, 'softmax'),
])
model.compile('adam', 'mse')
model.fit(_DATA_TRAIN_X, keras.utils.to_categorical(_DATA_TRAIN_Y, _NEURON_2), epochs=_EPOCHS)
#SKYNNET:END
"""


def test_the_dialect_reduces_what_uses_its_names_and_nothing_else() -> None:
    text = program(compiled(DIALECT))
    for line in (
        "_NEURON_1 = 64",
        "_NEURON_2 = 10",
        "_FILTERS_1: int = 48",
        "_EMBEDDING_ = 32",
        "_CELL_1 = 24",
        "_EPOCHS = 10",
    ):
        assert f"\n{line}\n" in text
    assert (
        "Dense(_NEURON_1), Dense(int(_NEURON_1 / 1.5)), Dense(77), Dense(_FILTERS_1), Dense(_CELL_1 + _EMBEDDING_),"
        in text
    )
    assert "Dense(5, 'softmax')" in text
    assert "to_categorical(_DATA_TRAIN_Y, _NEURON_2), epochs=_EPOCHS)" in text


def test_generator_classes_of_the_dialect() -> None:
    text = DIALECT.replace("_EPOCHS = 20\n", "_EPOCHS = 20\n_DATA_TRAIN_GEN_Y = [0, 1, 2]\n")
    assert "_DATA_TRAIN_GEN_Y = skn_runtime.generator_classes([0, 1, 2])\n" in program(compiled(text))


# Epochs.

EPOCHS = {
    "keyword": ("model.fit(x, y, epochs=9)\n", "epochs=5)"),
    "positional": ("model.fit(x, y, 32, 9)\n", "x, y, 32, 5)"),
    "name": ("n = 9\nmodel.fit(x, y, epochs=n)\n", ("epochs=5)", "epochs=skn_runtime.epochs(n, 2))")),
    "unknown": ("model.fit(x, y, epochs=int(sys.argv[1]))\n", "epochs=skn_runtime.epochs(int(sys.argv[1]), 2))"),
    "default": ("model.fit(x, y)\n", "fit(model, x, y)"),
}


@pytest.mark.parametrize("name", EPOCHS)
def test_epochs_of_a_dense_network_follow_the_factor(name: str) -> None:
    fit, expected = EPOCHS[name]
    text = ending(submodel(fit))
    assert any(part in text for part in ([expected] if isinstance(expected, str) else expected)), text


@pytest.mark.parametrize(
    "layer", ["Conv1D(64, 3), Flatten()", "LSTM(64)", "Embedding(9, 8), Flatten()", "MyLayer(), Flatten()"]
)
def test_epochs_of_other_networks_are_kept(layer: str) -> None:
    before = "class MyLayer(layers.Layer):\n    def call(self, x):\n        return x\n"
    body = f"model = keras.Sequential([keras.Input((20, 4)), {layer}, Dense(10)])\n"
    assert "epochs=9)" in program(compiled(block(body, before, fit=COMPILE + "model.fit(x, y, epochs=9)\n")))


@pytest.mark.parametrize(("key", "expected"), [("keep", "epochs=9)"), ("reduce", "epochs=5)")])
def test_epochs_can_be_said(key: str, expected: str) -> None:
    body = "model = keras.Sequential([keras.Input((20, 4)), LSTM(64), Dense(10)])\n" if key == "reduce" else dense("64")
    text = block(body, kind=f"MULTICLASS epochs={key}", fit=COMPILE + "model.fit(x, y, epochs=9)\n")
    assert expected in program(compiled(text))


@pytest.mark.parametrize("kind", ["REGRESSION", "LOCAL_REGRESSION", "BINARYCLASS"])
def test_epochs_of_other_kinds_are_kept(kind: str) -> None:
    body = f"model = keras.Sequential([keras.Input((20,)), Dense(64), Dense({1 if kind == 'BINARYCLASS' else 20})])\n"
    text = block(body, kind=kind, fit=COMPILE + "model.fit(x, y, epochs=9)\n")
    assert "epochs=9)" in program(compiled(text, 2))


# Paths.


def test_a_file_that_the_block_writes_is_read_from_its_own_place() -> None:
    fit = (
        "if os.path.exists('w.weights.h5'):\n    model.load_weights('w.weights.h5')\nelse:\n    model.fit(x, y)\n"
        "    model.save_weights('w.weights.h5')\n"
    )
    text = submodel(fit)
    assert "if skn_runtime.exists('w.weights.h5'):\n    skn_runtime.load_weights(model, 'w.weights.h5')\n" in text


def test_other_files_are_read_where_they_are() -> None:
    text = submodel("if os.path.exists('data.csv'):\n    x = np.loadtxt('data.csv')\nmodel.fit(x, y)\n")
    assert "if os.path.exists('data.csv'):\n    x = np.loadtxt('data.csv')\n" in text


def test_weights_from_elsewhere_do_not_fit_a_narrow_network() -> None:
    text = block(dense("64"), fit=COMPILE + "model.load_weights('pretrained.weights.h5')\nmodel.fit(x, y)\n")
    made = compiled(text)
    if not errors(made):
        assert "Dense(64, 'relu')" in program(made), "the layers have to keep the size of the weights"
    else:
        assert all(d.hint for d in errors(made))


# Local regression cuts its input.


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("keras.Input((20,)), Dense(64)", "keras.Input(skn_runtime.patch_shape((20,), part=[0, 4])), Dense(16)"),
        (
            "keras.Input(shape=(20,)), Dense(64)",
            "keras.Input(shape=skn_runtime.patch_shape((20,), part=[0, 4])), Dense(16)",
        ),
        ("Dense(64, input_shape=[20])", "Dense(16, input_shape=skn_runtime.patch_shape([20], part=[0, 4]))"),
        ("Dense(64, input_dim=20)", "Dense(16, input_dim=skn_runtime.patch_shape(20, part=[0, 4]))"),
        (
            "keras.Input(x.shape[1:]), Dense(64)",
            "keras.Input(skn_runtime.patch_shape(x.shape[1:], part=[0, 4])), Dense(16)",
        ),
    ],
)
def test_local_regression(shape: str, expected: str) -> None:
    body = f"model = keras.Sequential([{shape}, Dense(20)])\n"
    text = program(compiled(block(body, kind="LOCAL_REGRESSION", fit=COMPILE + "model.fit(x, x)\n"), 4))
    assert f"[{expected}, Dense(5)]" in text
    assert f"[{shape}, Dense(20)]" in program(
        compiled(block(body, kind="LOCAL_REGRESSION", fit=COMPILE + "model.fit(x, x)\n"), 4), "compose.py"
    )


# Lines.


def mapped(made: Compilation, index: int = 0) -> dict[int, int]:
    """Return the script's line of each line of a program."""
    found: dict[int, int] = {}
    entry: dict[str, Any] = made.blocks[0]["programs"][index]
    for line, source, count in entry["lines"]:
        found.update({line + i: source + i for i in range(count)})
    return found


def test_every_line_of_a_program_leads_to_its_line() -> None:
    text = block(
        "model = build(\n    64\n)\n",
        BUILDER + "\n\nz = 1\n",
        fit="model.compile(\n    'adam',\n    'mse',\n)\nhistory = (model  # here\n    .fit(\n        x, y,\n    ))\n",
    )
    made = compiled(text)
    lines = mapped(made)
    old, new = text.splitlines(), program(made).splitlines()
    for number, line in enumerate(new, start=1):
        if "skn_runtime" in line or not line.strip(" ,") or "Dense(" in line:
            continue
        assert number in lines, line
        assert old[lines[number] - 1] == line
    training = next(i for i, line in enumerate(new, start=1) if "skn_runtime.fit" in line)
    assert old[lines[training] - 1].strip() in ("history = (model  # here", ".fit(")
    built = next(
        i for i, line in enumerate(new, start=1) if i > text.count("\n", 0, text.index("#SKY")) and "Dense(" in line
    )
    assert "Dense(" in old[lines[built] - 1]


def test_lines_stay_where_they_are_up_to_the_training() -> None:
    text = block(
        "h = 3\n\n# a comment\n" + dense("(64\n  + 0)") + "\n",
        fit="model.compile(\n 'adam')\nmodel.fit(\n    x,\n    y)\n",
    )
    new = program(compiled(text)).splitlines()
    for number, line in enumerate(text.splitlines()[: line_of(text, "    y)")], start=1):
        if "Dense" not in line and "SKYNNET" not in line and "fit" not in line and "+ 0" not in line:
            assert number > len(new) or new[number - 1] == line or "(64" in text
    assert mapped(compiled(text))[1] == 1


def test_a_block_that_ends_with_return_is_measured_before_it() -> None:
    made = compiled(
        "import keras\nfrom keras.layers import Dense\n\ndef train():\n    #SKYNNET:BEGIN_MULTICLASS\n"
        "    model = keras.Sequential([keras.Input((8,)), Dense(32), Dense(10, 'softmax')])\n"
        "    model.compile('adam', 'sparse_categorical_crossentropy')\n    model.fit(x, y)\n    return model\n"
        "    #SKYNNET:END\n\ntrain()\n",
        6,
    )
    composer = made.files["compose.py"].decode()
    assert "    skn_runtime.end({**globals(), **locals()}); return model\n" in composer


def test_a_builder_method_of_the_class_is_copied_and_bound() -> None:
    made = compiled(
        "import sys\nimport keras\nfrom keras.layers import Dense\n\nclass Trainer:\n    def build(self):\n"
        "        i = h = keras.Input((64,))\n        for u in self.units:\n            h = Dense(u, 'relu')(h)\n"
        "        return keras.Model(i, Dense(10, 'softmax')(h))\n\n    def train(self, x, y):\n"
        "        #SKYNNET:BEGIN_MULTICLASS\n        self.model = self.build()\n"
        "        self.model.compile('adam', 'sparse_categorical_crossentropy')\n        self.model.fit(x, y)\n"
        "        #SKYNNET:END\n\nt = Trainer()\nt.units = [int(u) for u in sys.argv[1:]]\nt.train(x, y)\n",
        6,
    )
    program = made.files["submodel_00.py"].decode()
    assert (
        "            for u in self.units:\n                h = Dense(skn_runtime.width(u, 2), 'relu')(h)\n" in program
    )
    assert "        self.build = build.__get__(self)\n        self.model = self.build()\n" in program
    assert "build.__get__" not in made.files["compose.py"].decode()
