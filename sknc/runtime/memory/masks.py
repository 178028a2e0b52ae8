"""A step graph as sets of bits, for the search: which tensors a step reads, what is needed later, what is made when.

A set of tensors is an integer with one bit for each, so that joining and comparing sets takes one operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .actions import DISK, HOST
from .graph import StepGraph
from .machine import Machine


def bits(mask: int) -> Iterator[int]:
    """The members of a set, smallest first.

    Args:
        mask: the set.

    Yields:
        Positions of its bits.
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(members: Iterable[int]) -> int:
    """The set of some members.

    Args:
        members: positions.

    Returns:
        The set.
    """
    mask = 0
    for member in members:
        mask |= 1 << member
    return mask


class Masks:
    """What the search asks a graph, as sets of forward tensors unless said otherwise.

    Args:
        graph: the step graph.
        machine: its speeds.
        pools: for a tensor, the pool that it would be moved to; tensors that are missing are not moved.

    Attributes:
        size: bytes of each tensor.
        seconds: of each layer's forward step.
        copy: seconds to move each tensor one way; infinite where it may not be moved.
        inputs: what each layer reads.
        outputs: what each layer makes.
        readers: for each tensor, the layers that read it.
        touched: what each step reads or writes.
        made: what each step makes.
        own: bytes of gradients and scratch while a step runs.
        before: bytes of gradients while what a step needs is brought back.
        later: what backward steps after a step read.
        useful: the same, and all that it could be recomputed from.
        onward: what forward steps after a step read.
        unmade: what is made after a step.
        pinned: what became a gradient in place and cannot be had again.
    """

    def __init__(self, graph: StepGraph, machine: Machine, pools: Mapping[int, str]) -> None:
        self.graph = graph
        self.size = [tensor.bytes for tensor in graph.tensors]
        self.seconds = machine.forward_seconds(graph)
        speed = {HOST: machine.host, DISK: machine.disk}
        self.copy = [
            self.size[tensor] / speed[pools[tensor]] if tensor in pools else float("inf")
            for tensor in range(len(graph.tensors))
        ]
        forward = mask_of(number for number, tensor in enumerate(graph.tensors) if not tensor.gradient)
        self.inputs = [mask_of(node.inputs) for node in graph.nodes]
        self.outputs = [mask_of(node.outputs) for node in graph.nodes]
        self.readers: list[list[int]] = [[] for _ in graph.tensors]
        for number, node in enumerate(graph.nodes):
            for tensor in dict.fromkeys(node.inputs):
                self.readers[tensor].append(number)
        self.touched = [mask_of(step.touches) & forward for step in graph.steps]
        self.made = [mask_of(step.writes) & forward for step in graph.steps]
        self.own, self.before = self.gradients()
        self.later, self.useful, self.onward, self.unmade = self.ahead()
        self.pinned = self.pins()

    def bytes(self, mask: int) -> int:
        """Bytes of a set of tensors."""
        size = self.size
        return sum(size[tensor] for tensor in bits(mask))

    def gradients(self) -> tuple[list[int], list[int]]:
        """For each step, bytes of the gradients while it runs, with its scratch, and before it made its own."""
        graph = self.graph
        change = [0] * (len(graph.steps) + 1)
        new = [0] * len(graph.steps)
        seen = set()
        for number, step in enumerate(graph.steps):
            for tensor in step.writes:
                if graph.tensors[tensor].gradient and tensor not in seen:
                    seen.add(tensor)
                    new[number] += self.size[tensor]
                    change[number] += self.size[tensor]
                    change[graph.last_use[tensor] + 1] -= self.size[tensor]
        own, before, live = [], [], 0
        for number, step in enumerate(graph.steps):
            live += change[number]
            own.append(live + step.scratch)
            before.append(live - new[number])
        return own, before

    def ahead(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """For each step: later, useful, onward, unmade."""
        graph = self.graph
        later, useful, onward, unmade = [], [], [], []
        needed = usable = forward = to_come = 0
        for number in range(len(graph.steps) - 1, -1, -1):
            later.append(needed)
            useful.append(usable)
            onward.append(forward)
            unmade.append(to_come)
            to_come |= self.made[number]
            if not graph.steps[number].backward:
                forward |= self.touched[number] & ~self.made[number]
                continue
            needed |= self.touched[number]
            new = self.touched[number] & ~usable
            while new:
                usable |= new
                new = mask_of(
                    source for tensor in bits(new) for source in graph.nodes[graph.tensors[tensor].layer].inputs
                )
                new &= ~usable
        return later[::-1], useful[::-1], onward[::-1], unmade[::-1]

    def pins(self) -> list[int]:
        """For each step, the tensors that a backward step has turned into a gradient and another will read.

        Such a step belongs to a layer that neither made nor read the tensor.
        """
        graph = self.graph
        pinned = [0] * len(graph.steps)
        found: set[int] = set()
        for number in range(len(graph.nodes), len(graph.steps)):
            node = graph.steps[number].node
            known = self.inputs[node] | self.outputs[node]
            found.update(bits(self.touched[number] & ~known))
        for tensor in found:
            for number in range(graph.first_backward[tensor], graph.last_use[tensor]):
                pinned[number] |= 1 << tensor
        return pinned
