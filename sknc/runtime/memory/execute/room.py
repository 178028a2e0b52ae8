"""What becomes of a plan for which the device had no room: the numbers, and the next smaller budget.

They lie beside the program's plan until a training has ended well. The program's next run plans with the smaller
budget; a run that was killed says nothing of that kind, unless the engine that watched it does.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...artifacts import write_json
from ...errors import ProgramError
from ..units import format_size
from .plans import Plan

NO_ROOM = "no_room.json"
NO_ROOM_STATUS = 75
_SCHEMA = 1
# The least by which the next plan is smaller.
_SMALLER = 0.9


@dataclass(frozen=True, slots=True)
class Shortage:
    """A training for which there was no room, or, while it runs, what to know if that turns out.

    Attributes:
        given: the budget that the program was given.
        budget: the one that was planned for.
        planned_bytes: the plan's predicted peak.
        next_budget: the next smaller one.
        failed: whether it has failed.
        asked: what TensorFlow said of the allocation.
    """

    given: int
    budget: int
    planned_bytes: int
    next_budget: int
    failed: bool = False
    asked: str = ""


class OutOfRoom(ProgramError):
    """The device had no room for what was planned.

    Args:
        shortage: the numbers.

    Attributes:
        shortage: the numbers.
        exit_status: of a program that ends with it.
    """

    exit_status = NO_ROOM_STATUS

    def __init__(self, shortage: Shortage) -> None:
        super().__init__(
            f"the device had no room left: planned were {format_size(shortage.planned_bytes)} of "
            f"{format_size(shortage.budget)}; {shortage.asked}",
            f"plan for less: a budget of {format_size(shortage.next_budget)} makes the next smaller plan",
        )
        self.shortage = shortage


def shortage_of(plan: Plan, given: int, asked: str = "", held: int | None = None) -> Shortage:
    """Returns what to know about a plan that did not fit.

    Args:
        plan: the plan.
        given: the budget that the program was given.
        asked: what TensorFlow said; empty while nothing has failed.
        held: the most that the device held until then, None where that is not known.
    """
    smaller = int(plan.predicted_peak * _SMALLER)
    # No more than what was there can be had; but what is held for data and weights alone is no measure of it.
    likely = held if held is not None and plan.resident_bytes < held < smaller else smaller
    return Shortage(given, plan.budget, plan.predicted_peak, likely, bool(asked), asked)


def write_shortage(folder: Path, shortage: Shortage) -> None:
    """Writes what the program's next run, or the engine, has to know.

    Args:
        folder: the program's artifacts.
        shortage: the numbers.
    """
    write_json(folder / NO_ROOM, {"schema": _SCHEMA, **asdict(shortage)})


def forget_shortage(folder: Path) -> None:
    """Removes what was written.

    Args:
        folder: the program's artifacts.
    """
    (folder / NO_ROOM).unlink(missing_ok=True)


def last_shortage(folder: Path, given: int) -> Shortage | None:
    """Returns what an earlier run with the same budget failed for, None where it did not fail for want of room.

    Args:
        folder: the program's artifacts.
        given: the budget that the program is given.
    """
    try:
        content: dict[str, Any] = json.loads((folder / NO_ROOM).read_text(encoding="utf-8"))
        if content.pop("schema") != _SCHEMA:
            return None
        found = Shortage(**content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return found if found.failed and found.given == given and 0 < found.next_budget < found.planned_bytes else None
