"""What the composer demands of the submodels' artifacts, and what it says when that is not there."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from sknc import runtime
from sknc.runtime import ProgramError
from tests.runtime_compose.programs import Folder, multiclass

BLOCK = """
import keras, numpy as np
from keras import layers
y_train = np.arange(60) % 6
x_train = np.eye(6, dtype="float32")[y_train]
{begin}
model = keras.Sequential([keras.Input((6,)), layers.Dense(4), layers.Dense({width}, "softmax")])
model.compile("adam", "sparse_categorical_crossentropy", run_eagerly=True)
train(model, x_train, y_train, epochs=1, verbose=0)
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "skn_runtime", runtime)
        folder = multiclass(tmp_path_factory.mktemp("trained") / "split", BLOCK, 6, 3)
        folder.train()
    return folder.place


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Folder:
    """A copy to spoil."""
    copy = object.__new__(Folder)
    copy.place = tmp_path / "split"
    shutil.copytree(trained, copy.place)
    return copy


def artifacts(folder: Folder, number: int) -> Path:
    (found,) = folder.place.glob(f"artifacts/submodel_{number:02d}-*")
    return found


def rewrite_weights(folder: Folder, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    path = artifacts(folder, 1) / "weights.npz"
    with np.load(path) as stored:
        changed = change(dict(stored))
    np.savez(path, **changed)


def test_untrained(folder: Folder) -> None:
    (artifacts(folder, 1) / "result.json").unlink()
    with pytest.raises(ProgramError, match=r"submodel_01.py has not finished training") as found:
        folder.run("compose.py")
    assert f"sknc run {folder.place}" in str(found.value)
    assert f"python {folder.place / 'submodel_01.py'}" in str(found.value)


def test_program_changed_since_the_split(folder: Folder) -> None:
    with (folder.place / "submodel_02.py").open("a", encoding="utf-8") as file:
        file.write("# a change\n")
    with pytest.raises(ProgramError, match=r"submodel_02.py is not the program .* text has changed"):
        folder.run("compose.py")


def test_program_missing(folder: Folder) -> None:
    (folder.place / "submodel_00.py").unlink()
    with pytest.raises(ProgramError, match=r"submodel_00.py is missing"):
        folder.run("compose.py")


def test_weights_of_another_shape(folder: Folder) -> None:
    rewrite_weights(folder, lambda stored: {**stored, "w0002": stored["w0002"][:, :-1]})
    with pytest.raises(ProgramError, match=r"submodel_01.py: weight .*kernel has shape \(4, 4\), .* \(4, 3\)"):
        folder.run("compose.py")


def test_too_few_weights(folder: Folder) -> None:
    rewrite_weights(folder, lambda stored: {name: stored[name] for name in ("w0000", "w0001")})
    with pytest.raises(ProgramError, match="has 4 weights, its artifacts have 2"):
        folder.run("compose.py")


def test_a_stored_lambda_is_not_executed(folder: Folder) -> None:
    # Code in a configuration must not run; the program's own text builds the network instead.
    path = artifacts(folder, 0) / "model.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    code = {"class_name": "__lambda__", "config": {"code": "4wAAAA==", "defaults": None, "closure": None}}
    planted = {"module": "keras.layers", "class_name": "Lambda", "config": {"name": "evil", "function": code}}
    config["config"]["layers"].insert(1, planted)
    path.write_text(json.dumps(config), encoding="utf-8")
    names = folder.run("compose.py")
    assert "evil" not in json.dumps(names["model"].get_config())
    assert len(names["model"].get_layer("submodel_00").layers) == 2


def test_histories_of_different_lengths(folder: Folder) -> None:
    path = artifacts(folder, 0) / "history.json"
    path.write_text(json.dumps({"epoch": [0, 1, 2], "history": {"loss": [4.0, 3.0, 2.0], "own": [1.0]}}))
    first = [
        json.loads((artifacts(folder, m) / "history.json").read_text(encoding="utf-8"))["history"]["loss"][0]
        for m in (1, 2)
    ]
    history = folder.run("compose.py")["history"]
    assert history.epoch == [0, 1, 2]
    assert history.history["loss"] == pytest.approx([(4.0 + sum(first)) / 3, 3.0, 2.0])
    assert history.history["own"] == [1.0]


def test_a_block_that_did_not_train_is_told(folder: Folder) -> None:
    composer = folder.place / "compose.py"
    text = composer.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if "composed(model)" not in line]
    composer.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ProgramError, match="block 0 ended without a model"):
        folder.run("compose.py")


def test_a_second_fit_of_the_same_model_keeps_the_composition(folder: Folder) -> None:
    composer = folder.place / "compose.py"
    text = composer.read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if "composed(model)" in line]
    composer.write_text(text.replace(line, f"{line}\nfirst = model\n{line}"), encoding="utf-8")
    names = folder.run("compose.py")
    assert names["first"] is names["model"]


def test_layers_shared_with_another_model_explain_themselves(folder: Folder) -> None:
    composer = folder.place / "compose.py"
    text = composer.read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if "composed(model)" in line]
    inner = "inner = keras.Model(model.inputs, model.layers[0].output)\n"
    composer.write_text(text.replace(line, inner + line), encoding="utf-8")
    names = folder.run("compose.py")
    with pytest.raises(ProgramError, match="was not trained"):
        names["inner"](names["x_train"])


def test_a_layer_of_the_original_is_not_found_in_the_composition(folder: Folder, tmp_path: Path) -> None:
    composer = folder.place / "compose.py"
    text = composer.read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if "composed(model)" in line]
    composer.write_text(text.replace(line, f"hidden = model.layers[0].name\n{line}"), encoding="utf-8")
    names = folder.run("compose.py")
    model = names["model"]
    hidden = model.get_layer(names["hidden"])
    hidden.trainable = False
    for use in (hidden.get_weights, lambda: hidden(names["x_train"])):
        with pytest.raises(ProgramError, match="was not trained"):
            use()
    assert model.get_layer(index=0) is model.layers[0]
    assert model.get_layer(model.layers[-1].name) is model.layers[-1]
    model.save(tmp_path / "whole.keras")
    keras.models.load_model(tmp_path / "whole.keras", compile=False)


def test_unknown_rules_and_empty_lists_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="unknown rule 'vote'"):
        runtime.begin_composed(
            str(tmp_path / "compose.py"), block=0, kind="multiclass", of=3, rule="vote", programs=[["a", "b", []]]
        )
    with pytest.raises(ProgramError, match="at least one submodel"):
        runtime.begin_composed(str(tmp_path / "compose.py"), block=0, kind="multiclass", of=3, programs=[])
