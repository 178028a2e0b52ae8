"""The planner against the optimum, computed by SciPy's MILP solver, and its plans over many budgets.

    python bench/planner_optimum.py [--graphs 30] [--seconds 20]

The optimum is over more schedules than the planner's: at every backward step any forward step may run again
and any tensor that was copied to the host may be fetched, as often as wanted. Within a step, what a chain of
recomputations holds is counted from below, so that the optimum printed here is never above the true one.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]
from scipy.sparse import coo_matrix  # type: ignore[import-untyped]

from sknc.runtime.memory.accounting import unroll
from sknc.runtime.memory.graph import StepGraph
from sknc.runtime.memory.machine import PAPER_MACHINE, Machine
from sknc.runtime.memory.network import Layer, Network
from sknc.runtime.memory.papernets.builder import ImageNet
from sknc.runtime.memory.planner import Planner

PLENTY = 1 << 40
TYPES = ("CONV", "ACT", "BN", "POOL", "DROPOUT", "LRN")
# Recomputing and moving cost about the same on it, so that there is something to choose.
EVEN = Machine(flops=1.0, memory=1e9, host=0.5, disk=0.01)


def random_graph(seed: int, length: int = 9) -> StepGraph:
    """Layers that read one or two earlier ones; loose ends are put together at the end."""
    rng = random.Random(seed)
    layers = [Layer("l0", "CONV", (), rng.randint(1, 50), flops=rng.randint(1, 900))]
    for number in range(1, length):
        sources = rng.sample(layers[-4:], min(len(layers[-4:]), rng.choice((1, 1, 2))))
        kind = rng.choice(TYPES) if len(sources) == 1 else rng.choice(("JOIN", "CONCAT"))
        names = tuple(source.name for source in sources)
        layers.append(Layer(f"l{number}", kind, names, rng.randint(1, 50), flops=rng.randint(1, 900)))
    read = {name for layer in layers for name in layer.inputs}
    ends = tuple(layer.name for layer in layers if layer.name not in read)
    if len(ends) > 1:
        layers.append(Layer("end", "CONCAT", ends, 10, flops=10))
    return unroll(Network(f"random{seed}", 20, tuple(layers)), 1)


def small_nets() -> dict[str, StepGraph]:
    """Real nets, cut small."""
    from sknc.runtime.memory.papernets import paper_network, resnet
    from sknc.runtime.memory.papernets.inception import _block_a

    def first(name: str, count: int) -> Network:
        net = paper_network(name)
        return Network(name, net.input_elements, net.layers[:count])

    block = ImageNet("inception", 35, 384)
    _block_a(block, block.conv(block.input, 384, 1))
    return {
        "alexnet (first 15)": unroll(first("alexnet", 15), 32),
        "vgg16 (first 14)": unroll(first("vgg16", 14), 8),
        "resnet50 (first 15)": unroll(first("resnet50", 15), 8),
        "resnet 1 block a stage (first 26)": unroll(Network("r", 3 * 227 * 227, resnet((1, 1, 1, 1)).layers[:26]), 8),
        "inception_v4 (one block, first 16)": unroll(
            Network("i", block.input.elements, block.network().layers[:16]), 8
        ),
    }


class Optimum:
    """The mixed integer programme of one graph.

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
            A lower bound on the added seconds and whether it is proven to be the optimum; None when
            infeasible.
        """
        for step in range(len(self.graph.steps)):
            self.add_step(step)
        count = len(self.columns)
        cost = np.zeros(count)
        for column, value in self.cost.items():
            cost[column] = value
        cells = [(row, column, value) for row, (terms, _, _) in enumerate(self.rows) for column, value in terms.items()]
        matrix = coo_matrix(
            ([cell[2] for cell in cells], ([cell[0] for cell in cells], [cell[1] for cell in cells])),
            shape=(len(self.rows), count),
        )
        limits = LinearConstraint(matrix.tocsc(), [row[1] for row in self.rows], [row[2] for row in self.rows])
        found: Any = milp(
            cost,
            integrality=np.ones(count),
            bounds=Bounds(0, 1),
            constraints=limits,
            options={"time_limit": seconds, "mip_rel_gap": 1e-4},
        )
        if found.status == 2:
            return None
        bound = found.mip_dual_bound if found.mip_dual_bound is not None else 0.0
        return (float(found.fun), True) if found.status == 0 else (float(bound), False)

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


def compare(name: str, graph: StepGraph, machine: Machine, seconds: float) -> list[float]:
    """Print plans against the optimum at three budgets; the ratios of added work."""
    planner = Planner(graph, machine=machine, host=PLENTY)
    low, high = planner.smallest, planner.trials[0].peak
    ratios = []
    for part in (0.0, 0.35, 0.7):
        budget = int(low + (high - low) * part)
        plan = planner.plan(budget)
        start = time.perf_counter()
        found = Optimum(graph, machine, budget).solve(seconds)
        if found is None:
            print(f"{name}: the programme finds {budget} bytes infeasible, the planner does not")
            continue
        best, proven = found
        base = planner.step_seconds
        ratio = (base + plan.trial.added) / (base + best)
        added = plan.trial.added / best if best > 1e-12 else (1.0 if plan.trial.added < 1e-12 else float("inf"))
        ratios.append(added)
        print(
            f"{name}: budget {100 * budget / high:.0f}%: added {plan.trial.added:.4g}, optimum "
            f"{'' if proven else '>= '}{best:.4g}: {added:.3f} of the added work, {ratio:.3f} of the step "
            f"({time.perf_counter() - start:.1f} s)",
            flush=True,
        )
    plans = [planner.plan(int(low + (high - low) * number / 19)) for number in range(20)]
    added_times = [plan.trial.added for plan in plans]
    assert added_times == sorted(added_times, reverse=True), f"{name}: a larger budget gave a slower plan"
    return ratios


def main() -> None:
    """Compare random graphs and small nets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--only", choices=["random", "nets"])
    arguments = parser.parse_args()
    ratios: list[float] = []
    if arguments.only != "nets":
        for seed in range(arguments.graphs):
            ratios += compare(f"random {seed}", random_graph(seed), EVEN, arguments.seconds)
    if arguments.only != "random":
        for name, graph in small_nets().items():
            ratios += compare(name, graph, PAPER_MACHINE, arguments.seconds)
    within = sum(ratio <= 1.05 for ratio in ratios)
    print(
        f"{len(ratios)} plans: {within} within 1.05 of the optimum's added work, worst {max(ratios):.3f}, "
        f"mean {sum(ratios) / len(ratios):.3f}; no larger budget gave a slower plan"
    )


if __name__ == "__main__":
    main()
