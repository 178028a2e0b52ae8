"""What the planner knows about the machine: how fast it computes and moves bytes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from .errors import PlanError
from .graph import StepGraph


@dataclass(frozen=True, slots=True)
class Machine:
    """Speeds, all a second.

    Attributes:
        flops: floating point operations.
        memory: bytes read or written by a step on the device.
        host: bytes copied between device and host.
        disk: bytes copied between device and disk.
    """

    flops: float
    memory: float
    host: float
    disk: float

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value > 0:
                raise PlanError(f"the machine's '{name}' must be above zero, not {value}")

    def forward_seconds(self, graph: StepGraph) -> list[float]:
        """How long each layer's forward step takes: the slower of computing and touching its tensors.

        Args:
            graph: the step graph.

        Returns:
            Seconds for each node.
        """
        seconds = []
        for number, node in enumerate(graph.nodes):
            touched = sum(graph.size(tensor) for tensor in graph.steps[number].touches)
            seconds.append(max(node.work / self.flops, touched / self.memory))
        return seconds


# The paper's K40c at some 70% of its data sheet's 4.29 Tflops and 288 GB/s, on PCI-E 3 (8 GB/s, section 3.3.2), with a
# SATA disk behind it.
PAPER_MACHINE = Machine(flops=3e12, memory=2e11, host=8e9, disk=5e8)


def save_machine(machine: Machine, path: Path) -> None:
    """Write a machine profile as JSON.

    Args:
        machine: the speeds.
        path: the file.
    """
    path.write_text(json.dumps(asdict(machine), indent=2) + "\n", encoding="utf-8")


def load_machine(path: Path) -> Machine:
    """Read a machine profile.

    Args:
        path: a file that `save_machine` wrote.

    Returns:
        The speeds.

    Raises:
        PlanError: when the file is missing or is no machine profile.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Machine(**{name: float(content[name]) for name in ("flops", "memory", "host", "disk")})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlanError(f"'{path}' is no machine profile: {error}") from error
