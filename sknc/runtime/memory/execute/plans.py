"""A memory plan as it is obeyed: which consecutive layers form a segment, and what becomes of what it holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import PlanError
from ..units import format_size

SCHEMA = 4
KEEP, RECOMPUTE, OFFLOAD, SPILL = "keep", "recompute", "offload", "spill"
MODES = (KEEP, RECOMPUTE, OFFLOAD, SPILL)
# Modes that move inputs away, the fastest first. Arithmetic speaks of spilling whatever the pool.
MOVING = (OFFLOAD, SPILL)
# Where a segment's inputs are until its backward pass.
_ADVICE = "leave the plan out to have one made"
POOLS = {KEEP: "device", RECOMPUTE: "device", OFFLOAD: "host", SPILL: "disk"}


@dataclass(frozen=True, slots=True)
class PlannedSegment:
    """One segment.

    Attributes:
        first: name of its first layer.
        last: name of its last layer.
        steps: how many layers (or operations) it has.
        mode: 'keep' holds all that its backward pass needs; 'recompute' holds its inputs and runs it again;
            'offload' and 'spill' do so as well, and its inputs are in the host's memory or on disk meanwhile.
        made_bytes: what it hands to later segments.
        parts: sizes of the parts in which it is run again, each of them a third time; empty where it is run again
            in one go.
        kept: places in it, from 0, of layers whose outputs are held all the same, so that its second run need not
            compute them.
        written_bytes: what is put into its pool in each step; what an earlier segment put away is not put there again.
        read_bytes: what is fetched from the pools in each step.
    """

    first: str
    last: str
    steps: int
    mode: str
    made_bytes: int = 0
    parts: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    written_bytes: int = 0
    read_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan for the training of one model.

    Attributes:
        model: the model's name.
        network: tells the network from others: by its layers, and the shapes and types of what they hold and make.
        batch_size: samples in a batch.
        optimizer: the optimiser's name, and those of its settings that are not the usual ones.
        allocator: 'default' or 'bfc'.
        resident_bytes: what the input pipeline keeps on the device.
        budget: bytes that the training may hold.
        predicted_peak: what the allocator will show, `resident_bytes` and a reserve included.
        baseline_peak: the same without a plan.
        segments: in order; together all layers of the model.
        ahead: whether what was moved away is fetched one segment ahead.
        reserve_bytes: the part of the predicted peak that other orders of operations may need, and holes that an
            allocator with a hard limit has between its tensors.
        inputs: shapes of one sample of each input, where the model does not say them.
    """

    model: str
    network: str
    batch_size: int
    optimizer: str
    allocator: str
    resident_bytes: int
    budget: int
    predicted_peak: int
    baseline_peak: int
    segments: tuple[PlannedSegment, ...]
    ahead: bool = False
    reserve_bytes: int = 0
    inputs: tuple[tuple[int | None, ...], ...] = ()

    @property
    def changes_nothing(self) -> bool:
        """Whether the model trains as it is: without even an order of its updates, which holds less by itself."""
        return self.keeps_all and self.predicted_peak >= self.baseline_peak

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is recomputed."""
        return all(segment.mode == KEEP for segment in self.segments)

    @property
    def spilled_bytes(self) -> int:
        """Most bytes that lie on disk at once."""
        return self.held_bytes(SPILL)

    @property
    def moved_bytes(self) -> int:
        """Bytes that are moved to and from the pools in each step, in both directions together."""
        return sum(segment.written_bytes + segment.read_bytes for segment in self.segments)

    def held_bytes(self, mode: str) -> int:
        """Returns the most bytes that are in a pool at once.

        Args:
            mode: of the segments that use the pool.
        """
        return sum(segment.written_bytes for segment in self.segments if segment.mode == mode)

    def with_data(self, resident: int) -> Plan:
        """Returns the plan for other data: the peaks are higher or lower by so much.

        Args:
            resident: bytes that the input pipeline keeps on the device.
        """
        more = resident - self.resident_bytes
        peaks = self.predicted_peak + more, self.baseline_peak + more
        return replace(self, resident_bytes=resident, predicted_peak=peaks[0], baseline_peak=peaks[1])

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Returns one line for people."""
        counts = {mode: sum(segment.mode == mode for segment in self.segments) for mode in MODES}
        start = (
            f"training is planned at {format_size(self.predicted_peak)} of {format_size(self.budget)} "
            f"(plain Keras: {format_size(self.baseline_peak)})"
        )
        if self.changes_nothing:
            return f"{start}; everything fits, nothing is recomputed"
        if self.keeps_all:
            return f"{start}; nothing is recomputed, weights are updated as the backward pass goes"
        words = {RECOMPUTE: "recomputed", OFFLOAD: "recomputed from the host", SPILL: "recomputed from disk"}
        parts = [f"{counts[mode]} {words[mode]}" for mode in words if counts[mode]]
        nested = sum(bool(segment.parts) for segment in self.segments)
        twice = f" ({nested} of them part by part)" if nested else ""
        moved = f", {format_size(self.moved_bytes)} moved in a step" if self.moved_bytes else ""
        return f"{start}; of {len(self.segments)} segments {' and '.join(parts)}{twice}{moved}"

    def as_json(self) -> dict[str, Any]:
        """Returns the plan as plain values; for each segment, `inputs` says where they are meanwhile."""
        segments = [{**asdict(segment), "inputs": POOLS[segment.mode]} for segment in self.segments]
        return {"schema": SCHEMA, **asdict(self), "segments": segments, "moved_bytes": self.moved_bytes}


def read_plan(path: Path) -> Plan:
    """Reads a plan.

    Args:
        path: a file that holds `Plan.as_json()`.

    Raises:
        PlanError: the file is missing, or is no plan of a schema that is known here.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and "segments" not in content:
            raise PlanError(
                f"'{path}' is no plan that a training obeys; those are written by programs with a budget and by "
                "plan_of(model), and a report of memplan is none"
            )
        if content.pop("schema") != SCHEMA:
            raise PlanError(f"'{path}' is a plan of another version of sknc; {_ADVICE}")
        segments = tuple(
            PlannedSegment(**{**segment, **{name: tuple(segment.get(name, ())) for name in ("parts", "kept")}})
            for segment in ({k: v for k, v in found.items() if k != "inputs"} for found in content.pop("segments"))
        )
        content.pop("moved_bytes")
        content["inputs"] = tuple(tuple(shape) for shape in content.get("inputs", ()))
        plan = Plan(**content, segments=segments)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PlanError(f"'{path}' is no memory plan: {error}") from error
    unknown = {segment.mode for segment in segments} - set(MODES)
    if unknown:
        raise PlanError(f"'{path}' has segments of unknown mode: {', '.join(sorted(unknown))}")
    return plan


def check_plan(plan: Plan, names: Sequence[str], network: str) -> None:
    """Checks that a plan is one for a network.

    Args:
        plan: the plan.
        names: of the network's steps, in order.
        network: what tells it from others.

    Raises:
        PlanError: the plan was made for another network.
    """
    place = 0
    for segment in plan.segments:
        end = place + segment.steps
        if segment.steps < 1 or end > len(names) or (segment.parts and sum(segment.parts) != segment.steps):
            break
        if not all(0 <= inner < segment.steps for inner in segment.kept):
            raise PlanError(f"the plan's segment from '{segment.first}' keeps layers that it does not have; {_ADVICE}")
        if (segment.first, segment.last) != (names[place], names[end - 1]):
            raise PlanError(
                f"the plan's segment from '{segment.first}' to '{segment.last}' does not fit the network, which has "
                f"'{names[place]}' to '{names[end - 1]}' there; {_ADVICE}"
            )
        place = end
    planned = sum(segment.steps for segment in plan.segments)
    if place != len(names) or planned != len(names):
        raise PlanError(f"the plan is for {planned} layers, the network has {len(names)}; {_ADVICE}")
    if plan.network != network:
        raise PlanError(
            "the plan is for a network of other layers, shapes or types, or one of which other variables are trained; "
            f"{_ADVICE}"
        )


def check_training(
    plan: Plan, batch_size: int, optimizer: str, inputs: Sequence[tuple[int | None, ...]], budget: int
) -> None:
    """Checks that a plan is one for a training.

    Args:
        plan: the plan, with the training's data counted in.
        batch_size: samples in a batch.
        optimizer: its name, as plans have it.
        inputs: shapes of one sample of each input, where the model does not say them.
        budget: bytes.

    Raises:
        PlanError: the plan was made for another training.
    """
    if (plan.batch_size, plan.optimizer) != (batch_size, optimizer):
        raise PlanError(
            f"the plan is for batches of {plan.batch_size} and {plan.optimizer}, and this model trains with batches of "
            f"{batch_size} and {optimizer}; {_ADVICE}"
        )
    if plan.inputs != tuple(inputs):
        made_for, given = (", ".join(map(str, shapes)) or "the model's own" for shapes in (plan.inputs, inputs))
        raise PlanError(f"the plan is for inputs of shape {made_for}, and this model trains with {given}; {_ADVICE}")
    if plan.predicted_peak > budget:
        resident = plan.resident_bytes
        data = f" ({format_size(resident)} of them for the training data)" if resident else ""
        raise PlanError(
            f"the plan needs {format_size(plan.predicted_peak)}{data} and {format_size(budget)} are given; {_ADVICE}"
        )
