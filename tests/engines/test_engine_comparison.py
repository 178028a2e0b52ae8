"""The rows of several blocks, and the times against the original's."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sknc.engines import folder as folders
from sknc.engines.report import Report, begin
from sknc.report import results, table
from sknc.report.compare import comparison
from tests.engines import standin


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """A finished run of two blocks, with a baseline."""
    bodies = {"submodel_00.py": "", "submodel_01.py": "", "submodel_02.py": ""}
    blocks = [["submodel_00.py", "submodel_01.py"], ["submodel_02.py"]]
    folder = standin.make(tmp_path / "out", bodies, blocks=blocks, original="")
    made = begin(folders.read(folder), baseline=True)
    for row, seconds in zip(made.rows, (1.0, 2.0, 5.0), strict=True):
        row.take_result({"seconds": seconds, "parameters": 1000, "metrics": {"val_loss": 0.25, "loss": 0.5, "acc": 1}})
    assert made.original is not None
    made.original.status = made.composer[0].status = "finished"
    made.status = "finished"
    return made


def _blocks(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"block": 1, "blocks": [{"block": number, **entry} for number, entry in enumerate(entries)]}


def _shown(report: Report) -> list[str]:
    out = io.StringIO()
    table.show(report, Console(file=out, width=160))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_each_block_has_its_own_rows(report: Report) -> None:
    report.composed = _blocks({"accuracy": 0.5, "parameters": 2000}, {"loss": 7.0, "parameters": 1001})
    report.original_said = _blocks({"accuracy": 0.6, "seconds": 6.0}, {"loss": 6.5, "seconds": 10.0})
    lines = _shown(report)
    assert [line.split("  ")[0] for line in lines[1:8]] == [
        "submodel_00.py",
        "submodel_01.py",
        "composed (block 1)",
        "original (block 1)",
        "submodel_02.py",
        "composed (block 2)",
        "original (block 2)",
    ]
    assert lines[1].split() == ["submodel_00.py", "1,000", "1.0", "1.0000", "0.2500"]
    assert lines[3].split()[3:] == ["2,000", "0.5000"]
    assert lines[4].split()[3:] == ["6.0", "0.6000"]
    assert lines[6].split()[3:] == ["1,001", "7.0000"]
    assert lines[7].split()[3:] == ["10.0", "6.5000"]
    assert "0.50 (sum of the submodels), 0.31 (the longest)" in lines[-1]


def test_times_of_a_part_of_the_original_are_not_compared(report: Report) -> None:
    assert report.original is not None
    report.original.seconds = 10.0
    report.original_said = {"block": 1, "loss": 6.5, "seconds": 10.0}
    assert comparison(report) is None
    assert "ratio" not in results.as_json(report)
    # What it says is of the block that it names.
    lines = _shown(report)
    assert lines[4].split() == ["original", "(block", "1)"]
    assert lines[7].split() == ["original", "(block", "2)", "10.0", "6.5000"]


def test_a_difference_in_threads_is_told(report: Report) -> None:
    assert report.original is not None
    report.original_said = _blocks({"seconds": 6.0}, {"seconds": 10.0})
    report.original.threads = 4
    for row in report.rows:
        row.threads = 1
    assert "a submodel had 1 thread, the original 4 threads" in str(comparison(report))
    report.original.threads = 1
    assert "thread" not in str(comparison(report))


def test_peaks_are_shown_where_they_are_known(report: Report) -> None:
    report.rows[1].take_result(
        {"peak_bytes": 3 << 29, "planned_bytes": 1 << 30, "moved_bytes": 9, "planned_moved_bytes": 8}
    )
    lines = _shown(report)
    assert lines[0].split()[-2:] == ["peak", "planned"]
    assert lines[2].split()[-4:] == ["1.5", "GiB", "1.0", "GiB"]
    said = results.as_json(report)["submodels"]
    assert (said[1]["peak_bytes"], said[1]["planned_bytes"]) == (3 << 29, 1 << 30)
    assert (said[1]["moved_bytes"], said[1]["planned_moved_bytes"]) == (9, 8)
    assert "planned_bytes" not in said[0] and "moved_bytes" not in said[0]


def test_it_says_what_was_measured_and_why_nothing_was(report: Report) -> None:
    report.composed = _blocks({"accuracy": 0.5, "data": "x_test, y_test"}, {"data": "no test data was found"})
    report.original_said = _blocks({"accuracy": 0.6, "data": "x_test, y_test"}, {"loss": 6.5, "data": "val_ds"})
    lines = _shown(report)
    assert "composed and original (block 1): measured on x_test, y_test" in lines
    assert "composed (block 2): not measured: no test data was found" in lines
    assert "original (block 2): measured on val_ds" in lines
