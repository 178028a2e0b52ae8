"""Liveness: a tensor is held from the step that makes it to its last use (SuperNeurons, section 3.2).

The paper builds the in and out sets by checking every later step, in O(N^2). One look at each step's tensors
gives every first and last use; walking along births and deaths gives the sets in time linear in the steps.
"""

from __future__ import annotations

from collections.abc import Iterator

from .graph import StepGraph, Timeline


def baseline_bytes(graph: StepGraph) -> int:
    """Bytes of all data tensors together: what is held when every request gets its own tensor for good.

    Args:
        graph: the step graph.

    Returns:
        The sum over all tensors and what each step needs while it runs.
    """
    return sum(tensor.bytes for tensor in graph.tensors) + sum(step.scratch for step in graph.steps)


def live_sets(graph: StepGraph) -> Iterator[tuple[list[int], list[int]]]:
    """Births and deaths of tensors, step by step.

    The in set of a step is what was born and has not died before it; its out set is the in set with the
    step's births and without its deaths.

    Args:
        graph: the step graph.

    Yields:
        For each step, the tensors that are new to it and the tensors that nobody uses after it.
    """
    for number, step in enumerate(graph.steps):
        yield list(step.writes), [tensor for tensor in step.touches if graph.last_use[tensor] == number]


def liveness_timeline(graph: StepGraph) -> Timeline:
    """What each step holds when tensors are freed right after their last use.

    A step holds what is live before it and all that it makes, before anything is freed.

    Args:
        graph: the step graph.

    Returns:
        Bytes and tensor counts by step.
    """
    held, count = 0, 0
    sizes: list[int] = []
    counts: list[int] = []
    for step, (born, dead) in zip(graph.steps, live_sets(graph), strict=True):
        held += sum(graph.size(tensor) for tensor in born)
        count += len(born)
        sizes.append(held + step.scratch)
        counts.append(count)
        held -= sum(graph.size(tensor) for tensor in dead)
        count -= len(dead)
    return Timeline(tuple(sizes), tuple(counts))
