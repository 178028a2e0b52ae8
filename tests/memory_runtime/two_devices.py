"""A process with two logical CPU devices: the model trains on the first, the second one's memory is the host pool."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from sknc.runtime.memory.execute.keeper import fit_in_memory, moved_by, plan_of
from tests.memory_runtime.nets import residual

MIB = 2**20
BATCH = 16
CROSS = "sparse_categorical_crossentropy"


def network() -> Any:
    """Convolutions, batch norm and dropout; an activation is 1 MiB."""
    keras.utils.set_random_seed(3)
    inner = residual(blocks=4, width=16, side=32)
    outputs = keras.layers.Dense(4, activation="softmax")(keras.layers.Dropout(0.3)(inner.output))
    return keras.Model(inner.inputs, outputs)


def optimised(model: Any, x: Any, y: Any) -> list[Any]:
    """The operations of one step as TensorFlow runs them, once its graph optimiser is through."""
    context = importlib.import_module("tensorflow.python.eager.context")
    context.enable_run_metadata()
    model.make_train_function(force=True)
    model.train_on_batch(x, y)
    found = context.export_run_metadata()
    context.disable_run_metadata()
    return [node for graphs in found.function_graphs for part in graphs.partition_graphs for node in part.node]


def main(**options: Any) -> dict[str, Any]:
    """Trains plainly and with a host pool; returns what differs, and where operations were."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    tf.config.experimental.enable_op_determinism()
    x = np.random.default_rng(0).normal(size=(2 * BATCH, 32, 32, 3)).astype("float32")
    y = np.arange(2 * BATCH) % 4
    weights = []
    for budget in (None, options.pop("budget")):
        model = network()
        model.compile(keras.optimizers.SGD(0.05, momentum=0.9), CROSS, jit_compile=False)
        if budget is not None:
            model = fit_in_memory(model, budget, BATCH, host="CPU:1", **options)
        losses = [float(model.train_on_batch(x[:BATCH], y[:BATCH])) for _ in range(2)]
        weights.append([np.asarray(losses), *(np.asarray(variable) for variable in model.variables)])
    plan, moved = plan_of(model), moved_by(model)
    assert plan is not None and moved is not None
    nodes = optimised(model, x[:BATCH], y[:BATCH])
    return {
        "different": sum(not np.array_equal(one, two) for one, two in zip(*weights, strict=True)),
        "plan": plan.as_json(),
        "offloaded": plan.held_bytes("offload"),
        "spilled": plan.held_bytes("spill"),
        "moved": [moved.written, moved.read, moved.calls],
        "operations": sorted({(node.op, node.device[-5:]) for node in nodes}),
        "copies": sum(node.op == "Snapshot" and node.device.endswith("CPU:1") for node in nodes),
    }


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
