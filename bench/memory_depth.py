"""The deepest residual network that trains under a hard memory limit: plain Keras, and `sknc.fit_in_memory`.

    python bench/memory_depth.py [--limit MIB] [--most BLOCKS] [--how plain ours ...]

Blocks are convolution, batch norm, ReLU and addition at 32 channels, 32x32, batch 32: one activation is 4 MiB.
Each depth is tried in a process of its own under TF_CPU_BFC_MEM_LIMIT_IN_MB: three steps of SGD have to end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

BATCH, SIDE, WIDTH, STEPS = 32, 32, 32, 3


def network(blocks: int, side: int = SIDE) -> Any:
    """Returns the network."""
    import keras
    from keras import layers

    x = inputs = keras.Input((side, side, 3))
    x = layers.Conv2D(WIDTH, 3, padding="same")(x)
    for _ in range(blocks):
        y = layers.Conv2D(WIDTH, 3, padding="same", use_bias=False)(x)
        x = layers.Add()([x, layers.ReLU()(layers.BatchNormalization()(y))])
    outputs = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, outputs)


def train(how: str, limit: int, blocks: int) -> dict[str, Any]:
    """Trains in this process; returns what it took."""
    import numpy as np
    import tensorflow as tf

    import sknc
    from sknc.runtime.memory import plan_of

    model = network(blocks)
    model.compile("sgd", "sparse_categorical_crossentropy", jit_compile=False)
    start = time.perf_counter()
    if how != "plain":
        model = sknc.fit_in_memory(model, limit * 2**20, batch_size=BATCH, spill=how == "ours")
    planning = time.perf_counter() - start
    x = np.random.default_rng(0).normal(size=(BATCH, SIDE, SIDE, 3)).astype("float32")
    y = np.arange(BATCH) % 10
    model.train_on_batch(x, y)
    start = time.perf_counter()
    for _ in range(STEPS - 1):
        model.train_on_batch(x, y)
    plan = plan_of(model)
    return {
        "seconds_a_step": round((time.perf_counter() - start) / (STEPS - 1), 2),
        "planning_seconds": round(planning, 1),
        "peak_bytes": tf.config.experimental.get_memory_info("CPU:0")["peak"],
        "planned_bytes": plan.predicted_peak if plan else None,
        "spilled_bytes": plan.spilled_bytes if plan else 0,
    }


def limited(limit: int) -> dict[str, str]:
    """Returns the environment of a process under a hard limit.

    Args:
        limit: MiB.
    """
    return {
        **os.environ,
        "TF_CPU_ALLOCATOR_USE_BFC": "1",
        "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(limit),
        # The same kernels on every CPU, and an allocator with statistics.
        "TF_ENABLE_ONEDNN_OPTS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
    }


def attempt(how: str, limit: int, blocks: int) -> dict[str, Any] | None:
    """Trains in a process of its own; None where that fails."""
    environment = limited(limit)
    command = [sys.executable, __file__, "--child", how, str(limit), str(blocks)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    found: dict[str, Any] | None = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
    print(f"{how:10} {blocks:5} blocks: {found if found else 'does not train'}", flush=True)
    return found


def largest(works: Callable[[int], bool], start: int, most: int, part: int = 8) -> int:
    """Looks for the largest number that works, to a part of it.

    Args:
        works: tries a number; larger ones are taken to work less.
        start: the first one that is tried.
        most: none above is.
        part: it stops when what works and what does not are within this part of the number.

    Returns:
        The number; 0 for none.
    """
    good, bad = 0, None
    number = min(start, most)
    while bad is None or bad - good > max(1, good // part):
        if works(number):
            good = number
        else:
            bad = number
        if bad is None and good >= most:
            break
        number = min(most, good * 2) if bad is None else (good + bad) // 2
    return good


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--most", type=int, default=500)
    parser.add_argument("--how", nargs="+", default=["plain", "recompute", "ours"], help="recompute: without the disk")
    parser.add_argument("--child", nargs=3)
    arguments = parser.parse_args()
    if arguments.child:
        how, limit, blocks = arguments.child
        print(json.dumps(train(how, int(limit), int(blocks))))
        return
    found = {
        how: largest(lambda blocks, how=how: attempt(how, arguments.limit, blocks) is not None, 10, arguments.most)
        for how in arguments.how
    }
    for how, blocks in found.items():
        reached = "at least " if blocks >= arguments.most else ""
        times = f", {blocks / found['plain']:.1f} times plain Keras" if found.get("plain") else ""
        print(f"{how}: {reached}{blocks} blocks in {arguments.limit} MiB{times}")


if __name__ == "__main__":
    main()
