"""Every kind of block: the composed model answers what its submodels' own answers make by the rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from sknc.runtime.compose import concatenation
from tests.runtime_compose.programs import Folder

BINARY = """
import keras, numpy as np
from keras import layers
from sklearn.datasets import load_breast_cancer
x, y = load_breast_cancer(return_X_y=True)
x = ((x - x.mean(0)) / x.std(0)).astype("float32")
x_train, y_train, x_test, y_test = x[:400], y[:400], x[400:], y[400:]
keras.utils.set_random_seed(1)
{begin}
model = keras.Sequential([keras.Input((30,)), layers.Dense(4, "relu"), layers.Dense(UNITS, ACTIVATION)])
model.compile(keras.optimizers.Adam(0.01), LOSS, metrics=["accuracy"])
train(model, x_train, y_train, epochs=2, verbose=0)
predicted = model.predict(x_test, verbose=0)
"""
VECTOR = """
import keras, numpy as np
from keras import layers
random = np.random.default_rng(0)
x_train = random.normal(size=(64, 6)).astype("float32")
y_train = np.tanh(x_train @ random.normal(size=(6, 7))).astype("float32")
{begin}
model = keras.Sequential([keras.Input((6,)), layers.Dense(5, "relu"), layers.Dense({width}, ACTIVATION)])
model.compile("adam", "LOSS")
train(model, x_train, TARGETS, epochs=1, verbose=0)
predicted = model.predict(x_train, verbose=0)
"""
IMAGES = """
import keras, numpy as np
from keras import layers
random = np.random.default_rng(0)
x_train = random.uniform(size=(12, 7, 5, 1)).astype("float32")
{begin}
inputs = keras.Input(skn_runtime.patch_shape((7, 5, 1), part={part}, grid={grid}) if LOCAL and {part} else (7, 5, 1))
model = keras.Model(inputs, layers.Conv2D(1, 3, padding="same")(layers.Conv2D(3, 3, padding="same")(inputs)))
model.compile("adam", "mse")
train(model, x_train, x_train, epochs=1, verbose=0)
predicted = model.predict(x_train, verbose=0)
"""


def binary(place: Path, units: int, activation: str, loss: str) -> Folder:
    block = BINARY.replace("UNITS", str(units)).replace("ACTIVATION", repr(activation)).replace("LOSS", loss)
    shares = [({"half": half}, half) for half in (0, 1)]
    return Folder(place, block, {"kind": "binary", "of": 2, "measures": ["acc"]}, shares, [units] * 3)


@pytest.mark.parametrize(
    ("units", "activation", "loss"),
    [
        (1, "sigmoid", "'binary_crossentropy'"),
        (1, "linear", "keras.losses.BinaryCrossentropy(from_logits=True)"),
        (2, "softmax", "'sparse_categorical_crossentropy'"),
        (2, "linear", "keras.losses.SparseCategoricalCrossentropy(from_logits=True)"),
    ],
)
def test_binary_takes_the_more_certain_half(tmp_path: Path, units: int, activation: str, loss: str) -> None:
    folder = binary(tmp_path / "split", units, activation, loss)
    halves = folder.train()
    names = folder.run("compose.py")
    x, y, found = names["x_test"], names["y_test"], names["predicted"]
    first, second = (np.asarray(half(x)) for half in halves)
    if units == 2:
        certain = [np.abs(part[:, 1:] - part[:, :1]) for part in (first, second)]
    else:
        certain = [np.abs(part - (0.5 if activation == "sigmoid" else 0)) for part in (first, second)]
    np.testing.assert_allclose(found, np.where(certain[1] > certain[0], second, first), atol=1e-6)
    assert (certain[1] > certain[0]).any()
    assert (certain[1] < certain[0]).any()
    decided = found.argmax(1) if units == 2 else (found[:, 0] > (0.5 if activation == "sigmoid" else 0)).astype(int)
    assert folder.result()["accuracy"] == pytest.approx(np.mean(decided == y))
    assert folder.result()["rule"] == "certainty"
    folder.run("original.py")
    assert folder.original_result()["accuracy"] > 0.5


def regression(place: Path, block: str, parts: int, widths: list[int], **begin: Any) -> Folder:
    grid = begin.pop("grid", None)
    more = {"grid": grid} if grid else {}
    shares = [({"part": [m, parts], **more}, [m, parts]) for m in range(parts)]
    return Folder(place, block, {"kind": "regression", **begin}, shares, widths)


def test_parts_of_a_vector_are_laid_in_order(tmp_path: Path) -> None:
    block = VECTOR.replace("ACTIVATION", "None").replace("LOSS", "mse").replace("TARGETS", "y_train")
    folder = regression(tmp_path / "split", block, 3, [3, 2, 2, 7])
    parts = folder.train()
    names = folder.run("compose.py")
    expected = np.concatenate([np.asarray(part(names["x_train"])) for part in parts], axis=-1)
    np.testing.assert_allclose(names["predicted"], expected, atol=1e-6)
    assert names["model"].output_shape == (None, 7)


def test_labels_of_a_multilabel_target_are_measured_one_by_one(tmp_path: Path) -> None:
    block = VECTOR.replace("ACTIVATION", "'sigmoid'").replace("LOSS", "binary_crossentropy")
    block = block.replace("TARGETS", "(y_train > 0).astype('float32'), validation_split=0.25")
    folder = regression(tmp_path / "split", block, 3, [3, 2, 2, 7], labels=True, measures=["acc"])
    folder.train()
    names = folder.run("compose.py")
    right = (names["predicted"][48:] > 0.5) == (names["y_train"][48:] > 0)
    assert folder.result()["accuracy"] == pytest.approx(right.mean())
    assert "validation_split" in folder.result()["data"]


@pytest.mark.parametrize("local", [False, True])
def test_patches_of_images_are_laid_row_by_row(tmp_path: Path, local: bool) -> None:
    kind = "local_regression" if local else "regression"
    block = IMAGES.replace("LOCAL", str(local))
    folder = regression(tmp_path / "split", block, 4, [1] * 5, kind=kind, grid=[2, 2])
    parts = folder.train()
    names = folder.run("compose.py")
    x = names["x_train"]
    rows, columns = np.split(np.arange(7), [4]), np.split(np.arange(5), [3])
    boxes = [np.ix_(range(12), row, column, [0]) for row in rows for column in columns]
    if local:
        patches = [np.asarray(part(x[box])) for part, box in zip(parts, boxes, strict=True)]
    else:
        # The network gives whole images; what was trained, and counts, is the patch.
        patches = [np.asarray(part(x))[box] for part, box in zip(parts, boxes, strict=True)]
    np.testing.assert_allclose(names["predicted"], concatenation.reference(patches, [2, 2]), atol=1e-6)
    np.testing.assert_array_equal(concatenation.reference([x[box] for box in boxes], [2, 2]), x)
    assert names["predicted"].shape == x.shape
    # The targets are the inputs, so that what predict was called with is what it is measured on.
    assert folder.result()["mse"] == pytest.approx(np.mean((names["predicted"] - x) ** 2), rel=1e-5)


def test_local_regression_cuts_vectors(tmp_path: Path) -> None:
    block = """
import keras, numpy as np
from keras import layers
x_train = np.random.default_rng(0).normal(size=(32, 7)).astype("float32")
{begin}
model = keras.Sequential([layers.Dense({width}, "tanh"), layers.Dense({width})])
model.compile("adam", "mse")
train(model, x_train, x_train, epochs=1, verbose=0)
predicted = model.predict(x_train, verbose=0)
"""
    folder = regression(tmp_path / "split", block, 2, [4, 3, 7], kind="local_regression")
    parts = folder.train()
    names = folder.run("compose.py")
    cut = [names["x_train"][:, :4], names["x_train"][:, 4:]]
    expected = np.concatenate([np.asarray(part(x)) for part, x in zip(parts, cut, strict=True)], axis=-1)
    np.testing.assert_allclose(names["predicted"], expected, atol=1e-6)
    assert names["model"].input_shape == (None, 7)


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_a_single_whole_program_is_the_original(tmp_path: Path, kind: str) -> None:
    block = VECTOR.replace("ACTIVATION", "'sigmoid'").replace("LOSS", "mse").replace("TARGETS", "y_train[:, :1]")
    folder = Folder(tmp_path / "split", block, {"kind": kind, "of": 2, "whole": True}, [({}, [])], [1, 1])
    (model,) = folder.train()
    names = folder.run("compose.py")
    np.testing.assert_allclose(names["predicted"], model.predict(names["x_train"], verbose=0), atol=1e-6)
    assert [type(layer).__name__ for layer in names["model"].layers] == ["Dense", "Dense"]
    assert folder.result()["rule"] == "identity"


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fill a grid"):
        concatenation.reference([np.zeros((1, 2, 2))] * 3, [2, 2])
    with pytest.raises(ValueError, match="cannot cut axis"):
        concatenation.cut(keras.Input((2,)), 3)
