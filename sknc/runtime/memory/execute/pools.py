"""The pools that a model's training may use besides its device: which there are, how large, opened when needed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from ...errors import ProgramError
from ..errors import PlanError
from ..units import parse_size
from .host import HostPool, HostStore, host_bytes, host_device, named_device
from .moving import Moved
from .plans import MOVING, OFFLOAD, SPILL, Plan
from .spill import OVERWRITTEN, DiskPool, FileStore

ROOM = "make room there, name another folder with spill_folder, or give a larger budget"


class Pools:
    """What may be used, and what is in use.

    Args:
        spill: whether the disk may be used.
        folder: where the folder for spill files is made; the system's folder for temporary files when left out.
        host_budget: bytes of the host's memory; all that the host has when left out, none with 0.
        host: the device whose memory that is; the host of a GPU when left out. A model that trains in the host's
            memory itself has no such pool.

    Raises:
        PlanError: the budget is no size.
    """

    def __init__(
        self,
        spill: bool = True,
        folder: str | os.PathLike[str] | None = None,
        host_budget: int | str | None = None,
        host: str | None = None,
    ) -> None:
        self.folder = folder
        self.host = named_device(host) if host is not None else host_device()
        self.limits: dict[str, int] = {}
        size = 0 if host_budget == "0" else parse_size(host_budget) if isinstance(host_budget, str) else host_budget
        if size is not None and size < 0:
            raise PlanError(f"a budget of the host cannot be below zero, as {host_budget} is")
        if self.host is not None and size != 0:
            self.limits[OFFLOAD] = host_bytes() if size is None else size
        if spill:
            self.limits[SPILL] = 2**62
        self.disk: DiskPool | None = None
        self._host_pool: HostPool | None = None

    def allow(self, plan: Plan) -> bool:
        """Returns whether a plan uses no pool that there is not, and none beyond its budget.

        Args:
            plan: perhaps of another run.
        """
        used = {segment.mode for segment in plan.segments} & set(MOVING)
        return all(plan.held_bytes(mode) <= self.limits.get(mode, -1) for mode in used)

    def stand_ins(self, modes: Iterable[str]) -> dict[str, Any]:
        """Returns what stands for pools while a step is traced: the same operations, and nothing is moved.

        Args:
            modes: of the segments.
        """
        made: dict[str, Any] = {SPILL: _StandIn()}
        if self.host is not None:
            made[OFFLOAD] = _StandIn(self.host)
        return {mode: made[mode] for mode in set(modes) & set(made)}

    def opened(self, plan: Plan) -> dict[str, Any]:
        """Returns the pools that a plan uses, by mode.

        Args:
            plan: what is going to be obeyed.

        Raises:
            ProgramError: the disk has too little room, or nothing can be written there.
        """
        found: dict[str, Any] = {}
        modes = {segment.mode for segment in plan.segments}
        if OFFLOAD in modes and self.host is not None:
            self._host_pool = self._host_pool or HostPool(self.host)
            found[OFFLOAD] = self._host_pool
        if SPILL not in modes:
            return found
        if self.disk is None or self.disk.closed:
            counts = self.disk.counts if self.disk is not None else None
            self.disk = DiskPool(self.folder, plan.spilled_bytes, counts)
        else:
            self.disk.require(plan.spilled_bytes)
        found[SPILL] = self.disk
        return found

    def files(self) -> DiskPool | None:
        """Returns the disk pool while it is in use."""
        return self.disk if self.disk is not None and not self.disk.closed else None

    def moved(self) -> Moved:
        """Returns what was moved since the model was planned for first."""
        used = [pool for pool in (self.disk, self._host_pool) if pool is not None]
        return sum((pool.counts.moved() for pool in used), Moved())

    def tidy(self) -> None:
        """Removes files that nobody is going to read."""
        if self.disk is not None:
            self.disk.clear()

    def close(self) -> None:
        """Removes the folder for files."""
        if self.disk is not None:
            self.disk.close()

    def told(self, error: Any) -> ProgramError | None:
        """Returns what to say about a failure of a pool, None where no pool failed.

        Args:
            error: of TensorFlow.
        """
        if self.disk is None:
            return None
        text, folder = str(error.message), str(self.disk.folder)
        if OVERWRITTEN in text:
            return ProgramError(
                f"more calls of the model wait for their backward pass than files are kept for: {OVERWRITTEN}",
                "compute the gradient of each call before the next one, or plan with spill=False",
            )
        # Of many lines the one that names a file says why, after the file.
        found = re.search(re.escape(folder) + r"(?:/[^\s;:]*)?[;:]?[ ]*([^\n]*)", text)
        if found is None:
            return None
        reason = found[1].strip() or text.partition("\n")[0]
        return ProgramError(f"a part of the training could not be written to or read from {folder}: {reason}", ROOM)


class _StandIn:
    """Stands for a pool while a step is traced.

    Args:
        host: the device of a host pool, None for a disk pool.
    """

    def __init__(self, host: str | None = None) -> None:
        self.host = host

    def call(self) -> Any:
        """Returns what keeps the tensors of one call of the model."""
        return FileStore() if self.host is None else HostStore(self.host)
