"""The buffers of a traced step: tensors that lie in the same memory are one."""

from __future__ import annotations

from dataclasses import dataclass, field

from .opgraph import OpGraph
from .tfrules import IN_PLACE, SHARING


@dataclass(slots=True)
class Buffer:
    """A buffer.

    Attributes:
        size: bytes.
        maker: the operation that makes it first.
        last: the last operation in traced order that uses it.
        readers: operations that read it.
        taken: operations that put their own result into it.
    """

    size: int
    maker: int
    last: int
    readers: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)


def find_buffers(graph: OpGraph) -> list[Buffer]:
    """Returns the buffers that a step makes, in the order in which it makes them.

    Args:
        graph: its operations.
    """
    readers: dict[int, int] = {}
    for op in graph.ops:
        for tensor in dict.fromkeys(op.reads):
            readers[tensor] = readers.get(tensor, 0) + 1
    of: dict[int, Buffer] = {}
    buffers: list[Buffer] = []
    for number, op in enumerate(graph.ops):
        for tensor in op.reads:
            if tensor in of:
                of[tensor].last = number
                of[tensor].readers.append(number)
        for place, tensor in enumerate(op.makes):
            size = graph.sizes[tensor]
            source = _source(graph, op.type, op.reads, place, size, readers)
            if source is not None and source in of:
                of[tensor] = of[source]
                if op.type in IN_PLACE:
                    of[tensor].taken.append(number)
            elif size and source is None:
                of[tensor] = Buffer(size, number, number)
                buffers.append(of[tensor])
    return buffers


def _source(
    graph: OpGraph, kind: str, reads: tuple[int, ...], place: int, size: int, readers: dict[int, int]
) -> int | None:
    """The tensor whose buffer an output takes over, or None."""
    if kind in SHARING and reads:
        return reads[min(place, len(reads) - 1)]
    if kind in IN_PLACE:
        for tensor in reads:
            if readers.get(tensor) == 1 and tensor not in graph.held and graph.sizes[tensor] == size:
                return tensor
    return None
