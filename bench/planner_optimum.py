"""The planner against the optimum, computed by SciPy's MILP solver, and its plans over many budgets.

    python bench/planner_optimum.py [--graphs 0-29] [--only random|nets] [--seconds 40]

Both sides have the same cost model and the same freedom: at every backward step any forward step may run again, in
the order of the forward pass and each at most once, any tensor that was copied to the host may be fetched, and any
tensor may be dropped after any of these, as often as wanted. `Bound` counts from below what a chain of
recomputations holds and is quick; where a plan does not reach it, `Optimum` has a variable for every tensor at every
moment and gives the optimum itself, or within its time a bound of it, which is printed with '>='.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

from planner_programmes import optimum

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


def compare(name: str, graph: StepGraph, machine: Machine, seconds: float) -> list[float]:
    """Print plans against the optimum at three budgets; the ratios of added work."""
    planner = Planner(graph, machine=machine, host=PLENTY)
    low, high = planner.smallest, planner.trials[0].peak
    ratios = []
    for part in (0.0, 0.35, 0.7):
        budget = int(low + (high - low) * part)
        plan = planner.plan(budget)
        start = time.perf_counter()
        best, proven = optimum(graph, machine, budget, plan.trial.added, seconds)
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
    parser.add_argument("--graphs", default="0-29", help="seeds of the random graphs, first and last")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--only", choices=["random", "nets"])
    parser.add_argument("--net", default="", help="real nets whose name has this in it")
    arguments = parser.parse_args()
    ratios: list[float] = []
    if arguments.only != "nets":
        first, last = map(int, arguments.graphs.split("-"))
        for seed in range(first, last + 1):
            ratios += compare(f"random {seed}", random_graph(seed), EVEN, arguments.seconds)
    if arguments.only != "random":
        for name, graph in small_nets().items():
            if arguments.net not in name:
                continue
            ratios += compare(name, graph, PAPER_MACHINE, arguments.seconds)
    within = sum(ratio <= 1.05 for ratio in ratios)
    print(
        f"{len(ratios)} plans: {within} within 1.05 of the optimum's added work, worst {max(ratios):.3f}, "
        f"median {statistics.median(ratios):.3f}, mean {sum(ratios) / len(ratios):.3f}; "
        "no larger budget gave a slower plan"
    )


if __name__ == "__main__":
    main()
