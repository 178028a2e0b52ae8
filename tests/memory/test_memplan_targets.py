"""`sknc memplan` on scripts, split folders, callables, .keras files and applications."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from sknc.cli import main

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "memplan.schema.json").read_text())
MODELS = "tests.memory.keras_models"
SCRIPT = """
import keras, numpy
x, y = numpy.ones((100, 20)), numpy.zeros((100,), "int32")
#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(300, "relu"), keras.layers.Dense(4, "softmax")])
model.compile("sgd", "sparse_categorical_crossentropy")
model.fit(x, y, batch_size=10)
#SKYNNET:END
raise SystemExit("trained after all")
"""


def memplan(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["memplan", *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    status, out, err = memplan(capsys, *arguments, "--format", "json")
    assert status == 0, err
    content: dict[str, Any] = json.loads(out)
    jsonschema.validate(content, SCHEMA)
    return content


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")


def test_a_script_is_planned_as_it_would_train(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    content = report(capsys, str(script))
    assert (content["batch"], content["optimizer"], content["accounting"]) == (10, "sgd", "tensorflow")
    assert content["parameters_bytes"] == 4 * (20 * 300 + 300 + 300 * 4 + 4)
    assert content["input_pipeline_bytes"] == 100 * 20 * 4 + 100 * 4
    assert "run up to its first fit" in content["notes"][0]


TEXTS = """
import keras, numpy, tensorflow as tf
x, y = numpy.ones((100, 30), "int32"), numpy.zeros((100,), "int32")
lengths = tf.data.Dataset.range(3, 60).map(lambda n: (tf.ones((n,), tf.int32), n % 2)).padded_batch(24)
#SKYNNET:BEGIN_BINARYCLASS
inputs = keras.Input((None,), dtype="int32")
hidden = keras.layers.LSTM(16)(keras.layers.Embedding(9, 16)(inputs))
model = keras.Model(inputs, keras.layers.Dense(1, "sigmoid")(hidden))
model.compile("sgd", "binary_crossentropy")
model.fit(DATA)
#SKYNNET:END
"""


@pytest.mark.parametrize(
    ("data", "batch", "length"),
    [
        ("x, y, batch_size=20", 20, 30),
        ("tf.data.Dataset.from_tensor_slices((x, y)).cache().batch(40).prefetch(2)", 40, 30),
        # The first batch of these has texts of up to 26.
        ("lengths", 24, 26),
    ],
)
def test_the_data_of_a_script_say_batch_and_shapes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data: str, batch: int, length: int
) -> None:
    script = tmp_path / "train.py"
    script.write_text(TEXTS.replace("DATA", data))
    content = report(capsys, str(script))
    assert content["batch"] == batch
    baselines = [content["peaks"]["baseline"]["bytes"]]
    script.write_text(TEXTS.replace("DATA", f"x[:, :{length}], y, batch_size={batch}"))
    baselines.append(report(capsys, str(script))["peaks"]["baseline"]["bytes"])
    assert baselines[0] == baselines[1]


@pytest.mark.slow
def test_a_split_folder_is_planned_program_by_program(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "split"
    assert main(["split", str(ROOT / "samples" / "mlp_digits.py"), "-m", "2", "-o", str(folder)]) == 0
    capsys.readouterr()
    content = report(capsys, str(folder))
    expected = sorted(path.name for path in folder.glob("submodel_*.py"))
    assert [Path(program["target"]).name for program in content["programs"]] == expected
    whole = 64 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10
    assert all(0 < program["parameters_bytes"] < 4 * whole for program in content["programs"])


def test_a_callable_a_file_and_an_application(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import keras

    from . import keras_models

    # TensorFlow's graph optimiser sorts by names, which Keras numbers: other numbers are another order of operations.
    keras.backend.clear_session()
    by_call = report(capsys, f"{MODELS}:mlp", "--batch", "8")
    path = tmp_path / "mlp.keras"
    keras.backend.clear_session()
    keras_models.mlp().save(path)
    by_file = report(capsys, str(path), "--batch", "8")
    assert by_file["predicted_peak"] == by_call["predicted_peak"]
    assert by_call["layers"] == 6
    found = report(capsys, "keras.applications.MobileNetV2", "--batch", "2", "--input-shape", "32,32,3")
    assert found["parameters_bytes"] == 4 * 3_538_984


def test_a_callable_that_compiles_is_planned_with_its_optimizer(capsys: pytest.CaptureFixture[str]) -> None:
    content = report(capsys, f"{MODELS}:compiled", "--batch", "8")
    assert content["optimizer"] == "rmsprop"
    assert content["optimizer_bytes"] == content["gradients_bytes"]
    assert "allocating weights" in content["notes"][0]


@pytest.mark.slow
def test_eight_billion_parameters_are_planned_without_them(capsys: pytest.CaptureFixture[str]) -> None:
    import resource

    content = report(capsys, f"{MODELS}:huge", "--batch", "8")
    assert content["parameters_bytes"] > 4 * 8e9
    assert content["predicted_peak"] > 3 * content["parameters_bytes"]
    # The largest child so far: KiB on Linux.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 * 2**20


def test_fail_over_both_ways_and_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    target = (f"{MODELS}:residual", "--batch", "32")
    content = report(capsys, *target, "--fail-over", "1GiB")
    status, _, err = memplan(capsys, *target, "--fail-over", "10MiB")
    assert status == 1
    assert "is more than --fail-over 10.0 MiB" in err
    budget = content["predicted_peak"] * 2 // 3
    planned = report(capsys, *target, "--budget", str(budget))
    assert planned["plan"]["feasible"]
    assert planned["pools"]["device"] <= budget
    assert planned["plan"]["tensors"]


@pytest.mark.parametrize(
    ("target", "status", "said"),
    [
        (f"{MODELS}:no_model", 2, "gave int, not a keras.Model"),
        (f"{MODELS}:broken", 2, "RuntimeError: no such data"),
        (f"{MODELS}:any_size", 2, "give --input-shape"),
        ("missing.keras", 2, "there is no file 'missing.keras'"),
        ("missing.py", 2, "there is no file 'missing.py'"),
        ("tests", 2, "a folder without a manifest.json"),
        ("nonsense", 2, "is no target"),
        ("paper:alexnet --accounting tensorflow --input-shape 3,3,3", 2, "an input shape of their own"),
        (f"{MODELS}:mlp --input-shape 3,-1", 2, "is no shape"),
    ],
)
def test_bad_targets_are_one_message(capsys: pytest.CaptureFixture[str], target: str, status: int, said: str) -> None:
    found, out, err = memplan(capsys, *target.split(), "--batch", "2")
    assert found == status
    assert out == ""
    assert said in err
    assert err.count("error:") == 1


def test_without_a_batch_nothing_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = memplan(capsys, f"{MODELS}:mlp")
    assert status == 2
    assert "add --batch" in err


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("print('nothing to train')", 1, "has no block"),
        ("#SKYNNET:BEGIN_MULTICLASS\nprint('no model')\n#SKYNNET:END", 2, "without calling fit"),
        ("#SKYNNET:BEGIN_MULTICLASS\nx = 1 / 0\n#SKYNNET:END", 2, "bad.py:2: x = 1 / 0"),
        ("#SKYNNET:BEGIN_MULTICLASS\nexit(3)\n#SKYNNET:END", 2, "ended with status 3 before it trained"),
        ("import os\nos.kill(os.getpid(), 9)\n#SKYNNET:BEGIN", 2, "was ended by signal 9 and gave no answer"),
    ],
)
def test_scripts_that_cannot_be_planned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, status: int, said: str
) -> None:
    script = tmp_path / "bad.py"
    script.write_text(text)
    found, out, err = memplan(capsys, str(script))
    assert (found, out) == (status, "")
    assert said in err
    assert "site-packages" not in err


def test_an_ended_command_leaves_nobody_planning(tmp_path: Path) -> None:
    script, alive = tmp_path / "train.py", tmp_path / "pid"
    script.write_text(f"import os, time\nopen({str(alive)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n" + SCRIPT)
    command = subprocess.Popen([sys.executable, "-m", "sknc", "memplan", str(script)], stderr=subprocess.DEVNULL)
    try:
        assert waited(lambda: alive.is_file() and alive.read_text().isdigit())
    finally:
        command.send_signal(signal.SIGKILL)
        command.wait()
    child = int(alive.read_text())
    assert waited(lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text())


def waited(done: Callable[[], bool]) -> bool:
    for _ in range(600):
        if done():
            return True
        time.sleep(0.1)
    return False


def test_what_is_not_there_is_named() -> None:
    from sknc.memplan.models import application, checked_model, read_config
    from sknc.memplan.usercode import import_callable
    from sknc.runtime.memory.errors import PlanError

    for name, wrong in (
        ("no.such:model", ModuleNotFoundError),
        (f"{MODELS}:nothing", AttributeError),
        ("os:sep", TypeError),
    ):
        with pytest.raises(wrong):
            import_callable(name)
    with pytest.raises(PlanError, match=r"no keras\.applications\.Nothing; there are .*ResNet50"):
        application("Nothing", None)
    with pytest.raises(PlanError, match="refuses this input shape"):
        application("VGG16", (8, 8, 3))
    with pytest.raises(PlanError, match="gave int"):
        checked_model("m:f", 7)
    with pytest.raises(PlanError, match=r"is no \.keras file"):
        read_config(__file__)


def test_files_that_hold_something_else(tmp_path: Path) -> None:
    import zipfile

    from sknc.errors import UsageError
    from sknc.memplan.models import read_config
    from sknc.memplan.targets import programs_of
    from sknc.runtime.memory.errors import PlanError

    with zipfile.ZipFile(tmp_path / "list.keras", "w") as archive:
        archive.writestr("config.json", "[1]")
    with pytest.raises(PlanError, match="names no class"):
        read_config(str(tmp_path / "list.keras"))
    (tmp_path / "manifest.json").write_text('{"schema": 1, "blocks": []}')
    with pytest.raises(UsageError, match="names no program"):
        programs_of(tmp_path)
