"""Hard memory budgets, from the smallest feasible one to what plain Keras needs: planned, measured, and how slow.

    python bench/memory_budgets.py [NET ...] [--budgets N] [--optimizer adam] [--batch 16] [--side 64]

Nets are `residual40` (40 blocks of convolution, batch norm, ReLU and addition) and names of keras.applications.
Each row is a process of its own under TF_CPU_BFC_MEM_LIMIT_IN_MB: the budget and nothing more. Plain Keras,
tf.recompute_grad at sqrt(n) segments and keras.RematScope stand beside it, without a limit. `activations` is the
measured peak less what was held before the step.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from typing import Any

STEPS = 10
ROOM = 400_000  # MiB: no limit


def network(name: str, side: int) -> Any:
    """Returns an untrained network."""
    import keras

    if name == "residual40":
        from memory_depth import network as residual

        return residual(40)
    return getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3), classes=10)


def recompute_grad(model: Any) -> None:
    """Makes a model run in sqrt(n) segments under TensorFlow's own tf.recompute_grad."""
    import tensorflow as tf

    from sknc.runtime.memory.execute import runner
    from sknc.runtime.memory.execute.flatten import flatten

    def run(segment: Any, values: dict[int, Any], context: Any, _: Any) -> None:
        def body(*tensors: Any) -> Any:
            local = dict(zip(segment.reads, tensors, strict=True))
            for step in segment.steps:
                step.run(local, context)
            return [local[key] for key in segment.makes]

        results = tf.recompute_grad(body)(*(values[key] for key in segment.reads))
        values.update(zip(segment.makes, results, strict=True))

    graph = flatten(model)
    assert graph is not None
    count = len(graph.steps)
    size = math.ceil(count / math.isqrt(count))
    sizes = [min(size, count - start) for start in range(0, count, size)]
    runner.run_recomputed = run
    model.call = runner.Runner(graph, sizes, ["recompute"] * len(sizes))


def train(name: str, how: str, budget: int, given: dict[str, Any]) -> dict[str, Any]:
    """Trains in this process; returns what it held and took."""
    import keras
    import numpy as np
    import tensorflow as tf

    import sknc
    from sknc.runtime.memory import plan_of
    from sknc.runtime.memory.errors import InfeasibleBudget

    keras.utils.set_random_seed(0)
    side = 32 if name == "residual40" else given["side"]
    if how.startswith("remat:"):
        with keras.RematScope(mode=how.partition(":")[2]):
            model = network(name, side)
    else:
        model = network(name, side)
    model.compile(given["optimizer"], "sparse_categorical_crossentropy", jit_compile=False)
    batch = given["batch"]
    if how == "ours":
        try:
            model = sknc.fit_in_memory(model, budget, batch_size=batch)
        except InfeasibleBudget as error:
            return {"smallest": error.smallest}
    elif how == "recompute_grad":
        recompute_grad(model)
    x = np.random.default_rng(0).normal(size=(batch, side, side, 3)).astype("float32")
    y = np.arange(batch) % 10
    info = tf.config.experimental.get_memory_info
    for _ in range(2):
        model.train_on_batch(x, y)
    before = info("CPU:0")["current"]
    tf.config.experimental.reset_memory_stats("CPU:0")
    start = time.perf_counter()
    for _ in range(STEPS):
        model.train_on_batch(x, y)
    seconds = (time.perf_counter() - start) / STEPS
    peak, plan = info("CPU:0")["peak"], plan_of(model)
    result = {"peak": peak, "activations": peak - before, "seconds": round(seconds, 3)}
    if plan is not None:
        result |= {"planned": plan.predicted_peak, "baseline": plan.baseline_peak, "spilled": plan.spilled_bytes}
    return result


def attempt(name: str, how: str, budget: int, given: dict[str, Any], limit: int | None = None) -> dict[str, Any]:
    """Trains in a process of its own."""
    environment = {
        **os.environ,
        "TF_CPU_ALLOCATOR_USE_BFC": "1",
        "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(limit or ROOM),
        # The same kernels on every CPU, and an allocator with statistics.
        "TF_ENABLE_ONEDNN_OPTS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    command = [sys.executable, __file__, "--child", name, how, str(budget), json.dumps(given)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found
    lines = [line for line in done.stderr.splitlines() if "Error" in line]
    return {"failed": lines[-1][:160] if lines else f"status {done.returncode}"}


def compare(name: str, count: int, given: dict[str, Any]) -> None:
    """Prints one line for each way and each budget."""

    def row(how: str, found: dict[str, Any], plain: dict[str, Any] | None = None) -> None:
        more = {}
        if plain and "peak" in found:
            more["activations_ratio"] = round(plain["activations"] / max(1, found["activations"]), 2)
            more["time_ratio"] = round(found["seconds"] / plain["seconds"], 2)
        print(json.dumps({"net": name, "how": how, **found, **more}), flush=True)

    plain = attempt(name, "plain", 0, given)
    row("plain", plain)
    if "peak" not in plain:
        return
    for how in ("recompute_grad", "remat:full", "remat:activations"):
        row(how, attempt(name, how, 0, given), plain)
    smallest = attempt(name, "ours", 1, given)["smallest"]
    top = int(plain["peak"] * 1.05)
    for place in range(count):
        # Whole MiB, as the allocator's limit is given so.
        limit = -(-int(smallest + (top - smallest) * place / max(1, count - 1)) // 2**20)
        row(f"ours in {limit} MiB", attempt(name, "ours", limit * 2**20, given, limit), plain)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("nets", nargs="*", default=["residual40", "MobileNetV2", "VGG16"])
    parser.add_argument("--budgets", type=int, default=4)
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--child", nargs=4)
    arguments = parser.parse_args()
    if arguments.child:
        name, how, budget, given = arguments.child
        print(json.dumps(train(name, how, int(budget), json.loads(given))))
        return
    for name in arguments.nets:
        given = {"optimizer": arguments.optimizer, "batch": arguments.batch, "side": arguments.side}
        compare(name, arguments.budgets, given)


if __name__ == "__main__":
    main()
