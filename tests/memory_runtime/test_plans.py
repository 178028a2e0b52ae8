"""Plans as files, and what they refuse to be applied to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.execute.plans import Plan, PlannedSegment, check_plan, check_training, read_plan

PLAN = Plan(
    "net",
    "0123456789abcdef",
    32,
    "adam",
    "default",
    0,
    1000,
    900,
    2000,
    (PlannedSegment("a", "b", 2, "recompute", 10), PlannedSegment("c", "c", 1, "keep", 4)),
)


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(PLAN.as_json()), encoding="utf-8")
    assert read_plan(path) == PLAN
    longer = replace(PLAN, inputs=((200,), (None, 3)), reserve_bytes=7)
    path.write_text(json.dumps(longer.as_json()), encoding="utf-8")
    assert read_plan(path) == longer


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 1}', '{"schema": 2, "segments": [{}]}'])
def test_what_is_no_plan_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match=r"plan\.json"):
        read_plan(path)


def test_a_plan_says_where_inputs_go_and_what_is_moved(tmp_path: Path) -> None:
    away = (
        PlannedSegment("b", "b", 1, "offload", 8, written_bytes=8, read_bytes=16),
        PlannedSegment("c", "c", 1, "spill", 4, written_bytes=4, read_bytes=4),
    )
    plan = replace(PLAN, segments=(PlannedSegment("a", "a", 1, "recompute"), *away), ahead=True)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan.as_json()), encoding="utf-8")
    said = json.loads(path.read_text(encoding="utf-8"))
    assert [segment["inputs"] for segment in said["segments"]] == ["device", "host", "disk"]
    assert said["moved_bytes"] == 32
    assert read_plan(path) == plan
    assert (plan.held_bytes("offload"), plan.spilled_bytes) == (8, 4)
    assert "1 recomputed from the host and 1 recomputed from disk, 32 B moved in a step" in plan.summary()


def test_an_unknown_mode_is_named(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(PLAN.as_json()).replace('"recompute"', '"compress"'), encoding="utf-8")
    with pytest.raises(PlanError, match="compress"):
        read_plan(path)


def test_a_plan_fits_its_network_only() -> None:
    check_plan(PLAN, ["a", "b", "c"], PLAN.network)
    with pytest.raises(PlanError, match="'a' to 'x'"):
        check_plan(PLAN, ["a", "x", "c"], PLAN.network)
    with pytest.raises(PlanError, match="3 layers"):
        check_plan(PLAN, ["a", "b", "c", "d"], PLAN.network)
    with pytest.raises(PlanError, match="3 layers"):
        check_plan(PLAN, ["a", "b"], PLAN.network)

    with pytest.raises(PlanError, match="other layers"):
        check_plan(PLAN, ["a", "b", "c"], "another")


def test_a_report_is_no_plan(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{"schema": 1, "peak_bytes": 5}', encoding="utf-8")
    with pytest.raises(PlanError, match="report of memplan"):
        read_plan(path)


def test_the_summary_says_what_is_done() -> None:
    assert "of 2 segments 1 recomputed" in PLAN.summary()
    ordered = replace(PLAN, segments=(PlannedSegment("a", "c", 3, "keep"),))
    assert not ordered.changes_nothing
    assert "weights are updated as" in ordered.summary()
    whole = replace(ordered, predicted_peak=ordered.baseline_peak)
    assert whole.changes_nothing
    assert "everything fits" in whole.summary()


def test_a_plan_is_for_one_training_only() -> None:
    plan = replace(PLAN, inputs=((200,),))
    check_training(plan, 32, "adam", [(200,)], 900)
    with pytest.raises(PlanError, match="batches of 32"):
        check_training(plan, 16, "adam", [(200,)], 900)
    with pytest.raises(PlanError, match=r"\(200,\).*\(100,\)"):
        check_training(plan, 32, "adam", [(100,)], 900)
    with pytest.raises(PlanError, match="the model's own"):
        check_training(plan, 32, "adam", [], 900)
    with pytest.raises(PlanError, match=r"1000 B \(100 B of them for the training data\)"):
        check_training(plan.with_data(100), 32, "adam", [(200,)], 900)


def test_a_plan_prints_as_its_summary() -> None:
    assert str(PLAN) == PLAN.summary()
