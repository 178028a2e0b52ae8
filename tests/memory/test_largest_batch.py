"""The largest batch within a budget: the right one, and few tries."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import keras
import pytest

from sknc.cli import main
from sknc.cli import memplan as command
from sknc.memplan.reports import report_for
from sknc.memplan.request import Request
from sknc.runtime.memory.batches import LARGEST_BATCH, Need, largest, needs
from sknc.runtime.memory.tensorflow import ModelSubjects

from . import keras_models

ROOT = Path(__file__).parents[2]
BUDGET = 100_000_000


def searched(need: Callable[[int], int], host: int | None = None, ready: tuple[int, ...] = ()) -> tuple[int, int]:
    """The answer and how many batches were tried."""
    tried: set[int] = set()

    def counted(batch: int) -> Need:
        assert 1 <= batch <= LARGEST_BATCH
        tried.add(batch)
        return Need(need(batch), need(batch) // 2)

    return largest(counted, BUDGET, host, list(ready)), len(tried)


def scanned(need: Callable[[int], int]) -> int:
    return next(batch for batch in range(LARGEST_BATCH) if need(batch + 1) > BUDGET)


@pytest.mark.parametrize("fixed", [0, 1000, 70_000_000, 99_999_999])
@pytest.mark.parametrize("each", [50, 1234, 777_777, 60_000_000])
def test_lines_are_followed_in_few_tries(fixed: int, each: int) -> None:
    def need(batch: int) -> int:
        return fixed + each * batch

    expected = min(LARGEST_BATCH, (BUDGET - fixed) // each)
    found, tries = searched(need)
    assert found == expected
    assert tries <= 12
    assert searched(need, BUDGET)[0] == expected
    assert searched(need, host=(BUDGET + fixed) // 4)[0] < expected or expected == 0


def test_steps_and_noise_are_no_hindrance() -> None:
    rng = random.Random(5)
    for _ in range(100):
        grain, each, fixed = rng.choice((1, 64_000, 9_000_000)), rng.randint(9000, 999_999), rng.randint(0, BUDGET // 2)

        def need(batch: int, grain: int = grain, each: int = each, fixed: int = fixed) -> int:
            return fixed + -(-each * batch // grain) * grain if batch > 2 else 0

        expected = scanned(need)
        ready = (max(1, expected - 5), expected + 90)
        assert searched(need)[0] == searched(need, ready=ready)[0] == expected
        assert searched(need)[1] <= 30


def test_nothing_fits_and_everything_fits() -> None:
    assert searched(lambda batch: BUDGET + batch)[0] == 0
    assert searched(lambda batch: 17)[0] == LARGEST_BATCH


def test_under_tensorflow_s_accounting_one_more_does_not_fit() -> None:
    image = [keras.Input((32, 32, 3)), keras.layers.Conv2D(16, 3), keras.layers.Conv2D(16, 3), keras.layers.Flatten()]
    subjects = ModelSubjects(keras.Sequential([*image, keras.layers.Dense(3)]), "image", "sgd")
    told: list[str] = []
    budget = 60 << 20
    content = report_for(Request("image", device=budget, max_batch=True), subjects, told.append)
    found = content["max_batch"]["largest"]
    assert list(found.values()) == sorted(found.values())
    assert content["batch"] == found["liveness"] > 1
    assert content["predicted_peak"] <= budget
    for technique, batch in found.items():
        assert needs(subjects(batch))[technique].device <= budget
        assert needs(subjects(batch + 1))[technique].device > budget
    assert len(told) == len(set(told)) < 40
    assert told[0].startswith("batch 1: ")
    assert told[0].endswith(" of 60.0 MiB")


def test_a_long_search_tells_how_far_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    arguments = ["memplan", f"{keras_models.__name__}:mlp", "--max-batch", "--budget", "70MiB", "--format", "json"]
    monkeypatch.setattr(command, "PATIENCE", 0.0)
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["max_batch"]["largest"]["liveness"] > 0
    assert said.err.splitlines()[0].startswith("batch 1: ")
    assert all(line.startswith("batch ") for line in said.err.splitlines())
