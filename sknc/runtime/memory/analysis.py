"""What training will hold, as one JSON-able report: the content of `sknc memplan --format json`.

The report states the paper's techniques one after the other (section 4.1, Figure 10): baseline, liveness,
offload, recomputation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .accounting import SUPERNEURONS, Profile, unknown_types, unroll
from .errors import InfeasibleBudget, PlanError
from .graph import Peak, StepGraph
from .liveness import baseline_bytes, liveness_timeline
from .machine import PAPER_MACHINE, Machine
from .network import Network
from .offload import offload_schedule
from .optimizers import optimizer_slots
from .planner import Budgets, Planner
from .recompute import COST, STRATEGIES, recompute_schedule
from .schedule import Outcome, keep_everything, walk

REPORT_SCHEMA = 1
TECHNIQUES = ("baseline", "liveness", "offload", "recompute")


@dataclass(frozen=True, slots=True)
class Holdings:
    """Bytes that stay on the device through every step.

    Attributes:
        parameters: variables of the model, trained or not.
        gradients: of the trained parameters, where they are held from one step to the next.
        optimizer: the optimiser's slots.
        input_pipeline: data that the input pipeline keeps.
    """

    parameters: int = 0
    gradients: int = 0
    optimizer: int = 0
    input_pipeline: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.parameters + self.gradients + self.optimizer + self.input_pipeline


@dataclass(frozen=True)
class Subject:
    """A training step to be reported on.

    Attributes:
        target: what the user named.
        batch: samples in a batch.
        accounting: name of the accounting profile.
        graph: the step graph.
        holdings: what the device holds beside the graph's tensors.
        optimizer: its name.
        offload: layer types that the offload technique moves.
        allocator: 'default' or 'bfc'.
        reserve: bytes added to the scheduled peak for what a schedule cannot know.
        notes: what was assumed, for the user.
        scheduled: the peak of the whole device, where it is known better than as the sum of holdings and
            tensors.
        extra: more entries for the report.
    """

    target: str
    batch: int
    accounting: str
    graph: StepGraph
    holdings: Holdings
    optimizer: str
    offload: frozenset[str]
    allocator: str = "default"
    reserve: int = 0
    notes: tuple[str, ...] = ()
    scheduled: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def scheduled_peak(self) -> int:
        """The peak of the device, without the reserve."""
        if self.scheduled is not None:
            return self.scheduled
        return liveness_timeline(self.graph).peak.bytes + self.holdings.total

    @cached_property
    def fixed(self) -> int:
        """Bytes beside the graph's tensors, the reserve included: what every schedule holds.

        An allocator that does not count small tensors shows a peak below what they take together, but never are there
        fewer bytes than the parameters have.
        """
        beside = self.scheduled_peak + self.reserve - liveness_timeline(self.graph).peak.bytes
        return max(beside, self.holdings.parameters)


@dataclass(frozen=True)
class Techniques:
    """The outcomes of the paper's techniques on one graph."""

    liveness: Outcome
    offload: Outcome
    recompute: dict[str, Outcome]

    def peaks(self, graph: StepGraph) -> dict[str, Peak]:
        """The peak of each technique, baseline first."""
        return {
            "baseline": Peak(baseline_bytes(graph), 1, len(graph.tensors)),
            "liveness": self.liveness.timeline.peak,
            "offload": self.offload.timeline.peak,
            "recompute": self.recompute[COST].timeline.peak,
        }


def layer_subject(
    network: Network,
    target: str,
    batch: int,
    optimizer: str,
    profile: Profile = SUPERNEURONS,
    slots: int | None = None,
    input_pipeline: int = 0,
) -> Subject:
    """A training step of a network counted layer by layer.

    Args:
        network: the layers.
        target: what the user named.
        batch: samples in a batch.
        optimizer: its name, for the slots.
        profile: how layer types are counted.
        slots: copies of the parameters that the optimiser keeps; None takes them from its name.
        input_pipeline: bytes that the input pipeline keeps on the device.

    Returns:
        The subject of a report.

    Raises:
        PlanError: when the batch is not above zero or the optimiser is unknown.
    """
    if batch < 1:
        raise PlanError(f"a batch has at least one sample, not {batch}")
    width = profile.element_bytes
    trained = network.parameters * width
    copies = optimizer_slots(optimizer) if slots is None else slots
    holdings = Holdings(trained + network.state * width, trained, trained * copies, input_pipeline)
    unknown = unknown_types(network, profile)
    notes = list(network.notes)
    if unknown:
        few = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        count = f"{len(unknown)} layers" if len(unknown) > 1 else "1 layer"
        notes.append(f"{count} of unknown type, assumed to need input, output and gradients: {few}")
    return Subject(
        target,
        batch,
        profile.name,
        unroll(network, batch, profile),
        holdings,
        optimizer,
        profile.offload,
        notes=tuple(notes),
    )


def apply_techniques(graph: StepGraph, offload: frozenset[str]) -> Techniques:
    """Walk the graph under each of the paper's techniques.

    Args:
        graph: the step graph.
        offload: layer types that the offload technique moves.

    Returns:
        Their outcomes.
    """
    moved = walk(graph, offload_schedule(graph, offload))
    again = {strategy: walk(graph, recompute_schedule(graph, strategy)) for strategy in STRATEGIES}
    kept = walk(graph, keep_everything(graph))
    return Techniques(kept, moved, again)


def report(subject: Subject, budgets: Budgets | None = None, machine: Machine = PAPER_MACHINE) -> dict[str, Any]:
    """Everything `sknc memplan` tells about one training step.

    Args:
        subject: the training step.
        budgets: bytes for each pool, when a plan is wanted.
        machine: speeds, for the plan.

    Returns:
        The object of the contract; `plan` is there with budgets and says whether they are feasible.
    """
    graph = subject.graph
    techniques = apply_techniques(graph, subject.offload)
    peaks = techniques.peaks(graph)
    scheduled = subject.scheduled_peak
    pools = {"device": scheduled + subject.reserve, "host": 0, "disk": 0}
    result: dict[str, Any] = {
        "schema": REPORT_SCHEMA,
        "target": subject.target,
        "batch": subject.batch,
        "accounting": subject.accounting,
        "allocator": subject.allocator,
        "optimizer": subject.optimizer,
        "layers": len(graph.nodes),
        "input_pipeline_bytes": subject.holdings.input_pipeline,
        "pools": pools,
        "parameters_bytes": subject.holdings.parameters,
        "gradients_bytes": subject.holdings.gradients,
        "optimizer_bytes": subject.holdings.optimizer,
        "peaks": {name: peak.as_json() for name, peak in peaks.items()},
        "layer_max": graph.layer_max,
        "scheduled_peak": scheduled,
        "reserve": subject.reserve,
        "predicted_peak": scheduled + subject.reserve,
        "recompute": {
            strategy: {"extra": outcome.extra, "peak": outcome.timeline.peak.bytes}
            for strategy, outcome in techniques.recompute.items()
        },
        "types": by_type(graph),
        "steps": steps(graph, techniques),
        "notes": list(subject.notes),
        **subject.extra,
    }
    if budgets is not None:
        result["plan"] = plan_within(subject, budgets, machine, result)
    return result


def plan_within(subject: Subject, budgets: Budgets, machine: Machine, result: dict[str, Any]) -> dict[str, Any]:
    """Plan for budgets, and put what each pool holds into the report.

    Args:
        subject: the training step.
        budgets: bytes for each pool.
        machine: speeds.
        result: the report; its pools and steps are completed.

    Returns:
        The plan's JSON with `feasible`, or what would be feasible.
    """
    planner = Planner(subject.graph, subject.fixed, machine, budgets.host, budgets.disk)
    try:
        plan = planner.plan(budgets.device)
    except InfeasibleBudget as error:
        asked = {"device": budgets.device, "host": budgets.host, "disk": budgets.disk}
        return {"feasible": False, "budget": asked, "smallest_budget": error.smallest}
    result["pools"] = {"device": plan.device_peak, "host": plan.trial.host, "disk": plan.trial.disk}
    outcome = plan.trial.outcome
    for number, entry in enumerate(result["steps"]):
        entry["plan"] = {
            "live_bytes": outcome.timeline.bytes[number],
            "live_tensors": outcome.timeline.tensors[number],
            "host_bytes": outcome.host[number],
            "disk_bytes": outcome.disk[number],
        }
    return {"feasible": True, **plan.as_json()}


def steps(graph: StepGraph, techniques: Techniques) -> list[dict[str, Any]]:
    """One entry a step: its layer and what liveness, offload and recomputation hold, on the device and the host."""
    entries = []
    curves = {"offload": techniques.offload, "recompute": techniques.recompute[COST]}
    for number, step in enumerate(graph.steps):
        node = graph.nodes[step.node]
        entry: dict[str, Any] = {
            "step": number + 1,
            "layer": node.name,
            "type": node.type,
            "pass": "backward" if step.backward else "forward",
            "made_bytes": sum(graph.size(tensor) for tensor in step.writes),
            "live_bytes": techniques.liveness.timeline.bytes[number],
            "live_tensors": techniques.liveness.timeline.tensors[number],
        }
        for name, outcome in curves.items():
            entry[name] = {
                "live_bytes": outcome.timeline.bytes[number],
                "live_tensors": outcome.timeline.tensors[number],
                "host_bytes": outcome.host[number],
            }
        entries.append(entry)
    return entries


def by_type(graph: StepGraph) -> list[dict[str, Any]]:
    """Bytes and forward work by layer type, largest first (the paper's Figure 8)."""
    sizes: dict[str, int] = {}
    work: dict[str, int] = {}
    count: dict[str, int] = {}
    for tensor in graph.tensors:
        kind = graph.nodes[tensor.layer].type
        sizes[kind] = sizes.get(kind, 0) + tensor.bytes
    for node in graph.nodes:
        work[node.type] = work.get(node.type, 0) + node.work
        count[node.type] = count.get(node.type, 0) + 1
    return [
        {"type": kind, "layers": count[kind], "bytes": sizes.get(kind, 0), "forward_flops": work[kind]}
        for kind in sorted(count, key=lambda kind: (-sizes.get(kind, 0), kind))
    ]
