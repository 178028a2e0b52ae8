"""What it costs to drop tensors, and which sets of tensors make enough room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .masks import Masks, bits, mask_of

# These bounds trade time for plans, see `search`.
# Tensors among which every set that makes enough room is looked at, and how many such sets.
CHOSEN = 12
LOOKED_AT = 400
# Sets handed on, for each that is wanted.
SPARE = 3
# Candidates whose losses are worked out on a large graph.
WEIGHED = 200
# How many layers back a recomputation is followed when its cost is told; Python's stack ends some hundreds on.
FAR = 40


@dataclass(frozen=True, slots=True)
class Taste:
    """Which tensors are dropped first: those with the least loss for their size.

    Attributes:
        exponent: how much the size matters.
        capped: whether bytes beyond those that are too many right now do not count.
    """

    exponent: float
    capped: bool


class Losses:
    """The seconds that it will take to have again what is not on the device.

    Args:
        masks: the graph.
        exact: tell the whole difference that dropping a tensor makes; otherwise only that to the tensor itself and
            to what is made from it.
    """

    def __init__(self, masks: Masks, exact: bool) -> None:
        self.masks = masks
        self.exact = exact
        self.told = 0
        self.near = [] if exact else [self.around(tensor) for tensor in range(len(masks.graph.tensors))]
        self.nearby: dict[int, tuple[tuple[int, int, int], float]] = {}
        self.known: dict[tuple[int, int, int], float] = {}
        self.plain = [
            min(masks.seconds[tensor.layer], 2 * masks.copy[number]) / max(1, tensor.bytes)
            for number, tensor in enumerate(masks.graph.tensors)
        ]

    def forget(self) -> None:
        """Start afresh, so that what is remembered does not grow without end."""
        self.known.clear()

    def remake(self, tensor: int, here: int, later: int, copied: int, memo: dict[int, float], depth: int = 0) -> float:
        """Seconds to have a tensor again.

        What is needed later is taken to be there: it has to be brought back in any case.

        Args:
            tensor: which.
            here: what is on the device or not made yet.
            later: what backward steps will read.
            copied: what has a copy in another pool already.
            memo: what this call has found out; empty at first.
            depth: how many layers back the question came from.

        Returns:
            The seconds.
        """
        cost = memo.get(tensor)
        if cost is not None:
            return cost
        self.told += 1
        masks = self.masks
        node = masks.graph.tensors[tensor].layer
        cost = masks.seconds[node]
        together = (masks.outputs[node] & later & ~here).bit_count()
        if together > 1:
            cost /= together
        missing = masks.inputs[node] & ~here & ~later
        if missing and depth < FAR:
            for source in bits(missing):
                cost += self.remake(source, here, later, copied, memo, depth + 1)
        cost = min(cost, masks.copy[tensor] * (1 if copied >> tensor & 1 else 2))
        memo[tensor] = cost
        return cost

    def to_come(self, here: int, copied: int, step: int) -> float:
        """Seconds to have all again that is missing and needed later, each layer counted once.

        Args:
            here: what is on the device.
            copied: what has a copy in another pool already.
            step: the step that is over.

        Returns:
            The seconds, if memory were no matter.
        """
        masks, later = self.masks, self.masks.later[step]
        here |= masks.unmade[step]
        key = (here, copied, later)
        total = self.known.get(key)
        if total is not None:
            return total
        total, nodes, done = 0.0, 0, 0
        memo: dict[int, float] = {}
        pending = later & ~here
        while pending:
            tensor = pending.bit_length() - 1
            pending ^= 1 << tensor
            done |= 1 << tensor
            node = masks.graph.tensors[tensor].layer
            move = masks.copy[tensor] * (1 if copied >> tensor & 1 else 2)
            if self.remake(tensor, here, later, copied, memo) >= move:
                total += move
                continue
            if not nodes >> node & 1:
                nodes |= 1 << node
                total += masks.seconds[node]
            pending |= masks.inputs[node] & ~here & ~done
        self.known[key] = total
        return total

    def of(self, candidates: int, here: int, copied: int, step: int, excess: int) -> dict[int, float]:
        """What dropping each of some tensors will cost.

        Args:
            candidates: tensors on the device.
            here: what is on the device.
            copied: what has a copy in another pool already.
            step: the step that runs.
            excess: bytes to make room for.

        Returns:
            Seconds for each candidate; on a large graph, for the most promising ones that make enough room.
        """
        if self.exact:
            base = self.to_come(here, copied, step)
            return {tensor: self.to_come(here & ~(1 << tensor), copied, step) - base for tensor in bits(candidates)}
        losses: dict[int, float] = {}
        for tensor in sorted(bits(candidates), key=self.plain.__getitem__):
            if len(losses) >= WEIGHED and excess <= 0:
                break
            losses[tensor] = self.local(tensor, here | self.masks.unmade[step], copied, step)
            excess -= self.masks.size[tensor]
        self.told += len(losses)
        return losses

    def local(self, tensor: int, here: int, copied: int, step: int) -> float:
        """What dropping a tensor costs, remembered for as long as nothing near it comes or goes."""
        near, later = self.near[tensor], self.masks.later[step]
        around = (here & near, later & near, copied & near)
        found = self.nearby.get(tensor)
        if found is None or found[0] != around:
            found = self.nearby[tensor] = (around, self.loss(tensor, here, copied, later))
        return found[1]

    def around(self, tensor: int) -> int:
        """The tensors that what dropping a tensor costs may depend on: two layers back, one onward."""
        masks, nodes = self.masks, self.masks.graph.nodes
        before = nodes[masks.graph.tensors[tensor].layer].inputs
        near = masks.outputs[masks.graph.tensors[tensor].layer] | mask_of(before)
        for source in before:
            near |= masks.inputs[masks.graph.tensors[source].layer]
        for node in masks.readers[tensor]:
            near |= masks.outputs[node] | masks.inputs[node]
        return near

    def loss(self, tensor: int, here: int, copied: int, later: int) -> float:
        """What dropping a tensor costs, for itself or for what is made from it."""
        masks = self.masks
        without = here & ~(1 << tensor)
        if later >> tensor & 1:
            return self.remake(tensor, without, later, copied, {})
        loss = 0.0
        old: dict[int, float] = {}
        new: dict[int, float] = {}
        for node in masks.readers[tensor]:
            for made in bits(masks.outputs[node] & later & ~here):
                loss += self.remake(made, without, later, copied, new) - self.remake(made, here, later, copied, old)
        return loss


def covers(
    sizes: list[int], losses: Mapping[int, float], excess: int, wanted: int, taste: Taste
) -> list[tuple[int, float]]:
    """Sets of tensors that make enough room, none with a tensor too many.

    Args:
        sizes: bytes of each tensor.
        losses: what dropping each candidate costs.
        excess: bytes to make room for.
        wanted: how many sets are of use.
        taste: which tensors come first.

    Returns:
        Sets and the sums of their losses, least first; more than wanted, because losses do not quite add up.
    """
    most = excess if taste.capped else float("inf")

    def loss(tensor: int) -> tuple[float, int]:
        return losses[tensor] / max(1, min(most, sizes[tensor])) ** taste.exponent, -sizes[tensor]

    order = sorted(losses, key=loss)
    greedy, room = [], 0
    for tensor in order:
        if room >= excess:
            break
        greedy.append(tensor)
        room += sizes[tensor]
    if room < excess:
        return []
    for tensor in sorted(greedy, key=losses.__getitem__, reverse=True):
        if room - sizes[tensor] >= excess:
            greedy.remove(tensor)
            room -= sizes[tensor]
    mask = sum(1 << tensor for tensor in greedy)
    found = {mask: sum(losses[tensor] for tensor in greedy)}
    if wanted > 1:
        for cover in _all_covers(sizes, order[:CHOSEN], excess):
            found.setdefault(cover, sum(losses[tensor] for tensor in bits(cover)))
    return sorted(found.items(), key=lambda cover: (cover[1], cover[0]))[: SPARE * wanted]


def _all_covers(sizes: list[int], tensors: list[int], excess: int) -> list[int]:
    """Every smallest set of some tensors that makes enough room, up to LOOKED_AT of them."""
    tensors = sorted(tensors, key=lambda tensor: -sizes[tensor])
    rest = [0]
    for tensor in reversed(tensors):
        rest.append(rest[-1] + sizes[tensor])
    rest.reverse()
    found: list[int] = []
    stack = [(0, 0, excess)]
    while stack and len(found) < LOOKED_AT:
        place, mask, left = stack.pop()
        if left <= 0:
            found.append(mask)
        elif rest[place] >= left:
            stack.append((place + 1, mask, left))
            stack.append((place + 1, mask | 1 << tensors[place], left - sizes[tensors[place]]))
    return found
