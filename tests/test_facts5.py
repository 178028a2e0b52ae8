"""What the original tool gets wrong, line by line: each works, or is refused with a code, a line and a hint.

The static part: programs and diagnostics. What happens in a run is tested with the runtime.
"""

# ruff: noqa: E501 - scripts are kept in one line

from __future__ import annotations

import pytest

from sknc.pipeline import Compilation
from tests.script.helpers import block, compiled, dense, errors, line_of, program, widths

TWO = "model = keras.Sequential([keras.Input((20,)), Dense(64, 'relu'), {}])\n"
FIT = "model.compile('adam', 'mse')\nmodel.fit(x, y)\n"


def refused(made: Compilation, code: str, line: int) -> None:
    """Check that a script is refused with this code at this line, with a hint, and that nothing is made of it."""
    found = [(d.code, d.span.line) for d in errors(made)]
    assert (code, line) in found
    assert all(d.hint for d in errors(made))
    assert made.files == {}


# 1. Binary networks.


@pytest.mark.parametrize("output", ["Dense(2, 'softmax')", "Dense(1, 'sigmoid')"])
@pytest.mark.parametrize("kind", ["BINARYCLASS", "BINARY"])
def test_1_binary_outputs_stay_and_the_hidden_layer_is_halved(output: str, kind: str) -> None:
    made = compiled(block(TWO.format(output), kind=kind), submodels=2)
    assert f"Dense(32, 'relu'), {output}" in program(made)
    assert made.blocks[0]["submodels"] == 2
    assert f"Dense(64, 'relu'), {output}" in program(made, "compose.py")


# 2. Sorted binary data: the halves are drawn by the runtime; programs only name their half.


def test_2_halves_are_drawn_by_the_runtime() -> None:
    made = compiled(block(TWO.format("Dense(1, 'sigmoid')"), kind="BINARY"), submodels=2)
    assert "half=0" in program(made)
    assert "half=1" in program(made, "submodel_01.py")
    assert "skn_runtime.fit(model, x, y)" in program(made)


# 3. What is taken for the model.


def test_3_callbacks_and_scalers_are_no_models() -> None:
    before = "from sklearn.preprocessing import StandardScaler\nscaler = StandardScaler()\nscaler.fit(x)\n"
    body = "check = keras.callbacks.ModelCheckpoint('best.keras')\nscaler.fit(x)\n" + dense("64")
    fit = "model.compile('adam', 'mse')\nmodel.fit(scaler.transform(x), y, callbacks=[check])\n"
    text = program(compiled(block(body, before, fit=fit)))
    assert text.count("scaler.fit(x)") == 2
    assert "skn_runtime.fit(model, scaler.transform(x), y, callbacks=[check])" in text


def test_3_subclassed_models() -> None:
    body = (
        "class Net(keras.Model):\n    def __init__(self, units):\n        super().__init__()\n"
        "        self.hidden = Dense(units, 'relu')\n        self.out = Dense(10, 'softmax')\n"
        "    def call(self, inputs, training=None):\n        return self.out(self.hidden(inputs))\nmodel = Net(64)\n"
    )
    assert widths(compiled(block(body))) == [[64, 32], [10, 5]]
    outside = compiled(block("model = Net(64)\n", body.replace("model = Net(64)\n", "")))
    assert widths(outside) == [[64, 32], [10, 5]]


# 4. Predictions wherever they stand.


def test_4_predictions_stay_as_they_are_in_the_composer() -> None:
    after = (
        "labels = model.predict(x).argmax(axis=1)\nprint(model.predict(x[:5]))\nif model.predict(x).sum():\n"
        "    model.evaluate(x, y)\n"
    )
    made = compiled(block(dense("64"), fit=FIT + after, after=after))
    assert program(made, "compose.py").count(after) == 2
    assert "predict" not in program(made)


# 5. Names of the block behind its end; `history` behind the training.


def test_5_code_behind_the_training_uses_the_composition() -> None:
    fit = "model.compile('adam', 'mse')\nhistory = model.fit(x, y, epochs=4)\nprint(history.history['loss'])\n"
    made = compiled(block(dense("64"), fit=fit, after="print(len(x), history.epoch, model.name)\n"))
    text = program(made, "compose.py")
    assert "model = skn_runtime.composed(model); history = skn_runtime.trained(model, x, y, epochs=4)\n" in text
    assert text.endswith("#SKYNNET:END\nprint(len(x), history.epoch, model.name)\n")
    assert "print(history" not in program(made)


# 6. Tuple assignment.


def test_6_tuple_assignment_of_data() -> None:
    before = "def load():\n    return (x, y), (x, y)\n"
    fit = "(a, b), (c, d) = load()\nmodel.compile('adam', 'mse')\nmodel.fit(a, b, validation_data=(c, d))\n"
    assert "skn_runtime.fit(model, a, b, validation_data=(c, d))" in program(
        compiled(block(dense("64"), before, fit=fit))
    )


# 7. Ways to write a network.

WAYS = {
    "Input from keras": "from keras import Input\nmodel = keras.Sequential([Input((20,)), Dense(64), Dense(10, 'softmax')])\n",
    "alias": "from keras.layers import Dense as D\nmodel = keras.Sequential([D(64), D(10, 'softmax')])\n",
    "module alias": "import keras.layers as KL\nmodel = keras.Sequential([KL.Dense(64), KL.Dense(10, 'softmax')])\n",
    "tf.keras": "import tensorflow as tf\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(10)])\n",
    "own name": "D = keras.layers.Dense\nmodel = keras.Sequential([D(64), D(10, 'softmax')])\n",
    "add": "model = keras.Sequential()\nmodel.add(Dense(64))\nmodel.add(Dense(10, 'softmax'))\n",
    "functional": "i = keras.Input((20,))\nh = Dense(64)(i)\nmodel = keras.Model(i, Dense(10, 'softmax')(h))\n",
    "keywords": "i = keras.Input((20,))\nmodel = keras.Model(inputs=i, outputs=Dense(units=10)(Dense(units=64)(i)))\n",
    "loop": "model = keras.Sequential()\nfor n in [64]:\n    model.add(Dense(n))\nmodel.add(Dense(10))\n",
    "comprehension": "model = keras.Sequential([Dense(n) for n in [64]] + [Dense(10)])\n",
    "builder in the block": "def build():\n    return keras.Sequential([Dense(64), Dense(10)])\nmodel = build()\n",
    "variable": "n = 64\nmodel = keras.Sequential([Dense(n), Dense(10)])\n",
    "product": "model = keras.Sequential([Dense(2 * 32), Dense(10)])\n",
    "annotated": "n: int = 64\nmodel: keras.Model = keras.Sequential([Dense(n), Dense(10)])\n",
    "builtins": "model = keras.Sequential([Dense(max(64, 8)), Dense(int(20 / 2))])\n",
    "old import": "from tensorflow.python.keras.layers import Dense as D\nmodel = keras.Sequential([D(64), D(10)])\n",
    "either import": "try:\n    from tensorflow.keras.layers import Dense as D\nexcept ImportError:\n"
    "    from keras.layers import Dense as D\nmodel = keras.Sequential([D(64), D(10)])\n",
}


@pytest.mark.parametrize("name", WAYS)
def test_7_ways_to_write_a_network(name: str) -> None:
    assert sorted(widths(compiled(block(WAYS[name])))) == [[10, 5], [64, 32]]


def test_7_builder_outside_the_block() -> None:
    before = "def build(units):\n    # a comment\n    return keras.Sequential([Dense(units), Dense(10)])\n"
    text = block("model = build(64)\n", before)
    made = compiled(text)
    assert widths(made) == [[64, 32], [10, 5]]
    head, _, rest = program(made).partition("#SKYNNET:BEGIN")
    assert head.startswith(text[: text.index("#SKYNNET:BEGIN")])
    assert rest.count("def build(units):\n    # a comment\n") == 1


# 8. Labels are the runtime's. The program hands over what the user's fit got.


@pytest.mark.parametrize(
    "labels", ["y", "y[:, None]", "y.astype(float)", "y + 5", "y.astype(str)", "keras.utils.to_categorical(y)"]
)
def test_8_labels_are_handed_over_as_they_are(labels: str) -> None:
    fit = f"model.compile('adam', 'mse')\nmodel.fit(x, {labels})\n"
    assert f"skn_runtime.fit(model, x, {labels})" in program(compiled(block(dense("64"), fit=fit)))


# 9. Two blocks, one name, different classes.


def test_9_two_blocks_with_the_same_names() -> None:
    first = block(dense("64"))
    second = f"#SKYNNET:BEGIN_MULTICLASS\n{dense('48').replace('10', '4')}{FIT}#SKYNNET:END\n"
    made = compiled(first + second)
    assert [(b["classes"], b["submodels"]) for b in made.blocks] == [(10, 6), (4, 6)]
    later = program(made, "submodel_06.py")
    assert "begin_composed(__file__, block=0" in later
    assert "begin(__file__, block=1" in later
    assert "Dense(64, 'relu'), Dense(10" in later
    assert "Dense(24, 'relu'), Dense(2" in later


# 10. Numbers of classes.


@pytest.mark.parametrize(
    ("classes", "asked", "made", "groups", "factor"),
    [
        (10, 4, 3, 3, 1.5), (10, 6, 6, 4, 2), (10, 16, 15, 6, 3), (10, 100, 45, 10, 5), (102, 16, 15, 6, 3),
        (102, 45, 45, 10, 5), (1623, 6, 6, 4, 2), (102, 100, 91, 14, 7), (10, 1, 1, 1, 1), (10, 2, 1, 1, 1),
        (1000, 45, 45, 10, 5),
    ],
)  # fmt: skip
def test_10_classes_and_submodels(classes: int, asked: int, made: int, groups: int, factor: float) -> None:
    text = block(dense("400").replace("10, 'softmax'", f"{classes}, 'softmax'"))
    found = compiled(text, submodels=asked)
    assert not errors(found)
    entry = found.blocks[0]
    assert (entry["submodels"], len(entry["groups"]), entry["factor"]) == (made, groups, factor)
    assert len(entry["programs"]) == made
    told = [d for d in found.diagnostics if d.code == "SKN301"]
    assert bool(told) == (asked != made)


def test_10_two_classes_under_multiclass() -> None:
    text = block(TWO.format("Dense(2, 'softmax')"))
    refused(compiled(text), "SKN302", line_of(text, "#SKYNNET:BEGIN"))


# 11. Paths.

PATHS = {
    "text": ("model.save('./out/net.v1.h5')\n", "model.save(skn_runtime.path('./out/net.v1.h5'))"),
    "variable": ("model.save(where)\n", "model.save(skn_runtime.path(where))"),
    "keyword": ("model.save(filepath=where)\n", "model.save(filepath=skn_runtime.path(where))"),
    "weights": ("model.save_weights('w.weights.h5')\n", "model.save_weights(skn_runtime.path('w.weights.h5'))"),
    "joined": (
        "model.save(os.path.join('out', 'a.keras'), overwrite=True)\n",
        "model.save(skn_runtime.path(os.path.join('out', 'a.keras')), overwrite=True)",
    ),
}


@pytest.mark.parametrize("name", PATHS)
def test_11_what_is_saved_before_the_last_training_gets_a_place_of_its_own(name: str) -> None:
    save, expected = PATHS[name]
    fit = f"model.compile('adam', 'mse')\nmodel.fit(x, y)\n{save}model.fit(x, y)\n"
    made = compiled(block(dense("64"), "where = 'a.keras'\n", fit=fit))
    assert expected in program(made)
    assert save in program(made, "compose.py")


# 12. Bytes: see tests/rewrite. 13. Markers: see tests/script/test_markers.py.


@pytest.mark.parametrize("indent", ["  ", "\t", "    ", "        "])
def test_12_13_indented_blocks(indent: str) -> None:
    lines = block(dense("64")).splitlines()
    start = lines.index("#SKYNNET:BEGIN_MULTICLASS")
    for head in ("def main():", 'if __name__ == "__main__":'):
        text = "\r\n".join([*lines[:start], head, *(indent + line for line in lines[start:]), "main = 1", ""])
        result = program(compiled(text))
        assert f"\r\n{indent}import skn_runtime; skn_runtime.begin(" in result
        assert "\n" not in result.replace("\r\n", "")


# 14. The exit status is the command line's; that nothing is made of a refused script is checked by `refused`.


# 15. Regression targets.


def test_15_scalar_regression() -> None:
    text = block(
        "model = keras.Sequential([keras.Input((20,)), Dense(64, 'relu'),\n    Dense(1)])\n", kind="REGRESSION"
    )
    refused(compiled(text), "SKN303", line_of(text, "Dense(1)"))


def test_15_narrow_target() -> None:
    text = block(
        "model = keras.Sequential([keras.Input((20,)), Dense(64, 'relu'),\n    Dense(4)])\n", kind="REGRESSION"
    )
    refused(compiled(text, submodels=6), "SKN304", line_of(text, "Dense(4)"))
    assert widths(compiled(text, submodels=4)) == [[64, 16], [4, 1]]


def test_15_targets_of_three_dimensions() -> None:
    body = "model = keras.Sequential([keras.Input((32, 32, 1)), Conv2D(60, 3, padding='same'), Conv2D(1, 3, padding='same')])\n"
    made = compiled(block(body, kind="REGRESSION"), submodels=6)
    assert "kind='regression', grid=[2, 3], part=[0, 6]" in program(made)
    assert widths(made) == [[60, 10], [1, 1]]


# 16. Widths that depend on each other: see tests/script/test_layers.py.


@pytest.mark.parametrize("kind", ["MULTICLASS", "BINARYCLASS", "REGRESSION", "LOCAL_REGRESSION"])
def test_every_kind_has_an_identity(kind: str) -> None:
    made = compiled(block(dense("64"), kind=kind), submodels=1)
    assert not errors(made)
    assert "Dense(64, 'relu'), Dense(10, 'softmax')" in program(made)
