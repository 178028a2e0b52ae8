"""The errors of the planner."""

from __future__ import annotations


class PlanError(ValueError):
    """A network, a size or a budget that cannot be planned; the message says which and why."""


class InfeasibleBudget(PlanError):
    """A budget below what any plan needs.

    Attributes:
        smallest: the smallest budget, in bytes, for which a plan was found.
    """

    def __init__(self, message: str, smallest: int) -> None:
        super().__init__(message)
        self.smallest = smallest


class TooManyRuns(PlanError):
    """A schedule that recomputes more often than was allowed; the search leaves it."""


class StuckStep(PlanError):
    """A traced step in which operations wait for each other: it cannot run, so nothing is known of its peak."""
