"""The kind of a block that does not say it, from its output layer, activation and loss."""

from __future__ import annotations

import pytest

from tests.script.helpers import block, compiled, errors, line_of

MODEL = "model = keras.Sequential([keras.Input((20,)), Dense(64), {output}])\n"
COMPILE = "model.compile('adam'{loss})\nmodel.fit(x, y)\n"

KINDS = {
    "softmax": ("Dense(10, 'softmax')", "'sparse_categorical_crossentropy'", "multiclass"),
    "softmax keyword": ("Dense(10, activation='softmax')", "'categorical_crossentropy'", "multiclass"),
    "softmax function": ("Dense(10, activation=keras.activations.softmax)", "'categorical_crossentropy'", "multiclass"),
    "softmax layer": ("Dense(10), Softmax()", "keras.losses.CategoricalCrossentropy()", "multiclass"),
    "activation layer": ("Dense(10), Activation('softmax')", "my_loss", "multiclass"),
    "logits": ("Dense(10)", "keras.losses.SparseCategoricalCrossentropy(from_logits=True)", "multiclass"),
    "two classes": ("Dense(2, 'softmax')", "'sparse_categorical_crossentropy'", "binary"),
    "one sigmoid": ("Dense(1, 'sigmoid')", "'binary_crossentropy'", "binary"),
    "binary logits": ("Dense(1)", "keras.losses.BinaryCrossentropy(from_logits=True)", "binary"),
    "hinge": ("Dense(1, 'tanh')", "'hinge'", "binary"),
    "labels": ("Dense(10, 'sigmoid')", "'binary_crossentropy'", "regression"),
    "mse": ("Dense(24)", "'mse'", "regression"),
    "mean squared error": ("Dense(24)", "keras.losses.MeanSquaredError()", "regression"),
    "mae of a sigmoid": ("Dense(24, 'sigmoid')", "'mean_absolute_error'", "regression"),
    "huber": ("Dense(24)", "keras.losses.Huber(delta=2.0)", "regression"),
    "softmax with mse": ("Dense(10, 'softmax')", "'mse'", "multiclass"),
}


@pytest.mark.parametrize("name", KINDS)
def test_inferred(name: str) -> None:
    output, loss, kind = KINDS[name]
    text = block(MODEL.format(output=output), fit=COMPILE.format(loss=f", loss={loss}")).replace(
        "BEGIN_MULTICLASS", "BEGIN"
    )
    made = compiled(text, submodels=2 if kind == "binary" else 3)
    assert not errors(made)
    assert [b["kind"] for b in made.blocks] == [kind]
    told = [d for d in made.diagnostics if d.code == "SKN214"]
    assert [d.span.line for d in told] == [line_of(text, "#SKYNNET:BEGIN")]


@pytest.mark.parametrize("loss", ["", ", loss=my_loss", ", loss=[a, b]", ", loss={'a': 'mse'}"])
def test_unclear_is_refused(loss: str) -> None:
    text = block(MODEL.format(output="Dense(10)"), fit=COMPILE.format(loss=loss)).replace("BEGIN_MULTICLASS", "BEGIN")
    assert [(d.code, d.span.line) for d in errors(compiled(text))] == [("SKN213", line_of(text, "#SKYNNET:BEGIN"))]


@pytest.mark.parametrize("kind", ["multiclass", "binary", "regression", "local_regression"])
@pytest.mark.parametrize(
    "output", ["Dense(10, 'softmax')", "Dense(1)", "Dense(2, 'softmax')", "Reshape((8, 8, 1))", "f()"]
)
def test_one_submodel_is_the_original_whatever_the_kind(kind: str, output: str) -> None:
    word = {"binary": "BINARYCLASS"}.get(kind, kind.upper())
    before = "from other import f\n"
    text = block(MODEL.format(output=output), before, word, COMPILE.format(loss=", 'mse'"))
    made = compiled(text, submodels=1)
    assert not errors(made)
    assert [b["submodels"] for b in made.blocks] == [1]
    body = made.files["submodel_00.py"].decode()
    assert MODEL.format(output=output) in body
    assert "whole=True" in body
