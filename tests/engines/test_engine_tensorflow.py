"""Real programs: split by `sknc split`, trained by TensorFlow."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.engines import standin

SCRIPT = """import os
import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
y = rng.integers(0, 3, 300)
x = np.eye(3)[y] + 0.1 * rng.normal(size=(300, 3))
#SKYNNET:BEGIN_MULTICLASS_ACC
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(24, activation="relu"),
                          keras.layers.Dense(3, activation="softmax")])
model.compile(keras.optimizers.Adam(0.05), "sparse_categorical_crossentropy", metrics=["accuracy"])
if os.environ.get("BREAK", "nothing") in __file__: raise RuntimeError("as it was asked to")
model.fit(x, y, epochs=10, verbose=0)
predicted = model.predict(x, verbose=0)
#SKYNNET:END
print("right:", float(np.mean(predicted.argmax(1) == y)) > 0.9)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A split script, nothing run."""
    place = tmp_path_factory.mktemp("tensorflow")
    (place / "train.py").write_text(SCRIPT)
    done = standin.sknc("split", place / "train.py", "-m", "3", "-o", place / "out")
    assert done.returncode == 0, done.stderr
    return place / "out"


def test_a_failure_and_the_rest_of_the_run(folder: Path) -> None:
    broken = standin.sknc("run", folder, "--retries", "0", BREAK="submodel_02", TF_CPP_MIN_LOG_LEVEL="2")
    assert broken.returncode == 3
    # The user's line, not the program's.
    number = next(number for number, line in enumerate(SCRIPT.splitlines(), 1) if "BREAK" in line)
    assert f"  at train.py:{number}: if os.environ" in broken.stderr
    assert "RuntimeError: as it was asked to" in broken.stderr
    assert list(standin.statuses(folder).values()) == ["finished", "finished", "failed"]
    first = next(folder.glob("artifacts/submodel_00-*/result.json"))
    written = first.stat().st_mtime_ns

    done = standin.sknc("run", folder, "--baseline", TF_CPP_MIN_LOG_LEVEL="2")
    assert done.returncode == 0, done.stderr
    assert first.stat().st_mtime_ns == written
    lines = done.stdout.splitlines()
    assert lines[0].startswith("accuracy: ")
    assert lines[1] == "right: True"
    said = standin.results(folder)
    assert [entry["status"] for entry in said["submodels"]] == ["finished"] * 3
    assert [entry["share"] for entry in said["submodels"]] == ["0, 1", "0, 2", "1, 2"]
    assert all(entry["parameters"] > 0 and entry["seconds"] > 0 for entry in said["submodels"])
    assert said["composed"]["accuracy"] > 0.9
    assert said["original"]["accuracy"] > 0.9
    assert said["original"]["parameters"] == 3 * 24 + 24 + 24 * 3 + 3
    assert said["ratio"]["sum"] > said["ratio"]["longest"] > 0


def test_the_artifacts_are_where_the_runtime_puts_them(folder: Path) -> None:
    names = {path.name for path in next(folder.glob("artifacts/submodel_00-*")).iterdir()}
    assert {"weights.npz", "model.json", "history.json", "result.json", "log.txt", "run.json"} <= names
    events = (next(folder.glob("artifacts/submodel_00-*")) / "progress.jsonl").read_text().splitlines()
    kinds = [json.loads(event)["event"] for event in events]
    assert kinds[:2] == ["begin", "start"]
    assert kinds[-1] == "done"
    assert kinds.count("epoch") == json.loads(events[1])["epochs"]
    assert os.path.getsize(folder / "artifacts" / "compose" / "log.txt") > 0
