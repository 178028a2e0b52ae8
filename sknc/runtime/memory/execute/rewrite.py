"""The train step as it will be with a plan, made from the one without: a second run is copied in, not traced.

Pure arithmetic on operations; scheduled like a traced step, it shows what order and the allocator do to a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..opgraph import Op, OpGraph
from ..serial import shares, tasks_of, waits
from .cuts import Piece
from .plans import KEEP, MOVING


def planned(graph: OpGraph, places: Sequence[int], pieces: Sequence[Piece]) -> OpGraph:
    """Returns the operations of a step that obeys a plan.

    Args:
        graph: forward and backward pass without a plan.
        places: the step of the network that each operation belongs to.
        pieces: the plan.
    """
    made = _Planned(graph, places)
    for piece in pieces:
        if piece.mode != KEEP:
            made.run_again(piece)
    return made.result()


class _Planned:
    """A graph that is being changed: operations keep their numbers, new ones come after them."""

    def __init__(self, graph: OpGraph, places: Sequence[int]) -> None:
        self.graph = graph
        self.places = places
        self.ops = list(graph.ops)
        self.sizes = list(graph.sizes)
        self.gradients = dict(graph.gradients)
        self.pieces = dict(graph.pieces)
        self.maker: dict[int, int] = {}
        self.readers: dict[int, list[int]] = {}
        self.of_step: dict[tuple[int, bool], list[int]] = {}
        for number, op in enumerate(graph.ops):
            self.of_step.setdefault((places[number], op.backward), []).append(number)
            for tensor in op.makes:
                self.maker[tensor] = number
            for tensor in op.reads:
                self.readers.setdefault(tensor, []).append(number)
        self.wanted = {tensor: variable for variable, tensor in graph.gradients.items()}

    def result(self) -> OpGraph:
        """Returns the graph."""
        return replace(
            self.graph, ops=tuple(self.ops), sizes=tuple(self.sizes), gradients=self.gradients, pieces=self.pieces
        )

    def add(self, op: Op) -> int:
        """Appends an operation; returns its number."""
        self.ops.append(op)
        return len(self.ops) - 1

    def tensor(self, like: int) -> int:
        """Returns a new tensor of another one's size."""
        self.sizes.append(self.sizes[like])
        if like in self.pieces:
            self.pieces[len(self.sizes) - 1] = self.pieces[like]
        return len(self.sizes) - 1

    def inside(self, piece: Piece, backward: bool) -> list[int]:
        """The operations of a piece."""
        return [n for step in range(piece.start, piece.end) for n in self.of_step.get((step, backward), ())]

    def run_again(self, piece: Piece) -> None:
        """Lets a piece's backward pass read what a second run makes."""
        forward, backward = set(self.inside(piece, False)), self.inside(piece, True)
        own = set(backward)
        kept = set(piece.kept)
        upstream = {
            self.maker[tensor]
            for number in backward
            for tensor in self.graph.ops[number].reads
            if tensor in self.maker and self.graph.ops[self.maker[tensor]].backward and self.maker[tensor] not in own
        }
        gate = self.add(Op("NoOp", (), (), tuple(sorted(upstream)), backward=True))
        known: dict[int, int] = {}
        for number in self._needed(backward, forward, kept):
            for tensor in self.graph.ops[number].makes:
                known[tensor] = self.tensor(tensor)
        copied = {self.maker[tensor] for tensor in known}
        fetched: dict[int, int] = {}

        def found(tensor: int, reader: int) -> int:
            """What takes a tensor's place for a reader in the second run."""
            if tensor in known and not self._stored(tensor, reader, kept):
                return known[tensor]
            outside = tensor in self.maker and self.maker[tensor] not in forward
            if piece.mode in MOVING and outside and not self.graph.ops[self.maker[tensor]].backward:
                if tensor not in fetched:
                    self.add(Op("WriteFile", (tensor,), ()))
                    fetched[tensor] = self.tensor(tensor)
                    self.add(Op("ReadFile", (), (fetched[tensor],), (gate,), backward=True))
                return fetched[tensor]
            return tensor

        again = []
        for number in sorted(copied):
            op = self.graph.ops[number]
            reads = tuple(found(tensor, number) for tensor in op.reads)
            makes = tuple(known[tensor] for tensor in op.makes)
            again.append(self.add(replace(op, reads=reads, makes=makes, waits=(gate,), backward=True)))
            self.maker.update(dict.fromkeys(makes, again[-1]))
        for number in backward:
            op = self.ops[number]
            self.ops[number] = replace(op, reads=tuple(found(tensor, number) for tensor in op.reads))
        self._one_by_one(again, backward)
        self._together(own)

    def _one_by_one(self, again: Sequence[int], backward: Sequence[int]) -> None:
        """Lets a piece's backward pass make one large tensor after the other."""
        passing = [tensor for number in again if not shares(self.ops[number]) for tensor in self.ops[number].makes]
        tasks = tasks_of(self.ops, backward, self.maker)
        for place, others in waits(tasks, self.sizes, passing).items():
            op = self.ops[backward[place]]
            self.ops[backward[place]] = replace(op, waits=(*op.waits, *(backward[other] for other in others)))

    def _stored(self, tensor: int, reader: int, kept: set[int]) -> bool:
        """Whether a reader finds a tensor that was kept; a step itself reads what it computes."""
        return self.places[self.maker[tensor]] in kept and self.places[reader] != self.places[self.maker[tensor]]

    def _needed(self, backward: Sequence[int], forward: set[int], kept: set[int]) -> set[int]:
        """The operations that are run again."""
        needed: set[int] = set()
        stack = list(backward)
        while stack:
            reader = stack.pop()
            for tensor in self.graph.ops[reader].reads:
                maker = self.maker.get(tensor, -1)
                if maker in forward and maker not in needed and not self._stored(tensor, reader, kept):
                    needed.add(maker)
                    stack.append(maker)
        return needed

    def _together(self, own: set[int]) -> None:
        """Hands out a piece's gradients when all of them are there."""
        leaving = [
            tensor
            for number in sorted(own)
            for tensor in self.graph.ops[number].makes
            if tensor in self.wanted or any(reader not in own for reader in self.readers.get(tensor, ()))
        ]
        barrier = self.add(Op("NoOp", (), (), tuple({self.maker[tensor] for tensor in leaving}), backward=True))
        for tensor in leaving:
            after = self.tensor(tensor)
            self.add(Op("Identity", (tensor,), (after,), (barrier,), backward=True))
            for reader in self.readers.get(tensor, ()):
                if reader not in own:
                    op = self.ops[reader]
                    self.ops[reader] = replace(op, reads=tuple(after if t == tensor else t for t in op.reads))
            if tensor in self.wanted:
                self.gradients[self.wanted[tensor]] = after
