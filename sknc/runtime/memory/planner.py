"""Plans for budgets: for each tensor keep, recompute, host or disk, with the least added time (section 3.4).

A plan is a JSON-able object that a person can read. It is for reports: what a training obeys are plans by segments
(`execute.plans`), which the runtime chooses with costs of its own. Budgets are for whole pools: the device's includes
what every schedule holds (parameters, gradients, optimiser slots, a reserve).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import InfeasibleBudget, PlanError
from .graph import StepGraph
from .machine import PAPER_MACHINE, Machine
from .schedule import KEEP, RECOMPUTE, Schedule, Span, last_needed, walk
from .search import Search, Trial
from .units import format_size

PLAN_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Budgets:
    """Bytes that each pool may hold; 0 for a pool that is not to be used."""

    device: int
    host: int = 0
    disk: int = 0

    def __post_init__(self) -> None:
        for name, size in (("device", self.device), ("host", self.host), ("disk", self.disk)):
            if size < 0 or (name == "device" and size == 0):
                raise PlanError(f"the {name} budget must be above zero, not {size}")


class Planner:
    """Plans one graph for any number of device budgets.

    Args:
        graph: the step graph.
        fixed: bytes that the device holds at every step beside the graph's tensors.
        machine: speeds.
        host: bytes the host may hold.
        disk: bytes the disk may hold.
    """

    def __init__(
        self,
        graph: StepGraph,
        fixed: int = 0,
        machine: Machine = PAPER_MACHINE,
        host: int = 0,
        disk: int = 0,
    ) -> None:
        self.graph = graph
        self.fixed = fixed
        self.host, self.disk = host, disk
        self.search = Search(graph, machine, host, disk)
        self.trials = self.search.run()
        # One training step: a backward step is counted as two forward ones.
        self.step_seconds = 3 * sum(self.search.seconds)

    @property
    def smallest(self) -> int:
        """The smallest device budget for which there is a plan."""
        return self.trials[-1].peak + self.fixed

    def plan(self, device: int) -> Plan:
        """The plan that adds the least time within a device budget.

        Args:
            device: bytes.

        Returns:
            The plan; the larger the budget, the less time it adds.

        Raises:
            InfeasibleBudget: when no plan was found within the budget; it carries the smallest one that is.
        """
        budgets = Budgets(device, self.host, self.disk)
        # The frontier rises in added time as the peak falls: the first that fits is the fastest.
        for trial in self.trials:
            if trial.peak + self.fixed <= device:
                return Plan(self.graph, budgets, trial, self.fixed, self.step_seconds, self.smallest)
        raise InfeasibleBudget(
            f"a budget of {format_size(device)} is not enough: the smallest feasible one is "
            f"{format_size(self.smallest)} ({self.smallest} bytes)",
            self.smallest,
        )


@dataclass(frozen=True)
class Plan:
    """A schedule chosen for a budget.

    Attributes:
        graph: the step graph it is for.
        budgets: what it keeps to.
        trial: the schedule and what it costs.
        fixed: bytes on the device beside the graph's tensors.
        step_seconds: estimate for a step without the plan.
        smallest: the smallest feasible device budget.
    """

    graph: StepGraph
    budgets: Budgets
    trial: Trial
    fixed: int
    step_seconds: float
    smallest: int

    @property
    def device_peak(self) -> int:
        """Most bytes on the device."""
        return self.trial.peak + self.fixed

    def as_json(self) -> dict[str, Any]:
        """The plan as plain data, as a report has it."""
        graph, schedule = self.graph, self.trial.schedule
        needed = last_needed(graph, schedule)
        entries = []
        for number, action in enumerate(schedule.actions):
            listed = number in schedule.held if schedule.held else needed[number] > graph.last_forward[number]
            if not listed or (action == KEEP and not schedule.held):
                continue
            tensor = graph.tensors[number]
            entry: dict[str, Any] = {
                "tensor": number,
                "name": tensor.name,
                "layer": graph.nodes[tensor.layer].name,
                "action": action,
                "bytes": tensor.bytes,
            }
            if schedule.held:
                entry["held"] = [span_as_json(span) for span in schedule.held[number]]
            elif action == RECOMPUTE:
                entry["strategy"] = "memory" if tensor.layer in schedule.memory_centric else "speed"
            entries.append(entry)
        prefetch = {str(step + 1): list(tensors) for step, tensors in sorted(schedule.prefetch.items())}
        return {
            "schema": PLAN_SCHEMA,
            "budget": {
                "device": self.budgets.device,
                "host": self.budgets.host,
                "disk": self.budgets.disk,
            },
            "peaks": {"device": self.device_peak, "host": self.trial.host, "disk": self.trial.disk},
            "added_seconds": self.trial.added,
            "step_seconds": self.step_seconds,
            "moved_bytes": self.trial.outcome.moved_out + self.trial.outcome.moved_in,
            "recomputed_layers": self.trial.outcome.extra,
            "smallest_budget": self.smallest,
            "tensors": entries,
            "prefetch": prefetch,
        }


def span_as_json(span: Span) -> dict[str, Any]:
    """A span as a plan's JSON has it, its steps counted from 1.

    Args:
        span: the span.

    Returns:
        Its first and last step and, unless the tensor's own step makes it, how it comes.
    """
    entry: dict[str, Any] = {"from": span.start + 1, "to": span.end + 1}
    return entry if span.by == KEEP else {**entry, "by": span.by}


def read_schedule(content: Mapping[str, Any], graph: StepGraph) -> Schedule:
    """The schedule that a plan's JSON describes.

    Args:
        content: what `Plan.as_json` returned.
        graph: the step graph it was made for.

    Returns:
        The schedule; it is walked once, so that a plan for another network is found out here.

    Raises:
        PlanError: when the plan has another schema or does not fit the graph.
    """
    if content.get("schema") != PLAN_SCHEMA:
        raise PlanError(f"a plan of schema {content.get('schema')!r} is not known; this version reads {PLAN_SCHEMA}")
    actions = [KEEP] * len(graph.tensors)
    memory_centric = set()
    held = {}
    for entry in content["tensors"]:
        number = entry["tensor"]
        if not 0 <= number < len(actions) or graph.tensors[number].bytes != entry["bytes"]:
            raise PlanError(f"the plan is for another network: it has a tensor {number} '{entry['name']}'")
        actions[number] = entry["action"]
        if entry.get("strategy") == "memory":
            memory_centric.add(graph.tensors[number].layer)
        if "held" in entry:
            held[number] = tuple(Span(one["from"] - 1, one["to"] - 1, one.get("by", KEEP)) for one in entry["held"])
    if held and len(held) < len(content["tensors"]):
        raise PlanError("a plan says for all its tensors when they are held, or for none")
    prefetch = {int(step) - 1: tuple(tensors) for step, tensors in content["prefetch"].items()}
    schedule = Schedule(tuple(actions), frozenset(memory_centric), prefetch, held)
    walk(graph, schedule)
    return schedule
