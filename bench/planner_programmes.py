"""Mixed integer programmes for the least time that a plan can add, solved by SciPy; bench/planner_optimum.py asks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]
from scipy.sparse import coo_matrix  # type: ignore[import-untyped]

from sknc.runtime.memory.actions import HOST
from sknc.runtime.memory.graph import StepGraph
from sknc.runtime.memory.machine import Machine
from sknc.runtime.memory.masks import Masks, bits, mask_of


class Bound:
    """A mixed integer programme that is never above the optimum.

    Args:
        graph: the step graph.
        machine: speeds.
        budget: bytes for data tensors.
    """

    def __init__(self, graph: StepGraph, machine: Machine, budget: int) -> None:
        self.graph, self.machine, self.budget = graph, machine, budget
        self.outputs = [number for number, tensor in enumerate(graph.tensors) if not tensor.gradient]
        self.seconds = machine.forward_seconds(graph)
        self.columns: dict[tuple[str, int, int], int] = {}
        self.rows: list[tuple[dict[int, float], float, float]] = []
        self.cost: dict[int, float] = {}
        self.unit = max(tensor.bytes for tensor in graph.tensors)

    def column(self, what: str, step: int, which: int) -> int:
        """The number of a variable: what (there, stored, run, fetched, copied, carried) at a step."""
        return self.columns.setdefault((what, step, which), len(self.columns))

    def row(self, terms: dict[int, float], low: float, high: float) -> None:
        """One constraint."""
        self.rows.append((terms, low, high))

    def solve(self, seconds: float) -> tuple[float, bool] | None:
        """The least added seconds.

        Args:
            seconds: time limit.

        Returns:
            A lower bound on the added seconds and whether it is the least of the programme; None when infeasible.
        """
        for step in range(len(self.graph.steps)):
            self.add_step(step)
        return solved(self.rows, self.cost, len(self.columns), range(len(self.columns)), seconds)

    def add_step(self, step: int) -> None:
        """Variables and constraints of one step."""
        graph, now = self.graph, self.graph.steps[step]
        for tensor in self.outputs:
            maker = graph.tensors[tensor].layer
            if maker > step:
                continue
            there = self.column("there", step, tensor)
            stored = self.column("stored", step, tensor)
            sources = {there: 1.0}
            if step > maker:
                sources[self.column("stored", step - 1, tensor)] = -1.0
            if now.backward:
                sources[self.column("run", step, maker)] = -1.0
                fetched, copied = self.column("fetched", step, tensor), self.column("copied", 0, tensor)
                sources[fetched] = -1.0
                self.row({fetched: 1, copied: -1}, -np.inf, 0)
                moved = graph.size(tensor) / self.machine.host
                self.cost[fetched] = self.cost[copied] = moved
                self.cost[self.column("run", step, maker)] = self.seconds[maker]
                carried = self.column("carried", step, tensor)
                before = self.column("stored", step - 1, tensor)
                self.row({before: 1, there: 1, carried: -1}, -np.inf, 1)
            if step > maker:
                self.row(sources, -np.inf, 0)
            self.row({stored: 1, there: -1}, -np.inf, 0)
            if tensor in now.touches:
                self.row({there: 1}, 1, 1)
        self.add_memory(step)

    def add_memory(self, step: int) -> None:
        """What the step holds, and what each recomputation in it holds."""
        graph, now = self.graph, self.graph.steps[step]
        present: list[int] = [tensor for tensor in self.outputs if graph.tensors[tensor].layer <= step]
        gradients = self.live_gradients(step)
        made = sum(graph.size(tensor) for tensor in now.writes if graph.tensors[tensor].gradient)
        room = (self.budget - gradients - now.scratch) / self.unit
        self.row({self.column("there", step, t): graph.size(t) / self.unit for t in present}, -np.inf, room)
        if not now.backward:
            return
        total = sum(graph.size(tensor) for tensor in present) / self.unit
        for number, node in enumerate(graph.nodes):
            run = self.column("run", step, number)
            own = set(node.inputs) | set(node.outputs)
            for tensor in node.inputs:
                # What a chain reads was there, was fetched or was made again in this step.
                terms = {run: 1.0, self.column("stored", step - 1, tensor): -1.0}
                terms[self.column("run", step, graph.tensors[tensor].layer)] = -1.0
                terms[self.column("fetched", step, tensor)] = -1.0
                self.row(terms, -np.inf, 0)
            terms = {
                self.column("carried", step, tensor): graph.size(tensor) / self.unit
                for tensor in present
                if tensor not in own
            }
            # Of a FORK's copies, one at least.
            read = sum(graph.size(tensor) for tensor in node.inputs)
            needs = (read + min(graph.size(tensor) for tensor in node.outputs)) / self.unit
            terms[run] = needs + total
            limit = (self.budget - gradients + made) / self.unit + total
            self.row(terms, -np.inf, limit)

    def live_gradients(self, step: int) -> int:
        """Bytes of gradients that are live at a step."""
        graph = self.graph
        first: dict[int, int] = {}
        for number, one in enumerate(graph.steps):
            for tensor in one.writes:
                first.setdefault(tensor, number)
        live = 0
        for number, one_tensor in enumerate(graph.tensors):
            if one_tensor.gradient and first[number] <= step <= graph.last_use[number]:
                live += one_tensor.bytes
        return live


class Optimum:
    """The mixed integer programme of what can be run, with a moment for everything that may run.

    Args:
        graph: the step graph.
        machine: speeds.
        budget: bytes for data tensors.
    """

    def __init__(self, graph: StepGraph, machine: Machine, budget: int) -> None:
        self.graph, self.machine, self.budget = graph, machine, budget
        self.masks = Masks(graph, machine, dict.fromkeys(range(len(graph.tensors)), HOST))
        self.columns: dict[tuple[str, int, int, int], int] = {}
        self.rows: list[tuple[dict[int, float], float, float]] = []
        self.cost: dict[int, float] = {}
        self.whole: list[int] = []
        self.unit = max(tensor.bytes for tensor in graph.tensors)
        self.before: dict[int, int] = {}

    def column(self, what: str, step: int = 0, place: int = 0, which: int = 0) -> int:
        """The number of a variable: what (there, run, fetched, copied) at a place of a step."""
        key = (what, step, place, which)
        if key not in self.columns and what in ("there", "run"):
            self.whole.append(len(self.columns))
        return self.columns.setdefault(key, len(self.columns))

    def solve(self, seconds: float) -> tuple[float, bool] | None:
        """The least added seconds.

        Args:
            seconds: time limit.

        Returns:
            The least added seconds, or a lower bound of them, and which of the two; None when infeasible.
        """
        graph, masks = self.graph, self.masks
        last = len(graph.nodes)
        for step, one in enumerate(graph.steps):
            worth = masks.useful[step] | masks.onward[step] | masks.touched[step]
            for other in bits(masks.touched[step]):
                worth |= self.sources(other) if one.backward else 0
            if one.backward:
                for node in range(last):
                    if masks.outputs[node] & worth:
                        self.moment(step, node, worth & ~masks.unmade[step])
            self.moment(step, last, worth & ~masks.unmade[step])
        return solved(self.rows, self.cost, len(self.columns), self.whole, seconds)

    def sources(self, tensor: int) -> int:
        """What a tensor could be recomputed from, with all that this could be recomputed from."""
        found, new = 0, self.masks.inputs[self.graph.tensors[tensor].layer]
        while new:
            found |= new
            new = mask_of(
                source for one in bits(new) for source in self.graph.nodes[self.graph.tensors[one].layer].inputs
            )
            new &= ~found
        return found

    def moment(self, step: int, node: int, worth: int) -> None:
        """A layer may run again in a step, or with node one too many the step itself runs."""
        graph, masks = self.graph, self.masks
        itself = node == len(graph.nodes)
        reads = masks.touched[step] if itself else masks.inputs[node]
        run = self.column("run", step, node) if not itself else -1
        if not itself:
            self.cost[run] = masks.seconds[node]
        memory: dict[int, float] = {}
        now: dict[int, int] = {}
        for tensor in bits(worth):
            there = now[tensor] = self.column("there", step, node, tensor)
            memory[there] = graph.size(tensor) / self.unit
            terms = {there: 1.0}
            if tensor in self.before:
                terms[self.before[tensor]] = -1.0
            if not itself and masks.outputs[node] >> tensor & 1:
                terms[run] = -1.0
            if reads >> tensor & 1:
                self.rows.append(({there: 1.0}, 1.0, 1.0) if itself else ({run: 1.0, there: -1.0}, -np.inf, 0.0))
                if graph.steps[step].backward and not masks.pinned[step - 1] >> tensor & 1:
                    terms[self.fetched(step, node, tensor)] = -1.0
            if not (itself and masks.made[step] >> tensor & 1):
                self.rows.append((terms, -np.inf, 0.0))
        used = masks.own[step] if itself else masks.before[step]
        if not itself and graph.steps[node].scratch:
            memory[run] = graph.steps[node].scratch / self.unit
        self.rows.append((memory, -np.inf, (self.budget - used) / self.unit))
        self.before = now

    def fetched(self, step: int, node: int, tensor: int) -> int:
        """The variable of fetching a tensor at a moment."""
        fetched, copied = self.column("fetched", step, node, tensor), self.column("copied", which=tensor)
        self.rows.append(({fetched: 1.0, copied: -1.0}, -np.inf, 0.0))
        self.cost[fetched] = self.cost[copied] = self.masks.copy[tensor]
        return fetched


def solved(
    rows: list[tuple[dict[int, float], float, float]],
    cost: dict[int, float],
    count: int,
    whole: Iterable[int],
    seconds: float,
) -> tuple[float, bool] | None:
    """Solve a programme of variables between 0 and 1.

    Args:
        rows: constraints: factors, least, most.
        cost: of the variables that cost something.
        count: how many variables there are.
        whole: those that are 0 or 1.
        seconds: time limit.

    Returns:
        The least cost, or a bound of it, and which of the two; None when infeasible.
    """
    costs, integral = np.zeros(count), np.zeros(count)
    for column, value in cost.items():
        costs[column] = value
    integral[list(whole)] = 1
    cells = [(row, column, value) for row, (terms, _, _) in enumerate(rows) for column, value in terms.items()]
    matrix = coo_matrix(
        ([cell[2] for cell in cells], ([cell[0] for cell in cells], [cell[1] for cell in cells])),
        shape=(len(rows), count),
    )
    found: Any = milp(
        costs,
        integrality=integral,
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix.tocsc(), [row[1] for row in rows], [row[2] for row in rows]),
        options={"time_limit": seconds, "mip_rel_gap": 1e-4},
    )
    if found.status == 2:
        return None
    bound = found.mip_dual_bound if found.mip_dual_bound is not None else 0.0
    return (float(found.fun), True) if found.status == 0 else (float(bound), False)


def optimum(graph: StepGraph, machine: Machine, budget: int, added: float, seconds: float) -> tuple[float, bool]:
    """The least added time within a budget, given that of a plan.

    Args:
        graph: the step graph.
        machine: speeds.
        budget: bytes for data tensors.
        added: seconds that a plan adds.
        seconds: time limit of each programme.

    Returns:
        The optimum, or a lower bound of it, and which of the two.
    """
    best = 0.0
    for programme in (Bound, Optimum):
        found = programme(graph, machine, budget).solve(seconds)
        assert found is not None, f"a plan keeps {budget} bytes, but {programme.__name__} finds none"
        best = max(best, found[0])
        if added <= best * 1.0005 or (programme is Optimum and found[1]):
            return best, True
    return best, False
