"""How long planning takes and what it holds: chains of layers, ResNet152, the tensor cache over batch sizes.

python bench/planner_scale.py
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from sknc.runtime.memory.accounting import unroll
from sknc.runtime.memory.analysis import apply_techniques
from sknc.runtime.memory.cache import cached_moves
from sknc.runtime.memory.network import Layer, Network
from sknc.runtime.memory.papernets import paper_network
from sknc.runtime.memory.planner import Planner

GIB = 2**30
DEVICE = 7 * GIB
PLENTY = 1 << 50
TYPES = ("CONV", "BN", "ACT", "POOL")


def chain(length: int) -> Network:
    """A chain of layers of four types."""
    names = [f"l{number}" for number in range(length)]
    layers = [
        Layer(name, TYPES[number % 4], (names[number - 1],) if number else (), 1000 + number % 7, flops=9000)
        for number, name in enumerate(names)
    ]
    return Network("chain", 1000, tuple(layers))


def one(name: str) -> None:
    """Plan one network in this process and print what it took."""
    network = chain(int(name)) if name.isdigit() else paper_network(name)
    start = time.perf_counter()
    graph = unroll(network, 32)
    apply_techniques(graph, frozenset({"CONV"}))
    walked = time.perf_counter() - start
    Planner(graph, host=PLENTY)
    planned = time.perf_counter() - start
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {name} | {len(graph.nodes)} | {walked:.2f} | {planned:.2f} | {resident:.0f} |", flush=True)


def main() -> None:
    """Print both tables."""
    if len(sys.argv) > 1:
        one(sys.argv[1])
        return
    print(
        "| network | layers | techniques, s | with the planner, s | resident, MiB |\n|---|---|---|---|---|", flush=True
    )
    for name in ("1000", "3000", "10000", "resnet152"):
        subprocess.run([sys.executable, __file__, name], check=True)
    print("\n| batch | liveness peak, GiB | moved with a 7 GiB device, GiB | evictions |\n|---|---|---|---|")
    for batch in (256, 384, 512, 640, 896, 962, 963, 1024):
        graph = unroll(paper_network("alexnet"), batch)
        found = cached_moves(graph, DEVICE)
        peak = cached_moves(graph, PLENTY).peak
        print(f"| {batch} | {peak / GIB:.2f} | {found.moved / GIB:.2f} | {found.evictions} |")


if __name__ == "__main__":
    main()
