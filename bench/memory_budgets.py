"""Hard memory budgets, from the smallest feasible one to what plain Keras needs: planned, measured, and how slow.

    python bench/memory_budgets.py [NET ...] [--budgets 10] [--jobs 2] [--folder plans]    peaks and failures
    python bench/memory_budgets.py [NET ...] --times [--unlimited] [--parts 4 10]          step times
    python bench/memory_budgets.py [NET ...] --plan [--jobs 2] [--folder plans]            the plans for both, alone

Nets are `residual40` (40 blocks of convolution, batch norm, ReLU and addition; batch 32), `residualN`, and names of
keras.applications (batch 16, 64x64 or the least that the net takes), each with `@SIDExBATCH` behind it for another
size. One process plans all budgets of a net and writes the plans, which are not made again; each plan is obeyed by a
process of its own under TF_CPU_BFC_MEM_LIMIT_IN_MB: the budget and nothing more. `activations` is the measured peak
less what was held before the step, `cpu_ratio` the processor seconds of a step against plain Keras's without a limit.

With --times one process at a time trains plain Keras, our plans for a 4th and a 10th of what its activations are
predicted to be, tf.recompute_grad at sqrt(n) segments, and keras.RematScope; where a part is infeasible, the smallest
plan there is.
--unlimited plans and trains with TensorFlow's own settings: there a budget is for what is held, not for holes as well.
`cpu` is processor seconds a step, which other load disturbs less than `seconds`.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import memory_depth

from sknc.runtime.memory.opgraph import Op, OpGraph
from sknc.runtime.memory.tfrules import IN_PLACE, SHARING

WARM, STEPS = 2, 10
ROOM = 400_000  # MiB: no limit
NONE = 0  # TensorFlow's own allocator
LEAST = {"InceptionV3": 75, "InceptionResNetV2": 75, "Xception": 71}
NETS = "MobileNetV2 ResNet50 VGG16 DenseNet121 EfficientNetB0 InceptionV3 Xception ResNet50V2".split()


def side_of(name: str) -> int:
    """Returns the side of a network's images."""
    if "@" in name:
        return int(name.partition("@")[2].partition("x")[0])
    return 32 if name.startswith("residual") else LEAST.get(name, 64)


def batch_of(name: str) -> int:
    """Returns the samples in a batch."""
    if "@" in name:
        return int(name.rpartition("x")[2])
    return 32 if name.startswith("residual") else 16


def network(name: str) -> Any:
    """Returns an untrained network."""
    import keras

    if name.startswith("residual"):
        return memory_depth.network(int(name.removeprefix("residual").partition("@")[0]), side_of(name))
    return getattr(keras.applications, name.partition("@")[0])(
        weights=None, input_shape=(side_of(name), side_of(name), 3), classes=10
    )


def compiled(name: str, optimizer: str, how: str = "plain") -> Any:
    """Returns a network that is ready to train."""
    import keras

    keras.utils.set_random_seed(0)
    if how.startswith("remat:"):
        with keras.RematScope(mode=how.partition(":")[2]):
            model = network(name)
    else:
        model = network(name)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model


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


def floor(graph: OpGraph) -> int:
    """What one operation reads and makes at most, weights and the batch left out: no plan's activations are less."""
    buffer: dict[int, int] = {}
    for op in graph.ops:
        if op.type in SHARING and op.reads:
            buffer |= {tensor: buffer.get(op.reads[0], op.reads[0]) for tensor in op.makes}

    def needed(op: Op) -> int:
        made = () if op.type in IN_PLACE or op.type in SHARING else op.makes
        tensors = {buffer.get(tensor, tensor) for tensor in (*op.reads, *made)} - graph.held
        return sum(graph.sizes[tensor] for tensor in tensors) + sum(op.scratch)

    return max(needed(op) for op in graph.ops)


def plan(name: str, optimizer: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """Plans in this process: `count` budgets from the smallest to plain Keras's, and fractions of its activations."""
    from sknc.runtime.memory.errors import InfeasibleBudget
    from sknc.runtime.memory.execute.choose import Chooser
    from sknc.runtime.memory.execute.flatten import flatten
    from sknc.runtime.memory.execute.predicting import Predictor

    model = compiled(name, optimizer)
    graph = flatten(model)
    assert graph is not None
    start = time.perf_counter()
    chooser = Chooser(graph, Predictor(model, batch_of(name), model.optimizer))
    found: dict[str, Any] = {"net": name, "layers": len(graph.steps), "profile": round(time.perf_counter() - start, 1)}
    base, plain = chooser.profile.base, chooser.plain
    try:
        chooser.choose(1)
        smallest = 1
    except InfeasibleBudget as error:
        smallest = error.smallest
    found |= {"smallest_seconds": round(time.perf_counter() - start, 1), "plain": plain, "base": base}
    found["floor"] = floor(chooser.profile.graph)

    def made(budget: int) -> dict[str, Any]:
        start = time.perf_counter()
        row: dict[str, Any] = {"budget": budget}
        try:
            chosen = chooser.choose(budget)
            path = Path(wanted["folder"]) / f"{wanted['file']}-{budget}.json"
            path.write_text(json.dumps(chosen.as_json(), indent=1) + "\n", encoding="utf-8")
            row |= {"plan": str(path), "planned": chosen.predicted_peak}
        except InfeasibleBudget as error:
            row |= {"infeasible": error.smallest}
        return row | {"planning": round(time.perf_counter() - start, 1)}

    count = wanted["count"]
    places = [place / max(1, count - 1) for place in range(count)]
    # Whole MiB, as the allocator's limit is given so.
    budgets = [-(-int(smallest + (1.05 * plain - smallest) * place) // 2**20) * 2**20 for place in places]
    found["parts"] = [made(int(base + (plain - base) / part)) for part in wanted["parts"]]
    found["plans"] = [made(budget) for budget in budgets]
    return found


def planned(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Plans in a process of its own, once: what was found is kept beside the plans."""
    file = f"{name}-{arguments.optimizer}{'-unlimited' if arguments.unlimited else ''}"
    path = arguments.folder / f"{file}.json"
    wanted = {"count": arguments.budgets, "parts": arguments.parts, "folder": str(arguments.folder), "file": file}
    if path.is_file():
        known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if known["wanted"] == wanted:
            return known["found"]  # type: ignore[no-any-return]
    found = child("plan", name, arguments.optimizer, wanted, room(arguments))
    show(**{key: value for key, value in found.items() if key not in ("plans", "parts")})
    if "failed" not in found:
        path.write_text(json.dumps({"wanted": wanted, "found": found}) + "\n", encoding="utf-8")
    return found


def train(name: str, optimizer: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """Trains in this process; returns what it held and took."""
    import numpy as np
    import tensorflow as tf

    import sknc

    model = compiled(name, optimizer, wanted["how"])
    batch, side = batch_of(name), side_of(name)
    if "plan" in wanted:
        model = sknc.fit_in_memory(model, wanted["budget"], batch_size=batch, plan=wanted["plan"])
    elif wanted["how"] == "recompute_grad":
        recompute_grad(model)
    x = np.random.default_rng(0).normal(size=(batch, side, side, 3)).astype("float32")
    y = np.arange(batch) % 10
    info = tf.config.experimental.get_memory_info
    for _ in range(WARM):
        model.train_on_batch(x, y)
    before = info("CPU:0")["current"]
    tf.config.experimental.reset_memory_stats("CPU:0")
    seconds = []
    busy = time.process_time()
    for _ in range(STEPS):
        start = time.perf_counter()
        model.train_on_batch(x, y)
        seconds.append(time.perf_counter() - start)
    busy = (time.process_time() - busy) / STEPS
    peak = info("CPU:0")["peak"]
    median = round(statistics.median(seconds), 3)
    return {"peak": peak, "activations": peak - before, "seconds": median, "cpu": round(busy, 3)}


def child(what: str, name: str, optimizer: str, wanted: dict[str, Any], limit: int = ROOM) -> dict[str, Any]:
    """Runs a function in a process of its own."""
    environment = memory_depth.limited(limit)
    if limit == NONE:
        del environment["TF_CPU_ALLOCATOR_USE_BFC"], environment["TF_CPU_BFC_MEM_LIMIT_IN_MB"]
    command = [sys.executable, __file__, "--child", what, name, optimizer, json.dumps(wanted)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found
    lines = [line for line in done.stderr.splitlines() if "Error" in line]
    return {"failed": lines[-1][:160] if lines else f"status {done.returncode}"}


def show(**row: Any) -> None:
    """Prints a row."""
    print(json.dumps(row), flush=True)


def room(arguments: argparse.Namespace) -> int:
    """Returns the limit for what is not to be held up by one."""
    return NONE if arguments.unlimited else ROOM


def sweep(name: str, arguments: argparse.Namespace) -> tuple[int, int, int]:
    """Trains each plan under its budget; returns how many there were, failed, and held more than their budget."""
    optimizer = arguments.optimizer
    found = planned(name, arguments)
    if "failed" in found:
        show(net=name, **found)
        return arguments.budgets, arguments.budgets, 0
    plans = found["plans"]
    plain = child("train", name, optimizer, {"how": "plain"})
    show(net=name, how="plain", **plain)

    def obeyed(row: dict[str, Any]) -> dict[str, Any]:
        if "plan" not in row:
            return row
        wanted = {"how": "ours", "plan": row["plan"], "budget": row["budget"]}
        row |= child("train", name, optimizer, wanted, row["budget"] // 2**20)
        ratios = {key: round(row[key] / plain[key], 3) for key in ("cpu", "seconds") if key in row and key in plain}
        return row | {f"{key}_ratio": ratio for key, ratio in ratios.items()}

    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(obeyed, plans))
    for row in rows:
        show(net=name, **{key: value for key, value in row.items() if key not in ("seconds", "cpu")})
    # Every budget is at least the smallest one, so that one that is called infeasible has failed.
    failed = sum("peak" not in row for row in rows)
    above = sum(row.get("peak", 0) > row["budget"] for row in rows)
    return len(rows), failed, above


def times(name: str, arguments: argparse.Namespace) -> dict[float, tuple[float, float]]:
    """Measures step times, one process at a time; returns activations and time against plain Keras for each part."""
    optimizer, parts = arguments.optimizer, arguments.parts
    chosen = planned(name, arguments)
    limit = room(arguments)
    plain = child("train", name, optimizer, {"how": "plain"}, limit)
    show(net=name, how="plain", **plain)
    result: dict[float, tuple[float, float]] = {}

    def against(how: str, found: dict[str, Any], **more: Any) -> tuple[float, float] | None:
        ratios = None
        if "peak" in found and "peak" in plain:
            ratios = plain["activations"] / max(1, found["activations"]), found["cpu"] / plain["cpu"]
            more |= {"activations_ratio": round(ratios[0], 2), "cpu_ratio": round(ratios[1], 3)}
            more["time_ratio"] = round(found["seconds"] / plain["seconds"], 3)
        show(net=name, how=how, **found, **more)
        return ratios

    smallest_done = False
    for part, planned_row in zip(parts, chosen.get("parts", []), strict=False):
        how, row = f"ours at 1/{part:g}", planned_row
        if "plan" not in row:
            show(net=name, how=how, **row)
            if smallest_done:
                continue
            how, smallest_done = "ours, the smallest there is", True
            row = next((one for one in chosen["plans"] if "plan" in one), None)
            if row is None:
                continue
        wanted = {"how": "ours", "plan": row["plan"], "budget": row["budget"]}
        found = against(how, child("train", name, optimizer, wanted, limit), planned=row["planned"])
        if found:
            result[part] = found
    for how in ("recompute_grad", "remat:full", "remat:activations"):
        against(how, child("train", name, optimizer, {"how": how}, limit))
    return result


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("nets", nargs="*", default=["residual40", *NETS])
    parser.add_argument("--budgets", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--unlimited", action="store_true")
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--parts", type=float, nargs="*", default=[4, 10])
    parser.add_argument("--folder", type=Path, default=Path("plans"))
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--child", nargs=4)
    arguments = parser.parse_args()
    if arguments.child:
        what, name, optimizer, wanted = arguments.child
        print(json.dumps({"plan": plan, "train": train}[what](name, optimizer, json.loads(wanted))))
        return
    if arguments.budgets < 1 or (arguments.unlimited and not (arguments.times or arguments.plan)):
        parser.error("at least one budget, and hard ones without --unlimited")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.plan:
        with ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(lambda net: planned(net, arguments), arguments.nets))
        return
    if not arguments.times:
        rows = [sweep(net, arguments) for net in arguments.nets]
        plans, failed, above = (sum(column) for column in zip(*rows, strict=True))
        print(f"{plans} plans: {failed} failed, {above} held more than their budget")
        return
    found = [times(net, arguments) for net in arguments.nets]
    for part in arguments.parts:
        pairs = [row[part] for row in found if part in row]
        if pairs:
            activations, ratio = (statistics.geometric_mean(column) for column in zip(*pairs, strict=True))
            print(
                f"1/{part:g}, or the smallest plan: {len(pairs)} nets, activations /{activations:.2f} "
                f"at {ratio:.3f} times the processor time"
            )


if __name__ == "__main__":
    main()
