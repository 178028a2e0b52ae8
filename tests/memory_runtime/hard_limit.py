"""A process with a hard memory limit that trains a residual net: `hard_limit.py plain|ours LIMIT_MIB BLOCKS`."""

from __future__ import annotations

import json
import sys
from typing import Any

import sknc
from sknc.runtime.memory.execute.configure import configure


def main(how: str, limit: int, blocks: int) -> dict[str, Any]:
    """Trains three steps and returns what became of it."""
    made = configure(memory_limit=limit * 2**20)
    import keras
    import numpy as np
    import tensorflow as tf

    from sknc.runtime.memory.execute.keeper import plan_of
    from tests.memory_runtime.nets import residual

    keras.utils.set_random_seed(0)
    model = residual(blocks, width=32, side=32)
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=False)
    if how == "ours":
        model = sknc.fit_in_memory(model, limit * 2**20, batch_size=32)
    x = np.random.default_rng(0).normal(size=(32, 32, 32, 3)).astype("float32")
    y = np.arange(32) % 4
    try:
        losses = [float(model.train_on_batch(x, y)) for _ in range(3)]
    except tf.errors.ResourceExhaustedError as error:
        return {"failed": type(error).__name__, "made": made}
    plan = plan_of(model)
    peak = tf.config.experimental.get_memory_info("CPU:0")["peak"]
    return {"losses": losses, "peak": peak, "planned": plan.predicted_peak if plan else None, "made": made}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
