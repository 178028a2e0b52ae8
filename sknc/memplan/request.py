"""What a user asks of the planner."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sknc.errors import UsageError
from sknc.runtime.memory.machine import PAPER_MACHINE, Machine, load_machine
from sknc.runtime.memory.planner import Budgets

ACCOUNTINGS = ("tensorflow", "superneurons")
ALLOCATORS = ("default", "bfc")
# No limit, written as more than any machine has.
UNLIMITED = 1 << 62


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
        allocator: the allocator of the tensorflow accounting.
        input_shape: the shape of the model's one input, where the model does not say it.
        training_plan: whether the plan that a training obeys is wanted as well.
    """

    target: str
    batch: int | None = None
    optimizer: str | None = None
    accounting: str | None = None
    device: int | None = None
    host: int | None = None
    disk: int = 0
    max_batch: bool = False
    machine: str | None = None
    allocator: str = "default"
    input_shape: tuple[int, ...] | None = None
    training_plan: bool = False

    def __post_init__(self) -> None:
        if self.max_batch and self.device is None:
            raise UsageError(
                "--max-batch needs to know what it may fill", "add --budget SIZE, for example --budget 8GiB"
            )
        if self.device is None and (self.host is not None or self.disk):
            raise UsageError("a budget for host or disk alone plans nothing", "add --budget SIZE for the device")
        if self.training_plan and (self.device is None or self.target.startswith("paper:")):
            raise UsageError(
                "a plan that a training obeys is for a Keras model and a budget",
                "name a script, module:callable, a .keras file or keras.applications.NAME, and add --budget SIZE",
            )
        for name, known in (("accounting", ACCOUNTINGS), ("allocator", ALLOCATORS)):
            value = getattr(self, name)
            if value is not None and value not in known:
                raise UsageError(f"no {name} '{value}'", f"there is {', '.join(known)}")

    @property
    def budgets(self) -> Budgets | None:
        """The budgets of all pools, None when no plan is wanted."""
        if self.device is None:
            return None
        return Budgets(self.device, UNLIMITED if self.host is None else self.host, self.disk)

    def speeds(self) -> Machine:
        """The machine profile that plans reckon with."""
        return PAPER_MACHINE if self.machine is None else load_machine(Path(self.machine))

    def with_batch(self, batch: int | None) -> Request:
        """The same request, with a batch size where it has none."""
        return self if self.batch is not None else replace(self, batch=batch)

    def as_json(self) -> dict[str, Any]:
        """The request as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Request:
        """The request that `as_json` wrote."""
        shape = content.pop("input_shape")
        return cls(**content, input_shape=None if shape is None else tuple(shape))
