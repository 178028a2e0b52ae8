"""The best schedule for one budget, by a beam search that drops a tensor only when the next thing does not fit.

The search goes through the steps once. A state says what is on the device and what has been copied out. When a
step, or a layer that runs again for it, does not fit, the states branch over what to drop; when a step needs what
was dropped, they branch over how to have it again. Of each step's states the most promising ones go on: those with
the least time added so far and still to come. Dropping as late as possible loses nothing, because what was dropped
too late can be taken out of the schedule afterwards; `trim.spans_of` does.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

from .drops import Losses, Taste, covers
from .masks import Masks, bits
from .trim import Trace

# These bounds trade time for plans, see `search`.
# The largest graph, in forward tensors, whose states are ranked by the whole cost to come.
EXACT = 72
# Ways to have again what a step needs, and sets of tensors to drop, that are followed from one state.
RECIPES = 8
BRANCHES = 20
# Partial recipes that are looked at before the best one is completed and the others are left.
TRIED = 120
# Recipes that are also tried with one more layer run again.
WITH_MORE = 2
# Pairs of a state and a recipe that are followed, for each state that may go on.
PAIRS = 2


@dataclass(frozen=True, slots=True)
class Pass:
    """How thoroughly a budget is searched.

    Attributes:
        width: how many states go on from each step.
        taste: which tensors to drop first.
    """

    width: int
    taste: Taste


# A small graph is searched with few states, then with more and more. On a large one a single state goes on, which is
# quick; what it drops is chosen in three ways.
SMALL = tuple(Pass(width, Taste(1.0, True)) for width in (6, 24, 96))
LARGE = (Pass(1, Taste(1.0, False)), Pass(1, Taste(0.7, False)), Pass(1, Taste(1.0, True)))


@dataclass(frozen=True, slots=True)
class State:
    """What is on the device after a step.

    Attributes:
        rank: seconds added so far, and to come as far as can be told.
        cost: seconds added so far.
        here: the tensors on the device.
        held: their bytes.
        copied: the tensors whose copies have been paid for.
        trace: how it came to this.
    """

    rank: float
    cost: float
    here: int
    held: int
    copied: int
    trace: Trace | None


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to have what a step needs: layers to run again, tensors to bring back, and what rank it adds."""

    nodes: int
    fetched: int
    rank: float


NOTHING = Recipe(0, 0, 0.0)


class Lazy:
    """Searches one graph for any number of budgets.

    Args:
        masks: the graph.
        quick: search a small graph as if it were a large one.
    """

    def __init__(self, masks: Masks, quick: bool = False) -> None:
        self.masks = masks
        self.exact = not quick and sum(not tensor.gradient for tensor in masks.graph.tensors) <= EXACT
        self.losses = Losses(masks, self.exact)
        self.passes = SMALL if self.exact else LARGE
        self.now = self.passes[0]
        self.branches, self.recipes = (BRANCHES, RECIPES) if self.exact else (1, 1)
        self.budget = 0
        self.steps_made = 0

    @property
    def work(self) -> int:
        """How much has been searched, in costs told."""
        return self.losses.told + 10 * self.steps_made

    def find(self, budget: int, limit: float) -> Trace | None:
        """The schedule with the least added time that the search finds.

        Args:
            budget: bytes of the device for the graph's tensors.
            limit: seconds; a schedule that adds more is of no use.

        Returns:
            The trace of its last step, or None.
        """
        self.budget = budget
        self.losses.forget()
        states = [State(0.0, 0.0, 0, 0, 0, None)]
        for step in range(len(self.masks.graph.steps)):
            found: dict[tuple[int, int], State] = {}
            pairs = [pair for state in states for pair in self.all_ways(state, step)]
            pairs.sort(key=lambda pair: pair[0].rank + pair[1].rank)
            for state, recipe in pairs[: PAIRS * self.now.width]:
                for other in self.follow(state, step, recipe):
                    key = (other.here, other.copied)
                    if other.cost <= limit and (key not in found or other.cost < found[key].cost):
                        found[key] = other
            self.steps_made += len(pairs)
            states = self.best(list(found.values()))
            if not states:
                return None
        return min(states, key=lambda state: state.cost).trace

    def best(self, states: list[State]) -> list[State]:
        """The most promising states, without those that have less on the device than a cheaper one."""
        if len(states) <= 1:
            return states
        states.sort(key=lambda state: (state.rank, -state.here.bit_count(), state.here))
        chosen: list[State] = []
        for state in states:
            if not any(
                other.cost <= state.cost and not state.here & ~other.here and not state.copied & ~other.copied
                for other in chosen
            ):
                chosen.append(state)
                if len(chosen) == self.now.width:
                    break
        return chosen

    def all_ways(self, state: State, step: int) -> list[tuple[State, Recipe]]:
        """How a step can have what it needs, also when one thing that it needs goes first, to make room."""
        masks = self.masks
        needed = masks.touched[step] & ~masks.made[step]
        if not needed & ~state.here:
            return [(state, NOTHING)]
        found = self.ways(needed & ~state.here, state, step)
        found += [more for one in found[:WITH_MORE] for more in self.with_more(one, state, step)]
        pairs = [(state, recipe) for recipe in dict.fromkeys(found)]
        if self.exact and state.trace is not None:
            for tensor in bits(needed & state.here & ~masks.pinned[step - 1]):
                here = state.here & ~(1 << tensor)
                trace = replace(state.trace, here=here)
                less = replace(state, here=here, held=state.held - masks.size[tensor], trace=trace)
                pairs += [(less, recipe) for recipe in self.ways(needed & ~here, less, step)[:WITH_MORE]]
        return pairs

    def ways(self, missing: int, state: State, step: int) -> list[Recipe]:
        """Ways to have missing tensors again, the best first."""
        masks, later = self.masks, self.masks.later[step]
        here, copied = state.here | masks.unmade[step], state.copied
        # What is brought back now need not be brought back later: that is taken off.
        heap: list[tuple[float, int, int, int, int]] = [(0.0, 0, missing, 0, 0)]
        found: list[Recipe] = []
        tried = 0
        while heap and len(found) < self.recipes:
            rank, _, pending, nodes, fetched = heapq.heappop(heap)
            if not pending:
                found.append(Recipe(nodes, fetched, rank))
                continue
            tried += 1
            tensor = pending.bit_length() - 1
            pending ^= 1 << tensor
            node = masks.graph.tensors[tensor].layer
            if not nodes >> node & 1:
                saved = self.losses.remake(tensor, here, later, copied, {}) if later >> tensor & 1 else 0.0
                move = masks.copy[tensor] * (1 if copied >> tensor & 1 else 2)
                more = masks.inputs[node] & ~here & ~fetched
                if move < float("inf"):
                    heapq.heappush(heap, (rank + move - saved, 2 * tried, pending, nodes, fetched | 1 << tensor))
                if tried < TRIED or self.rather_again(tensor, state, step, move):
                    entry = (
                        rank + masks.seconds[node] - saved,
                        2 * tried + 1,
                        pending | more,
                        nodes | 1 << node,
                        fetched,
                    )
                    heapq.heappush(heap, entry)
            else:
                heapq.heappush(heap, (rank, 2 * tried, pending, nodes, fetched))
            if tried >= TRIED:
                # Too many combinations: the best one so far is completed, the others are left.
                heap = heap[:1]
                heapq.heapify(heap)
        return found

    def rather_again(self, tensor: int, state: State, step: int, move: float) -> bool:
        """Whether running a tensor's layer again costs less than moving it."""
        masks = self.masks
        here = state.here | masks.unmade[step]
        return self.losses.remake(tensor, here, masks.later[step], state.copied, {}) < move

    def with_more(self, recipe: Recipe, state: State, step: int) -> Iterator[Recipe]:
        """The recipe and one more layer that reads what it brought back and makes what is needed later."""
        masks = self.masks
        new = recipe.fetched
        for node in bits(recipe.nodes):
            new |= masks.outputs[node]
        here = state.here | new
        wanted = masks.later[step] & ~here
        nodes = {node for tensor in bits(new) for node in masks.readers[tensor] if masks.outputs[node] & wanted}
        for node in sorted(nodes):
            if not masks.inputs[node] & ~here:
                yield Recipe(recipe.nodes | 1 << node, recipe.fetched, recipe.rank)

    def follow(self, state: State, step: int, recipe: Recipe) -> Iterator[State]:
        """Run a recipe and then the step, dropping what does not fit."""
        masks = self.masks
        needed = masks.touched[step]
        cost, late = state.cost, recipe.fetched
        for tensor in bits(recipe.fetched):
            cost += masks.copy[tensor] * (1 if state.copied >> tensor & 1 else 2)
        # Each is what is on the device, its bytes, what was made again, and what the dropping will cost.
        branches = [(state.here, state.held, 0, 0.0)]
        nodes = list(bits(recipe.nodes))
        for place, node in enumerate(nodes):
            cost += masks.seconds[node]
            rest = needed & ~masks.made[step]
            for other in nodes[place + 1 :]:
                rest |= masks.inputs[other]
            brought, late = late & masks.inputs[node], late & ~masks.inputs[node]
            bytes_used = masks.before[step] + masks.graph.steps[node].scratch
            after: list[tuple[int, int, int, float]] = []
            for here, held, arrived, loss in branches:
                makes = masks.outputs[node] & (rest | masks.later[step]) & ~state.here
                must = masks.inputs[node] | (makes & rest) | rest
                for new, size, more in self.fit(here, held, brought | makes, must, bytes_used, state.copied, step):
                    after.append((new, size, arrived | (makes & ~here), loss + more))
            branches = sorted(after, key=lambda branch: branch[3])[: self.branches]
        copied = (state.copied | recipe.fetched) & masks.useful[step]
        stays = masks.useful[step] | masks.onward[step]
        for here, held, arrived, _ in branches:
            for new, size, _ in self.fit(here, held, late | masks.made[step], needed, masks.own[step], copied, step):
                kept = new & stays
                rank = cost + (self.losses.to_come(kept, copied, step) if self.exact else 0.0)
                trace = Trace(state.trace, kept, recipe.nodes, arrived, recipe.fetched)
                left = size - masks.bytes(new & ~stays)
                yield State(rank, cost, kept, left, copied, trace)

    def fit(
        self, here: int, held: int, new: int, must: int, used: int, copied: int, step: int
    ) -> list[tuple[int, int, float]]:
        """Put new tensors on the device; what is then there, its bytes, and what the dropping will cost."""
        masks = self.masks
        held += masks.bytes(new & ~here)
        here |= new
        excess = held + used - self.budget
        if excess <= 0:
            return [(here, held, 0.0)]
        candidates = here & ~must & ~masks.pinned[step] & ~masks.onward[step]
        losses = self.losses.of(candidates, here, copied, step, excess)
        found = covers(masks.size, losses, excess, self.branches, self.now.taste)
        if self.exact:
            base = self.losses.to_come(here, copied, step)
            found = [(drop, self.losses.to_come(here & ~drop, copied, step) - base) for drop, _ in found]
            found.sort(key=lambda cover: cover[1])
        return [
            (here & ~drop, held - masks.bytes(drop), loss)
            for drop, loss in found[: self.branches]
            if loss < float("inf")
        ]
