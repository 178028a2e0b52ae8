"""`sknc memplan --write-plan`: the plan that a training obeys, made before there is a training."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import keras
import pytest

from sknc.cli import main
from sknc.runtime.memory.execute.flatten import flatten
from sknc.runtime.memory.execute.keeper import fit_in_memory, plan_of
from sknc.runtime.memory.execute.plans import check_plan, read_plan
from sknc.runtime.memory.execute.predicting import fingerprint
from tests.memory.keras_models import compiled, residual

ROOT = Path(__file__).parents[2]
TARGET = "tests.memory.keras_models:residual"


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")


def test_a_training_obeys_what_was_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, report = tmp_path / "plan.json", tmp_path / "report.json"
    options = ["--batch", "64", "--optimizer", "sgd", "--budget", "1GiB", "--write-plan", str(path)]
    assert main(["memplan", TARGET, *options, "-o", str(report)]) == 0
    assert f"wrote {path}" in capsys.readouterr().err
    content = json.loads(report.read_text())
    jsonschema.validate(content, json.loads((ROOT / "docs" / "memplan.schema.json").read_text()))
    plan = read_plan(path)
    assert (plan.batch_size, plan.optimizer, plan.budget) == (64, "SGD", 2**30)
    assert content["training_plan"]["predicted_peak"] == plan.predicted_peak
    keras.backend.clear_session()  # layers are numbered as in a new process
    model = residual()
    graph = flatten(model)
    assert graph is not None
    check_plan(plan, [step.name for step in graph.steps], fingerprint(model))
    model.compile("sgd", "mse")
    kept = plan_of(fit_in_memory(model, "1GiB", batch_size=64, plan=path))
    assert kept == plan


def test_a_budget_that_no_training_keeps_writes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    assert main(["memplan", TARGET, "--batch", "64", "--budget", "1KiB", "--write-plan", str(path)]) == 1
    assert "no training keeps 1.0 KiB; the smallest budget is" in capsys.readouterr().err
    assert not path.exists()


def test_a_callable_that_compiles_has_the_names_of_a_new_process(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    target = "tests.memory.keras_models:compiled"
    assert (
        main(["memplan", target, "--batch", "8", "--budget", "1GiB", "--write-plan", str(path), "-o", str(path)]) == 0
    )
    keras.backend.clear_session()
    graph = flatten(compiled())
    assert graph is not None
    (segment,) = read_plan(path).segments
    assert (segment.first, segment.last) == (graph.steps[0].name, graph.steps[-1].name)


@pytest.mark.parametrize("arguments", [(TARGET, "--batch", "8"), ("paper:alexnet", "--budget", "1GiB")])
def test_without_a_budget_or_a_model_there_is_none(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["memplan", *arguments, "--write-plan", str(tmp_path / "plan.json")]) == 2
    assert "is for a Keras model and a budget" in capsys.readouterr().err
