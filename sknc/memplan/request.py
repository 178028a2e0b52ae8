"""What a user asks of the planner."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sknc.errors import UsageError
from sknc.runtime.memory.machine import PAPER_MACHINE, Machine, load_machine
from sknc.runtime.memory.planner import Budgets

ACCOUNTINGS = ("superneurons",)
PAPER = "paper:"


@dataclass(frozen=True)
class Request:
    """One call of the planner.

    Attributes:
        target: what to plan for, as the user wrote it.
        batch: samples in a batch; None takes the target's own.
        optimizer: its name; None takes the target's own.
        accounting: how memory is counted; None takes the one that suits the target.
        device: budget of the device in bytes, if there is one.
        host: budget of the host in bytes; None sets no limit.
        disk: budget of the disk in bytes; 0 leaves the disk alone.
        max_batch: whether to look for the largest batch that keeps the device's budget.
        machine: file of a machine profile; None takes the paper's machine.
    """

    target: str
    batch: int | None = None
    optimizer: str | None = None
    accounting: str | None = None
    device: int | None = None
    host: int | None = None
    disk: int = 0
    max_batch: bool = False
    machine: Path | None = None

    def __post_init__(self) -> None:
        if self.max_batch and self.device is None:
            raise UsageError(
                "--max-batch needs to know what it may fill", "add --budget SIZE, for example --budget 8GiB"
            )
        if self.device is None and (self.host is not None or self.disk):
            raise UsageError("a budget for host or disk alone plans nothing", "add --budget SIZE for the device")

    @property
    def budgets(self) -> Budgets | None:
        """The budgets of all pools, None when no plan is wanted."""
        if self.device is None:
            return None
        # No limit on the host is written as more than any machine has.
        return Budgets(self.device, 1 << 62 if self.host is None else self.host, self.disk)

    def speeds(self) -> Machine:
        """The machine profile that plans reckon with."""
        return PAPER_MACHINE if self.machine is None else load_machine(self.machine)
