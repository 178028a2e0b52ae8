"""The submodels' time against the original's."""

from __future__ import annotations

import dataclasses
from typing import Any

from sknc.engines.report import Report, number


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Seconds of all submodels together and of the longest, against the original's; threads of each."""

    total: float
    longest: float
    original: float
    threads: int
    original_threads: int

    @property
    def same_threads(self) -> bool:
        """Whether submodels and original had the same number of threads (or it is not known)."""
        return not self.threads or not self.original_threads or self.threads == self.original_threads

    def as_json(self) -> dict[str, Any]:
        """Return it as results.json holds it."""
        return {
            "sum_seconds": self.total,
            "longest_seconds": self.longest,
            "sum": self.total / self.original,
            "longest": self.longest / self.original,
        }

    def __str__(self) -> str:
        text = (
            f"training time against the original: {self.total / self.original:.2f} (sum of the submodels), "
            f"{self.longest / self.original:.2f} (the longest)"
        )
        if not self.same_threads:
            text += f"; a submodel had {_threads(self.threads)}, the original {_threads(self.original_threads)}"
        return text


def _threads(number: int) -> str:
    return "1 thread" if number == 1 else f"{number} threads"


def comparison(report: Report) -> Comparison | None:
    """Return the comparison, or None while a time is missing.

    Args:
        report: a run's report.
    """
    original = report.original
    if original is None or original.status != "finished":
        return None
    whole = _original_seconds(report)
    if not whole:
        return None
    times = [row.seconds for row in report.rows if row.seconds is not None and row.status == "finished"]
    if not times or len(times) < len(report.rows):
        return None
    threads = {row.threads for row in report.rows}
    return Comparison(
        sum(times),
        max(times),
        whole,
        threads.pop() if len(threads) == 1 else 0,
        original.threads,
    )


def _original_seconds(report: Report) -> float | None:
    """Return the seconds of all of the original's trainings; None when they are not all known."""
    blocks = report.original_said.get("blocks")
    if isinstance(blocks, list):
        times = [number(entry.get("seconds")) for entry in blocks if isinstance(entry, dict)]
        known = [time for time in times if time is not None]
        return sum(known) if len(known) == len(report.split.blocks) else None
    one = report.original.seconds if report.original is not None else None
    return one if len(report.split.blocks) == 1 else None
