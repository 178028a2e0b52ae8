"""From what the search did, step by step, to spans: only what some later step or recomputation reads is held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .actions import KEEP, RECOMPUTE, Span
from .masks import Masks, bits


@dataclass(frozen=True, slots=True)
class Trace:
    """What one step of a state did, linked to the step before.

    Attributes:
        before: the trace of the step before.
        here: what stays on the device after the step.
        nodes: layers that ran again for the step.
        arrived: what they made.
        fetched: what was brought back.
    """

    before: Trace | None
    here: int
    nodes: int = 0
    arrived: int = 0
    fetched: int = 0


@dataclass(frozen=True, slots=True)
class _Held:
    """One step after trimming: what has to be there in it, what after it, what was made again, what brought back."""

    needed: int
    stays: int
    again: int
    fetched: int


def spans_of(masks: Masks, trace: Trace, pools: Mapping[int, str]) -> dict[int, tuple[Span, ...]]:
    """The spans of a trace.

    Args:
        masks: the graph.
        trace: the trace of its last step.
        pools: the pool that each tensor is moved to.

    Returns:
        The spans of the tensors that do not follow liveness.
    """
    graph = masks.graph
    spans: dict[int, list[Span]] = {}
    since: dict[int, tuple[int, str]] = {}
    for number, step in enumerate(_trimmed(masks, trace)):
        for tensor in bits(masks.made[number] & step.needed):
            since[tensor] = (number, KEEP)
        for tensor in bits(step.again):
            since[tensor] = (number, RECOMPUTE)
        for tensor in bits(step.fetched):
            since[tensor] = (number, pools[tensor])
        for tensor in bits(step.needed & ~step.stays):
            start, by = since.pop(tensor)
            spans.setdefault(tensor, []).append(Span(start, number, by))
    return {
        tensor: tuple(found)
        for tensor, found in spans.items()
        if len(found) > 1 or found[0].end != graph.last_use[tensor]
    }


def _trimmed(masks: Masks, trace: Trace) -> list[_Held]:
    """What has to be held, found from the last step backwards."""
    traces: list[Trace] = []
    one: Trace | None = trace
    while one is not None:
        traces.append(one)
        one = one.before
    found: list[_Held] = []
    wanted = 0
    for place, step in enumerate(traces):
        number = len(traces) - 1 - place
        there = step.before.here if step.before is not None else 0
        stays = wanted
        needed = wanted | masks.touched[number]
        again = 0
        for node in reversed(list(bits(step.nodes))):
            makes = masks.outputs[node] & needed & step.arrived & ~there
            if makes:
                again |= makes
                needed |= masks.inputs[node]
        fetched = step.fetched & needed & ~there
        made = masks.made[number]
        wanted = needed & ~again & ~fetched & ~made
        found.append(_Held(needed, stays, again, fetched))
    return found[::-1]
