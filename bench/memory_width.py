"""The widest batch that trains under a hard memory limit: plain Keras, and `sknc.fit_in_memory`.

    python bench/memory_width.py [NET ...] [--limit MIB] [--most SAMPLES] [--to PART]

Nets are names of keras.applications at 64x64, or the least that the net takes. Each batch size is tried in a process
of its own under TF_CPU_BFC_MEM_LIMIT_IN_MB: three steps of SGD have to end. The widest one is found to an eighth of
it, ours to an eighth or the PARTth of it: each try plans anew.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from functools import partial
from typing import Any

import memory_budgets
import memory_depth

STEPS = 3
NETS = "MobileNetV2 ResNet50 DenseNet121 EfficientNetB0 InceptionV3".split()


def train(how: str, name: str, limit: int, batch: int) -> dict[str, Any]:
    """Trains in this process; returns what it took."""
    import numpy as np
    import tensorflow as tf

    import sknc

    model = memory_budgets.compiled(name, "sgd")
    start = time.perf_counter()
    if how != "plain":
        model = sknc.fit_in_memory(model, limit * 2**20, batch_size=batch)
    planning = time.perf_counter() - start
    side = memory_budgets.side_of(name)
    x = np.random.default_rng(0).normal(size=(batch, side, side, 3)).astype("float32")
    y = np.arange(batch) % 10
    start = time.perf_counter()
    for _ in range(STEPS):
        model.train_on_batch(x, y)
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "planning_seconds": round(planning, 1),
        "peak_bytes": tf.config.experimental.get_memory_info("CPU:0")["peak"],
    }


def attempt(how: str, name: str, limit: int, batch: int) -> bool:
    """Trains in a process of its own; whether that ends."""
    command = [sys.executable, __file__, "--child", how, name, str(limit), str(batch)]
    done = subprocess.run(command, env=memory_depth.limited(limit), capture_output=True, text=True, check=False)
    found = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else "does not train"
    print(f"{name:16} {how:6} {batch:5} samples: {found}", flush=True)
    return done.returncode == 0


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("nets", nargs="*", default=NETS)
    parser.add_argument("--limit", type=int, default=400)
    parser.add_argument("--most", type=int, default=2048)
    parser.add_argument("--to", type=int, default=8, help="ours is found to this part of it")
    parser.add_argument("--child", nargs=4)
    arguments = parser.parse_args()
    if arguments.child:
        how, name, limit, batch = arguments.child
        print(json.dumps(train(how, name, int(limit), int(batch))))
        return
    rows = ["| network | plain Keras | ours | ratio |", "|---|--:|--:|--:|"]
    for name in arguments.nets:
        plain = memory_depth.largest(partial(attempt, "plain", name, arguments.limit), 8, arguments.most)
        ours = memory_depth.largest(
            partial(attempt, "ours", name, arguments.limit), 2 * plain or 8, arguments.most, arguments.to
        )
        rows.append(f"| {name} | {plain} | {ours} | {f'{ours / plain:.2f}' if plain else ''} |")
        print(rows[-1], flush=True)
    print("\n".join(rows))


if __name__ == "__main__":
    main()
