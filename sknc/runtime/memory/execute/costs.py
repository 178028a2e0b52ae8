"""What each step of a network costs and holds, read from its train step as it was traced once, without a plan.

Arithmetic on operations. From here on a plan's price is known without tracing it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..executor import duration
from ..opbuffers import Buffer, find_buffers
from ..opgraph import OpGraph
from ..serial import in_order, tasks_of
from .cuts import NEVER, Chain, Handed

SCOPE = "sknc_step"
_SCOPED = re.compile(rf"(?:^|/){SCOPE}(\d+)(?:_\d+)?/")
_GRADIENT = "gradient_tape/"
# What is so much smaller than the largest tensor may be there twice: it forbids no cut. Batch statistics of a layer
# that is called again work in the memory of those of its first call; nothing in between could be cut.
_SMALL = 64


class StepNames:
    """Finds the step that an operation belongs to, by the scope that the step was traced in."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def call(self, name: str) -> tuple[str, bool]:
        """Returns the step of an operation, empty for none, and whether it is of the backward pass.

        Args:
            name: the operation's name.
        """
        found = _SCOPED.search(name)
        step = found[1] if found else ""
        if step:
            self.found[step] = step
        return step, name.startswith(_GRADIENT)

    def titles(self) -> dict[str, str]:
        """Returns what to call each step: as it was found."""
        return self.found

    def class_of(self, scope: str) -> str:
        """Returns what the step is, which does not matter here.

        Args:
            scope: a step.
        """
        return scope


def places_of(graph: OpGraph, count: int) -> list[int]:
    """Returns the step that each operation belongs to; the loss is one more.

    Args:
        graph: a step that was traced with `StepNames`.
        count: how many steps the network has.
    """
    forward = [number for number, op in enumerate(graph.ops) if op.layer and not op.backward]
    after = max(forward, default=-1)
    maker: dict[int, int] = {}
    places: list[int] = []
    # The steps whose forward pass reads each tensor.
    readers: dict[int, set[int]] = {}
    now = 0
    for number, op in enumerate(graph.ops):
        if op.layer:
            now = int(op.layer)
        elif not op.backward and number > after:
            now = count
        elif op.backward:
            # A sum of gradients is complete with the last of them, which comes from the earliest step.
            now = min((places[maker[t]] for t in op.reads if t in maker and graph.ops[maker[t]].backward), default=now)
            # A gradient of one's own is in no layer's scope: it is that of a step which reads the same.
            own = [place for tensor in op.reads for place in readers.get(tensor, ()) if place <= now]
            now = max(own, default=now)
        places.append(now)
        for tensor in op.makes:
            maker[tensor] = number
        if not op.backward:
            for tensor in op.reads:
                readers.setdefault(tensor, set()).add(now)
    return places


@dataclass(slots=True)
class _Step:
    """What is known of a step."""

    seconds: float = 0.0
    spared: float = 0.0
    output: int = 0
    saved: int = 0
    burst: int = 0
    forward: int = 0


def chain_of_trace(graph: OpGraph, count: int) -> Chain:
    """Returns a network as arithmetic sees it.

    Args:
        graph: the step without a plan, traced with `StepNames`.
        count: how many steps the network has.
    """
    places = places_of(graph, count)
    steps = [_Step() for _ in range(count + 1)]
    _times(graph, places, [duration(op, graph.sizes) for op in graph.ops], steps)
    handed: list[Handed] = []
    joined: set[int] = set()
    buffers = find_buffers(graph)
    backward = [op.backward for op in graph.ops]
    small = max((buffer.size for buffer in buffers), default=0) // _SMALL
    for buffer in buffers:
        if backward[buffer.maker]:
            continue
        # The result of the last operation that works in this memory is what others get.
        written = sorted({places[number] for number in (buffer.maker, *buffer.taken) if not backward[number]})
        made = written[-1]
        last = max([made, *(places[reader] for reader in buffer.readers if not backward[reader])])
        back = min((max(made, places[reader]) for reader in buffer.readers if backward[reader]), default=NEVER)
        if back != NEVER:
            steps[made].saved += buffer.size
        if last > made or NEVER > back > made:
            handed.append(Handed(made, last, back, buffer.size, tuple(written[:-1])))
        if buffer.size > small:
            joined.update(range(written[0] + 1, made + 1))
    _bursts(graph, places, buffers, steps)
    _forwards(places, backward, buffers, steps)
    kept = steps[:count]
    return Chain(
        tuple(step.seconds for step in kept),
        tuple(step.spared for step in kept),
        tuple(step.output for step in kept),
        tuple(step.saved for step in kept),
        tuple(step.burst for step in kept),
        tuple(step.forward for step in kept),
        tuple(handed),
        frozenset(joined),
        steps[count].saved + steps[count].burst,
    )


def _times(graph: OpGraph, places: Sequence[int], seconds: Sequence[float], steps: list[_Step]) -> None:
    """Finds what a second run of each step takes, and how much of it only serves the step's outputs."""
    ops = graph.ops
    readers: dict[int, list[int]] = {}
    for number, op in enumerate(ops):
        for tensor in op.reads:
            readers.setdefault(tensor, []).append(number)
    own: set[int] = set()
    others: set[int] = set()
    for number in range(len(ops) - 1, -1, -1):
        op = ops[number]
        if op.backward:
            continue
        place = places[number]
        users = [reader for tensor in op.makes for reader in readers.get(tensor, ())]
        inside = [reader for reader in users if places[reader] == place]
        if any(ops[reader].backward or reader in own for reader in inside):
            own.add(number)
            steps[place].seconds += seconds[number]
        elif len(inside) < len(users) or any(reader in others for reader in inside):
            others.add(number)
            steps[place].seconds += seconds[number]
            steps[place].spared += seconds[number]
        for tensor in op.makes:
            if any(places[reader] != place for reader in readers.get(tensor, ())):
                steps[place].output += graph.sizes[tensor]


def _bursts(graph: OpGraph, places: Sequence[int], buffers: Sequence[Buffer], steps: list[_Step]) -> None:
    """Finds the most that is held while a step's gradient is computed, besides what was saved up to that step.

    Backward passes count in the reverse order of the steps: branches may have been traced in any order.
    """
    order = _serial(graph, places)
    when = {op: moment for moment, op in enumerate(order)}
    change = [0] * (len(graph.ops) + 1)
    for buffer in buffers:
        change[when[buffer.maker]] += buffer.size
        change[max(when[op] for op in (buffer.maker, *buffer.readers)) + 1] -= buffer.size
    saved = [0]
    for step in steps:
        saved.append(saved[-1] + step.saved)
    live = 0
    for moment, number in enumerate(order):
        live += change[moment]
        step = steps[places[number]]
        if graph.ops[number].backward:
            step.burst = max(step.burst, live - saved[places[number] + 1])


def _serial(graph: OpGraph, places: Sequence[int]) -> list[int]:
    """The forward pass as it was traced, then each step's backward pass so that it holds little."""
    maker = {tensor: number for number, op in enumerate(graph.ops) for tensor in op.makes}
    # The steps whose backward pass reads each buffer; the earliest one reads it last.
    readers: dict[int, set[int]] = {}
    steps: dict[int, list[int]] = {}
    for number, op in enumerate(graph.ops):
        if op.backward:
            steps.setdefault(places[number], []).append(number)
    order = [number for number, op in enumerate(graph.ops) if not op.backward]
    tasks = {place: tasks_of(graph.ops, steps[place], maker) for place in sorted(steps, reverse=True)}
    for place, own in tasks.items():
        for task in own:
            for buffer in task.reads:
                readers.setdefault(buffer, set()).add(place)
    for place, own in tasks.items():
        there = dict.fromkeys(buffer for task in own for buffer in task.reads).keys() - graph.held
        there -= {buffer for task in own for buffer in task.makes}
        passing = [buffer for buffer in there if min(readers[buffer]) == place]
        order += [steps[place][number] for number in in_order(own, graph.sizes, passing)]
    return order


def _forwards(places: Sequence[int], backward: Sequence[bool], buffers: Sequence[Buffer], steps: list[_Step]) -> None:
    """Finds the most that is held while a step runs, when nothing is saved for the backward pass."""
    change = [0] * (len(places) + 1)
    for buffer in buffers:
        maker, readers, size = buffer.maker, buffer.readers, buffer.size
        if not backward[maker]:
            change[maker] += size
            change[max([maker, *(reader for reader in readers if not backward[reader])]) + 1] -= size
    live = 0
    for number, place in enumerate(places):
        live += change[number]
        if not backward[number]:
            steps[place].forward = max(steps[place].forward, live)
