"""What a walk over the steps keeps count of, whoever tells it what to hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from .actions import DISK, HOST
from .graph import StepGraph, Timeline


@dataclass(frozen=True)
class Outcome:
    """What a schedule costs.

    Attributes:
        timeline: the device, by step.
        host: bytes held by the host, by step.
        disk: bytes held on disk, by step.
        moved_out: bytes copied from the device.
        moved_in: bytes copied back.
        moved: for HOST and DISK, bytes copied both ways.
        recomputed: for each layer, how often its forward step ran again.
    """

    timeline: Timeline
    host: tuple[int, ...]
    disk: tuple[int, ...]
    moved_out: int
    moved_in: int
    moved: Mapping[str, int]
    recomputed: tuple[int, ...]

    @property
    def extra(self) -> int:
        """Forward steps that ran again."""
        return sum(self.recomputed)


class Device(ABC):
    """The state of one walk: what is on the device, what has a copy elsewhere.

    Args:
        graph: the step graph.
    """

    def __init__(self, graph: StepGraph) -> None:
        self.graph = graph
        self.resident: set[int] = set()
        self.held = self.most = self.count = self.now = 0
        self.away = {HOST: 0, DISK: 0}
        self.moved_out = self.moved_in = 0
        self.moved = {HOST: 0, DISK: 0}
        self.recomputed = [0] * len(graph.nodes)

    def run(self) -> Outcome:
        """Walk all steps.

        Returns:
            What was held, moved and computed again.
        """
        sizes, counts, host, disk = [], [], [], []
        for number in range(len(self.graph.steps)):
            self.now, self.most, self.count = number, 0, 0
            self.step(number)
            sizes.append(self.most)
            counts.append(self.count)
            self.leave(number)
            host.append(self.away[HOST])
            disk.append(self.away[DISK])
        timeline = Timeline(tuple(sizes), tuple(counts))
        return Outcome(
            timeline,
            tuple(host),
            tuple(disk),
            self.moved_out,
            self.moved_in,
            self.moved,
            tuple(self.recomputed),
        )

    @abstractmethod
    def step(self, number: int) -> None:
        """Have on the device what a step needs, and run it.

        Args:
            number: the step, counted from 0.
        """

    @abstractmethod
    def leave(self, number: int) -> None:
        """Free what is not needed on the device after a step.

        Args:
            number: the step, counted from 0.
        """

    def hold(self, tensor: int) -> None:
        """Put a tensor on the device, if it is not there."""
        if tensor not in self.resident:
            self.resident.add(tensor)
            self.held += self.graph.size(tensor)

    def free(self, tensor: int) -> None:
        """Take a tensor off the device, if it is there."""
        if tensor in self.resident:
            self.resident.remove(tensor)
            self.held -= self.graph.size(tensor)

    def mark(self, scratch: int) -> None:
        """Something runs now that needs scratch beside what is held."""
        if self.held + scratch >= self.most:
            self.most, self.count = self.held + scratch, len(self.resident)

    def move_out(self, tensor: int, pool: str) -> None:
        """Count a copy of a tensor to another pool."""
        self.away[pool] += self.graph.size(tensor)
        self.moved_out += self.graph.size(tensor)
        self.moved[pool] += self.graph.size(tensor)

    def move_in(self, tensor: int, pool: str) -> None:
        """Count a copy of a tensor from another pool."""
        self.moved_in += self.graph.size(tensor)
        self.moved[pool] += self.graph.size(tensor)
