"""Loops turn by turn: recurrent layers as the executor runs them, several turns at once.

A loop's lists are followed symbolically: what one turn of the forward loop pushes is what one turn of the gradient's
loop pops. What waits in between, and how many turns' weight gradients wait to be added up, then comes out of the same
imitation as everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .loops import LOOPS, body_of, shape_bytes, turns
from .opgraph import Op

# A list of tensors by their numbers; NOTHING for a place that nothing was put into yet.
List = tuple[int, ...]
NOTHING = -1
LISTS = frozenset(
    "EmptyTensorList TensorListReserve TensorListFromTensor TensorListPushBack TensorListSetItem TensorListGetItem "
    "TensorListPopBack TensorListStack TensorListConcatV2 TensorListLength TensorListElementShape".split()
)
# What one graph's loops may be unrolled to; longer ones are counted as a whole.
MOST_OPERATIONS = 40_000
_SKIPPED = frozenset({"Placeholder", "Const", "NoOp"})


class Unroller:
    """Writes loops and what handles lists into an operation graph.

    Args:
        ids: numbers of tensors, by reference; gets those of what is written.
        sizes: bytes of tensors, by number; gets more.
        result: operations; gets more.
        flops: counts the floating point operations of one.
    """

    def __init__(self, ids: dict[Any, int], sizes: list[int], result: list[Op], flops: Any) -> None:
        self.ids, self.sizes, self.result, self.flops = ids, sizes, result, flops
        self.lists: dict[int, List] = {}
        self.layer, self.backward = "", False

    def takes(self, op: Any, loop: Any) -> bool:
        """Whether an operation is written here: one on lists, or a loop that is not too long.

        Args:
            op: an operation of the graph that runs.
            loop: the same as it was traced, if it is a loop.
        """
        if loop is None:
            return op.type in LISTS
        body = body_of(loop)
        long = turns(loop) * len(body.get_operations()) > MOST_OPERATIONS - len(self.result)
        return not long and len(body.inputs) == len(op.inputs)

    def write(self, op: Any, loop: Any, layer: str, backward: bool) -> None:
        """Write an operation.

        Args:
            op: an operation of the graph that runs.
            loop: the same as it was traced, if it is a loop.
            layer: whose operation it is.
            backward: whether it belongs to the backward pass.
        """
        self.layer, self.backward = layer, backward
        values = [self.ids.get(tensor.ref(), NOTHING) for tensor in op.inputs]
        made = self.operation(op, values, 0, (), False) if loop is None else self.loop(loop, values)
        self.ids.update(zip((tensor.ref() for tensor in op.outputs), made, strict=True))

    def loop(self, loop: Any, values: list[int]) -> list[int]:
        """Write all turns of a loop; the numbers of its outputs."""
        body, count = body_of(loop), turns(loop)
        entries = {tensor.ref() for tensor in body.inputs}
        window = int(loop.get_attr("parallel_iterations"))
        ends: list[tuple[int, ...]] = []
        for turn in range(count):
            place = count - 1 - turn if self.backward else turn
            env = dict(zip((tensor.ref() for tensor in body.inputs), values, strict=True))
            waits = ends[turn - window] if turn >= window else ()
            start = len(self.result)
            for op in body.get_operations():
                if op.type in _SKIPPED:
                    continue
                held_back = waits if any(tensor.ref() in entries for tensor in op.inputs) else ()
                read = [env.get(tensor.ref(), NOTHING) for tensor in op.inputs]
                made = self.operation(op, read, place, held_back, True)
                env.update(zip((tensor.ref() for tensor in op.outputs), made, strict=True))
            values = [env.get(tensor.ref(), NOTHING) for tensor in body.outputs]
            wanted = set(values)
            written = enumerate(self.result[start:], start)
            ends.append(tuple(number for number, op in written if wanted.intersection(op.makes)))
        return values

    def operation(self, op: Any, read: list[int], place: int, waits: Sequence[int], again: bool) -> list[int]:
        """Write one operation, or do to a list what it does; the numbers of its outputs."""
        kind = op.type
        mine = self.lists.get(read[0], ()) if read else ()
        if kind in ("TensorListLength", "TensorListElementShape"):
            return [NOTHING]
        if kind in ("EmptyTensorList", "TensorListReserve", "TensorListFromTensor"):
            return [self.new_list((read[0] if kind == "TensorListFromTensor" else NOTHING,) * self.length(op))]
        if kind == "TensorListPushBack":
            return [self.new_list((*mine, read[1]))]
        if kind == "TensorListSetItem":
            return [self.new_list((*mine[:place], read[2], *mine[place + 1 :]))]
        if kind == "TensorListPopBack":
            taken = self.taken(op, 1, mine[-1] if mine else NOTHING, again)
            return [self.new_list(mine[:-1]), taken]
        if kind == "TensorListGetItem":
            return [self.taken(op, 0, mine[place] if place < len(mine) else NOTHING, again)]
        if kind in LISTS:
            return self.emit(op, tuple(dict.fromkeys(mine)), waits, again)
        if kind in ("Identity", "StopGradient") and read[0] in self.lists:
            return [read[0]]
        return self.emit(op, tuple(read), waits, again)

    def length(self, op: Any) -> int:
        """How many places a new list has; what is not known here is filled by setting."""
        import tensorflow as tf

        if op.type == "TensorListFromTensor":
            return int(op.inputs[0].shape[0] or 1) if op.inputs[0].shape.rank else 1
        said = tf.get_static_value(op.inputs[1]) if op.type == "TensorListReserve" else 0
        return int(said) if said is not None else 0

    def taken(self, op: Any, output: int, entry: int, again: bool) -> int:
        """What was taken from a list: the tensor that was put there, or zeros."""
        if entry != NOTHING:
            self.result.append(Op("Identity", (entry,), (self.new(0),), (), 0, self.layer, self.backward, again=again))
            return self.result[-1].makes[0]
        made = self.new(shape_bytes(op.outputs[output]))
        self.result.append(Op("Fill", (), (made,), (), 0, self.layer, self.backward, again=again))
        return made

    def emit(self, op: Any, read: tuple[int, ...], waits: Sequence[int], again: bool) -> list[int]:
        """Write an operation as it is."""
        made = [self.new(shape_bytes(tensor)) for tensor in op.outputs]
        reads = tuple(tensor for tensor in read if tensor != NOTHING and tensor not in self.lists)
        kind = op.type if op.type not in LOOPS else "NoOp"
        self.result.append(
            Op(kind, reads, tuple(made), tuple(waits), self.flops(op), self.layer, self.backward, again=again)
        )
        return made

    def new(self, size: int) -> int:
        """A new tensor's number."""
        self.sizes.append(size)
        return len(self.sizes) - 1

    def new_list(self, entries: List) -> int:
        """A new list's number."""
        number = self.new(0)
        self.lists[number] = entries
        return number
