"""`sknc memplan` on the paper's networks: every figure of the contract, and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from sknc.cli import main
from sknc.errors import MissingExtra
from sknc.memplan import child
from sknc.memplan.request import Request
from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.units import format_size, parse_size

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "memplan.schema.json").read_text())
MIB = 2**20


def memplan(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["memplan", *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    status, out, _ = memplan(capsys, *arguments, "--format", "json")
    assert status == 0
    content: dict[str, Any] = json.loads(out)
    jsonschema.validate(content, SCHEMA)
    return content


def rounded(size: int) -> float:
    return round(size / MIB, 3)


def test_alexnet_as_in_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    content = report(capsys, "paper:alexnet", "--batch", "200", "--accounting", "superneurons")
    peaks = {
        name: (rounded(peak["bytes"]), peak["step"], peak["live_tensors"]) for name, peak in content["peaks"].items()
    }
    assert peaks["baseline"] == (2189.437, 1, 36)
    assert peaks["liveness"] == (1489.355, 32, 17)
    assert peaks["offload"] == (1132.056, 39, 9)
    assert peaks["recompute"][:2] == (886.230, 44)
    assert rounded(content["layer_max"]) == 886.230
    extras = {name: (found["extra"], rounded(found["peak"])) for name, found in content["recompute"].items()}
    assert extras == {"speed": (14, 993.018), "memory": (23, 886.230), "cost": (17, 886.230)}
    assert content["layers"] == 23
    assert [step["step"] for step in content["steps"]] == list(range(1, 47))
    assert content["steps"][31]["layer"] == "POOL5"
    assert content["steps"][31]["live_bytes"] == content["peaks"]["liveness"]["bytes"]


@pytest.mark.parametrize(
    ("name", "extras", "peaks"),
    [("resnet50", (84, 118, 85), (455.125, 406.125)), ("resnet101", (169, 237, 170), (455.125, 406.125))],
)
def test_resnets_as_in_the_paper(
    capsys: pytest.CaptureFixture[str], name: str, extras: tuple[int, ...], peaks: tuple[float, float]
) -> None:
    content = report(capsys, f"paper:{name}", "--batch", "32", "--accounting", "superneurons")
    found = content["recompute"]
    assert tuple(found[key]["extra"] for key in ("speed", "memory", "cost")) == extras
    assert rounded(found["speed"]["peak"]) == peaks[0]
    assert rounded(found["memory"]["peak"]) == rounded(found["cost"]["peak"]) == peaks[1]


@pytest.mark.parametrize(("name", "layers"), [("resnet152", 565), ("inception_v4", 513), ("resnet2500", 9167)])
def test_layer_counts(capsys: pytest.CaptureFixture[str], name: str, layers: int) -> None:
    content = report(capsys, f"paper:{name}", "--batch", "1")
    assert content["layers"] == layers


def test_parameters_count(capsys: pytest.CaptureFixture[str]) -> None:
    content = report(capsys, "paper:alexnet", "--batch", "200", "--optimizer", "adam")
    assert content["optimizer_bytes"] == 2 * content["gradients_bytes"]
    held = content["parameters_bytes"] + content["gradients_bytes"] + content["optimizer_bytes"]
    assert content["scheduled_peak"] == held + content["peaks"]["liveness"]["bytes"]
    assert content["predicted_peak"] == content["scheduled_peak"] + content["reserve"] == content["pools"]["device"]


def test_a_budget_brings_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    content = report(capsys, "paper:alexnet", "--batch", "200", "--budget", "1.8GiB", "--host-budget", "4GiB")
    plan = content["plan"]
    assert plan["feasible"]
    assert content["pools"]["device"] == plan["peaks"]["device"] <= plan["budget"]["device"]
    fixed = content["predicted_peak"] - content["peaks"]["liveness"]["bytes"]
    assert max(step["plan"]["live_bytes"] for step in content["steps"]) + fixed == plan["peaks"]["device"]
    assert plan["tensors"]


def test_a_budget_that_cannot_be_kept(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("paper:alexnet", "--batch", "200", "--format", "json", "--budget")
    status, out, err = memplan(capsys, *arguments, "1GiB")
    content = json.loads(out)
    jsonschema.validate(content, SCHEMA)
    assert status == 1
    assert not content["plan"]["feasible"]
    assert "cannot be kept" in err
    assert memplan(capsys, *arguments, str(content["plan"]["smallest_budget"]))[0] == 0


def test_fail_over_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    assert memplan(capsys, "paper:alexnet", "--batch", "200", "--fail-over", "3GiB")[0] == 0
    status, _, err = memplan(capsys, "paper:alexnet", "--batch", "200", "--fail-over", "2GiB")
    assert status == 1
    assert err == "paper:alexnet: 2.15 GiB is more than --fail-over 2.00 GiB\n"


def test_the_largest_batch_fits_and_one_more_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    content = report(capsys, "paper:alexnet", "--max-batch", "--budget", "4GiB")
    largest = content["max_batch"]["largest"]
    assert list(largest.values()) == sorted(largest.values())
    assert content["batch"] == largest["liveness"]
    assert content["predicted_peak"] <= 4 * 2**30
    more = report(capsys, "paper:alexnet", "--batch", str(largest["liveness"] + 1))
    assert more["predicted_peak"] > 4 * 2**30


def test_text_says_the_peak_where_it_is_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = memplan(capsys, "paper:alexnet", "--batch", "200")
    assert status == 0
    lines = out.splitlines()
    assert "one training step needs 2.15 GiB on the device (2310242528 bytes)" in lines
    liveness = next(line.split() for line in lines if line.startswith("liveness"))
    assert liveness == ["liveness", "1.45", "GiB", "68.0%", "32", "17", "POOL5", "backward"]
    assert len([line for line in lines if line.split()[-5:-4] == ["forward"] or " backward  " in line]) >= 5
    assert any("runs 17 forward steps again" in line for line in lines)


def test_reports_go_to_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text, data = tmp_path / "plan.txt", tmp_path / "plan.json"
    assert memplan(capsys, "paper:alexnet", "--batch", "2", "-o", str(text))[1] == ""
    assert "one training step needs" in text.read_text()
    assert memplan(capsys, "paper:alexnet", "--batch", "2", "--format", "json", "-o", str(data))[1] == ""
    jsonschema.validate(json.loads(data.read_text()), SCHEMA)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["paper:alexnet"], "has no batch size of its own"),
        (["paper:lenet", "--batch", "1"], "no paper network 'lenet'"),
        (["paper:alexnet", "--batch", "0"], "--batch"),
        (["paper:alexnet", "--batch", "1", "--budget", "-4GiB"], "is no size"),
        (["paper:alexnet", "--batch", "1", "--budget", "0"], "above zero"),
        (["paper:alexnet", "--batch", "1", "--fail-over", "many"], "is no size"),
        (["paper:alexnet", "--batch", "1", "--budget", "9" * 400], "is more than any machine has"),
        (["paper:alexnet", "--batch", "1", "--optimizer", "magic"], "no optimizer 'magic'"),
        (["paper:alexnet", "--batch", "1", "--max-batch"], "--max-batch needs"),
        (["paper:alexnet", "--batch", "1", "--host-budget", "1GiB"], "plans nothing"),
        (["paper:alexnet", "--batch", "1", "--budget", "1GiB", "--machine", "no.json"], "no machine profile"),
        (["paper:alexnet", "--batch", "1", "-o", "no/such/folder/plan.txt"], "cannot be written"),
    ],
)
def test_bad_input_is_one_message(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    status, out, err = memplan(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert said in err
    assert err.count("error:") == 1


@pytest.mark.parametrize(
    ("text", "size"),
    [("8GiB", 8 << 30), ("500MB", 500_000_000), ("1.5 gib", 3 << 29), ("4096", 4096), ("2k", 2000), ("3TiB", 3 << 40)],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "8XB", "-1", "1e3", "8 GiB 2", "0", "0.1", "i", "8ib"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(PlanError):
        parse_size(text)


def test_sizes_are_written() -> None:
    assert [format_size(size) for size in (0, 1023, 1024, 886 * MIB, 3 << 30)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "886.0 MiB",
        "3.00 GiB",
    ]


@pytest.mark.parametrize("kind", ["script", "keras", "callable"])
def test_without_tensorflow_the_extra_is_named(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="tensorflow") as caught:
        child.plan(Request("train.py"), kind, "train.py", lambda _: None, lambda _: None)
    assert "sknc[cpu]" in str(caught.value.hint)
