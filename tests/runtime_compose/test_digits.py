"""The main job on real data: digits, six submodels, one composed model that answers like the original."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest

from sknc import runtime
from tests.runtime_compose.programs import DIGITS, Folder, multiclass

BLOCK = (
    DIGITS
    + """
keras.utils.set_random_seed(7)
{begin}
model = keras.Sequential([
    keras.Input((64,), name="pixels"), layers.Dense(32, "relu"), layers.Dense({width}, "softmax", name="digit")])
model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
original = model
train(model, x_train, y_train, epochs=5, batch_size=32, verbose=0, validation_data=(x_test[:90], y_test[:90]))
predicted = model.predict(x_test, verbose=0).argmax(axis=1)
"""
)


class Run(NamedTuple):
    """One execution of all programs."""

    folder: Folder
    names: dict[str, Any]
    out: str
    err: str


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Trained, measured and composed once for all tests of this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "skn_runtime", runtime)
        folder = multiclass(tmp_path_factory.mktemp("digits"), BLOCK, 10, 4, measures=["acc", "loss"])
        folder.train()
        folder.run("original.py")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            names = folder.run("compose.py")
        return Run(folder, names, out.getvalue(), err.getvalue())


def test_composed_is_close_to_the_original_and_measured_alike(run: Run) -> None:
    names, out, err = run.names, run.out, run.err
    result, original = run.folder.result(), run.folder.original_result()
    accuracy = float(np.mean(names["predicted"] == names["y_test"]))
    assert result["accuracy"] == pytest.approx(accuracy, abs=1e-9)
    assert f"accuracy: {accuracy:.4f}\nloss: {result['loss']:.4f}\n" in out
    assert "the mean of 6 submodels" in err
    assert result["data"] == original["data"] == "x_test, y_test"
    assert result["rule"] == "coupling"
    assert result["parameters"] == names["model"].count_params()
    assert original["accuracy"] > 0.8
    assert result["accuracy"] > original["accuracy"] - 0.04


def test_it_is_a_keras_model_with_the_originals_face(run: Run) -> None:
    names = run.names
    model, x, y = names["model"], names["x_test"], names["y_test"]
    assert isinstance(model, keras.Model)
    assert model.input_shape == (None, 64)
    assert model.output_shape == (None, 10)
    assert model.output_names == ["digit"]
    assert [tensor.name for tensor in model.inputs] == ["pixels"]
    found = model.evaluate(x, y, verbose=0, return_dict=True)
    assert list(found) == ["accuracy", "loss"] or list(found) == ["loss", "accuracy"]
    probabilities = model.predict(x, verbose=0)
    assert probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities.sum(1), 1, atol=1e-5)
    lines: list[str] = []
    model.summary(print_fn=lines.append)
    assert all(f"submodel_{m:02d}" in "\n".join(lines) for m in range(6))
    assert len(model.get_weights()) == 6 * 4
    assert len({layer.name for layer in model.layers}) == len(model.layers)
    loss = -np.log(probabilities[np.arange(len(y)), y]).mean()
    assert found["loss"] == pytest.approx(loss, rel=1e-4)


def test_history_is_the_mean_of_the_submodels(run: Run) -> None:
    names = run.names
    history = names["history"]
    assert isinstance(history, keras.callbacks.History)
    assert history.epoch == list(range(5))
    assert history.model is names["model"] and names["model"].history is history
    stored = [
        json.loads(path.read_text(encoding="utf-8"))["history"]["val_loss"]
        for path in sorted(run.folder.place.glob("artifacts/submodel_*/history.json"))
    ]
    assert len(stored) == 6
    np.testing.assert_allclose(history.history["val_loss"], np.mean(stored, axis=0))


def test_the_original_answers_as_the_composed_model(run: Run, tmp_path: Path) -> None:
    names = run.names
    original, model, x, y = names["original"], names["model"], names["x_test"], names["y_test"]
    assert original is not model
    np.testing.assert_array_equal(original.predict(x, verbose=0), model.predict(x, verbose=0))
    np.testing.assert_array_equal(original(x[:5]), model(x[:5]))
    assert original.evaluate(x, y, verbose=0) == model.evaluate(x, y, verbose=0)
    assert isinstance(original, keras.Model)
    assert original.count_params() == model.count_params()
    original.save(tmp_path / "aliased.keras")
    again = keras.models.load_model(tmp_path / "aliased.keras")
    np.testing.assert_allclose(again.predict(x, verbose=0), model.predict(x, verbose=0), atol=1e-6)


def test_a_saved_composition_loads_without_sknc(run: Run, tmp_path: Path) -> None:
    names = run.names
    model, x = names["model"], names["x_test"]
    model.save(tmp_path / "composed.keras")
    np.save(tmp_path / "x.npy", x[:50])
    np.save(tmp_path / "expected.npy", model.predict(x[:50], verbose=0))
    script = (
        "import sys\n"
        "sys.path[:] = [p for p in sys.path if 'site-packages' in p or 'lib/python' in p or p.endswith('.zip')]\n"
        "sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in repr(f).lower()]\n"
        "import keras, numpy as np\n"
        "model = keras.saving.load_model('composed.keras')\n"
        "found = model.predict(np.load('x.npy'), verbose=0)\n"
        "assert np.array_equal(found, np.load('expected.npy')), 'another answer'\n"
        "assert not [m for m in sys.modules if m.startswith(('sknc', 'skn_runtime'))]\n"
        "print('the same')\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "the same", done.stderr[-2000:]


def test_product_can_be_had(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "product"
    shutil.copytree(run.folder.place, other)
    composer = other / "compose.py"
    text = composer.read_text(encoding="utf-8")
    composer.write_text(text.replace("'measures':", "'rule': 'product', 'measures':"), encoding="utf-8")
    folder = object.__new__(Folder)
    folder.place = other
    names = folder.run("compose.py")
    assert folder.result()["rule"] == "product"
    assert not np.allclose(
        names["model"].predict(names["x_test"], verbose=0),
        run.names["model"].predict(names["x_test"], verbose=0),
        atol=1e-3,
    )
