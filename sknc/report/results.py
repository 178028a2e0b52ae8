"""results.json: what a run has come to, for scripts."""

from __future__ import annotations

from typing import Any

from sknc.engines.files import write_json
from sknc.engines.folder import RESULTS
from sknc.engines.report import Report, Row
from sknc.report.compare import comparison

SCHEMA = 1


def as_json(report: Report) -> dict[str, Any]:
    """Return a report as results.json holds it.

    Args:
        report: a run's report, finished or not.

    Returns:
        {"schema", "status", "source", "submodels": [...], "composed": {...}} and, with a baseline, "original"
        and "ratio".
    """
    said: dict[str, Any] = {
        "schema": SCHEMA,
        "status": report.status,
        "source": report.split.source,
        "submodels": [_submodel(row) for row in report.rows],
        "composed": {**report.composed, "status": _together(report.composer), **_failure(report.composer)},
    }
    if report.original is not None:
        row = report.original
        said["original"] = {**_original_measures(report), **_row(row), **_failure([row])}
        ratio = comparison(report)
        if ratio is not None:
            said["ratio"] = ratio.as_json()
    return said


def save(report: Report) -> None:
    """Write results.json into the folder of a report, in one step.

    Args:
        report: a run's report.

    Raises:
        EnvironmentProblem: it cannot be written.
    """
    write_json(report.split.folder / RESULTS, as_json(report))


def _submodel(row: Row) -> dict[str, Any]:
    return {"block": row.program.task.block, "share": row.program.share, **_row(row), **_failure([row])}


def _row(row: Row) -> dict[str, Any]:
    said: dict[str, Any] = {
        "file": row.file,
        "status": row.status,
        "attempts": row.attempts,
        "seconds": row.seconds,
        "parameters": row.parameters,
        "peak_bytes": row.peak_bytes,
        "accuracy": row.accuracy,
        "loss": row.loss,
        "threads": row.threads or None,
        "reused": row.reused,
    }
    for name in ("planned_bytes", "moved_bytes", "planned_moved_bytes"):
        if (value := getattr(row, name)) is not None:
            said[name] = value
    if row.no_room is not None:
        said["no_room"] = dict(row.no_room)
    return said


def _failure(rows: list[Row]) -> dict[str, Any]:
    failed = next((row for row in rows if row.status == "failed"), None)
    if failed is None:
        return {}
    place = failed.place
    return {
        "reason": failed.reason,
        "log": str(failed.program.task.log.relative_to(failed.program.task.program.parent)),
        "line": None if place is None else {"file": place.file, "line": place.line},
    }


def _together(rows: list[Row]) -> str:
    """Return one status for all composers: that of the first that is not finished."""
    return next((row.status for row in rows if row.status != "finished"), "finished")


def _original_measures(report: Report) -> dict[str, Any]:
    kept = ("accuracy", "loss", "data", "blocks", "epochs", "metrics")
    return {name: report.original_said[name] for name in kept if name in report.original_said}
