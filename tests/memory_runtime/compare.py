"""A process that trains each network twice, plainly and in pieces, and prints where they differ.

It is a process of its own because deterministic operations cannot be switched off again.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from sknc.runtime.memory.execute.flatten import Step, flatten
from sknc.runtime.memory.execute.host import HostPool
from sknc.runtime.memory.execute.plans import MOVING
from sknc.runtime.memory.execute.runner import Runner
from sknc.runtime.memory.execute.spill import DiskPool
from tests.memory_runtime.nets import NETS

STEPS = 5
# How often each step of a flat graph was run, by its identity.
RUNS: Counter[int] = Counter()


class Recording(keras.optimizers.SGD):
    """Momentum that remembers the last gradients."""

    def build(self, variables: Any) -> None:
        super().build(variables)
        self.seen = [tf.Variable(tf.zeros(v.shape, v.dtype), trainable=False) for v in variables]

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        self.seen[self._get_variable_index(variable)].assign(tf.convert_to_tensor(gradient))
        super().update_step(gradient, variable, learning_rate)


def count_runs() -> None:
    """Counts from now on how often each step is run."""
    run = Step.run

    def counting(step: Step, values: Any, given: Any) -> None:
        RUNS[id(step)] += 1
        run(step, values, given)

    Step.run = counting  # type: ignore[method-assign]


def in_pieces(model: Any, mode: str, pools: Any) -> list[int]:
    """Makes a model run in segments of three steps, all but the last one as the mode says; the segments' sizes."""
    # Steps of the networks before are gone, and others may have their identities.
    RUNS.clear()
    ahead = mode.endswith("+")
    mode = mode.removesuffix("+")
    graph = flatten(model)
    assert graph is not None
    count = len(graph.steps)
    sizes = [3] * (count // 3) + ([count % 3] if count % 3 else [])
    parts = kept = None
    if mode == "kept":
        mode, kept = "recompute", [range(size) for size in sizes]
    if mode == "nested":
        mode, sizes = "recompute", [5] * (count // 5) + ([count % 5] if count % 5 else [])
        parts = [(2, 2, 1) if size == 5 else () for size in sizes]
    used = {mode: pools[mode]} if mode in MOVING else None
    model.call = Runner(graph, sizes, [mode] * (len(sizes) - 1) + ["keep"], used, parts, kept, ahead)
    return sizes


def run_again(model: Any, sizes: list[int]) -> int:
    """Counts the steps that were run more often than those of the last segment, which is kept."""
    counts = [RUNS[id(step)] for step in model.call.graph.steps]
    once = min(counts[-sizes[-1] :])
    assert once, "the last segment was run"
    return sum(count > once for count in counts)


def moved(pools: Any) -> int:
    """Counts the bytes that were put away and fetched so far."""
    return sum(pool.counts.moved().bytes for pool in (pools or {}).values())


def trained(name: str, mode: str, pools: Any) -> dict[str, Any]:
    """Trains a network and returns everything that training left behind."""
    keras.utils.set_random_seed(7)
    model, x, y, loss = NETS[name]()
    before, sizes = moved(pools), in_pieces(model, mode, pools) if mode != "plain" else []
    optimizer = Recording(0.05, momentum=0.9)
    model.compile(optimizer, loss, jit_compile=False)
    gradients, losses = [], []
    for _ in range(STEPS):
        losses.append(np.asarray(model.train_on_batch(x, y), dtype="float64").reshape(-1)[0])
        gradients.append([np.asarray(tf.cast(seen, "float32")) for seen in optimizer.seen])
    metrics = [v.numpy() for layer in model._flatten_layers(include_self=False) for v in layer.metrics_variables]
    return {
        "segments": len(sizes),
        "again": run_again(model, sizes) if sizes else 0,
        "bytes": moved(pools) - before,
        "losses": losses,
        "gradients": [value for row in gradients for value in row],
        "weights": [np.asarray(v.numpy(), dtype="float32") for v in model.trainable_variables],
        "state": [np.asarray(v.numpy(), dtype="float64") for v in model.non_trainable_variables] + metrics,
    }


def largest(one: list[Any], two: list[Any]) -> float:
    """Returns the largest difference between two lists of arrays."""
    assert len(one) == len(two)
    return max((float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(one, two, strict=True)), default=0.0)


def main(names: list[str]) -> None:
    """Prints one line of JSON for each network."""
    tf.config.experimental.enable_op_determinism()
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    count_runs()
    pools = {"spill": DiskPool(), "offload": HostPool("/device:CPU:1")}
    for number, name in enumerate(names):
        plain = trained(name, "plain", None)
        # Some from the disk and the host as well ("+": fetched ahead), some part by part or with kept outputs: a
        # run costs seconds.
        more = {0: ["spill"], 1: ["nested", "offload+"], 2: ["spill+", "kept"], 3: ["offload", "kept"]}
        for mode in ("recompute", *more[number % 4]):
            ours = trained(name, mode, pools)
            gradient = float(max(np.max(np.abs(g)) for g in plain["gradients"]))
            counted = ("segments", "again", "bytes")
            differences = {key: largest(plain[key], ours[key]) for key in plain if key not in counted}
            row = {"net": name, "mode": mode, "gradient": gradient, **{key: ours[key] for key in counted}}
            print(json.dumps({**row, **differences}))


if __name__ == "__main__":
    main(sys.argv[1:] or list(NETS))
