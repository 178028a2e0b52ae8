"""Probes that need TensorFlow, each run in a process of its own: `python -m sknc.doctor.probes NAME FILE`.

A setting of TensorFlow is tried out by what it is there for: a limit by allocating more. Each probe returns what it
saw; `examination` says what that means.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MIB = 2**20
LIMIT = 64 * _MIB
# Less than the default allocator of a CPU counts.
_SMALL = 65_536
_SLEEP = 0.2


def _device(tf: Any) -> str:
    return "GPU:0" if tf.config.list_physical_devices("GPU") else "CPU:0"


def _held(tf: Any) -> int | None:
    try:
        return int(tf.config.experimental.get_memory_info(_device(tf))["current"])
    except (AttributeError, ValueError, RuntimeError, KeyError):
        return None


def _at_once(tf: Any) -> int:
    """The most operations that ran at once of four that sleep."""
    lock = threading.Lock()
    running, most = 0, 0

    def sleep(value: Any) -> Any:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(_SLEEP)
        with lock:
            running -= 1
        return value

    @tf.function(autograph=False)  # type: ignore[untyped-decorator]  # tensorflow has no types
    def together(values: Any) -> Any:
        # Those with state would wait for each other whatever the number of threads.
        return [tf.numpy_function(sleep, [value], tf.float32, stateful=False) for value in tf.unstack(values)]

    with tf.device("CPU:0"):
        together(tf.range(4.0))
    return most


def training() -> dict[str, Any]:
    """Trains one step; says what devices there are and whether their allocator keeps statistics."""
    from sknc.runtime.memory import configure

    configure(threads=2)
    import keras
    import tensorflow as tf

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)
    loss = float(model.train_on_batch(tf.ones((2, 4)), tf.ones((2, 1))))
    before = _held(tf)
    kept = tf.zeros((_MIB,), tf.float32)
    after = _held(tf)
    statistics = before is not None and after is not None and after - before >= kept.shape[0] * 4
    before = _held(tf)
    small = tf.zeros((_SMALL // 4,), tf.float32)
    after = _held(tf)
    counted = before is not None and after is not None and after - before >= small.shape[0] * 4
    return {
        "loss": loss,
        "backend": keras.backend.backend(),
        "devices": [
            {
                "name": device.name.removeprefix("/physical_device:"),
                "model": tf.config.experimental.get_device_details(device).get("device_name"),
            }
            for device in tf.config.list_physical_devices()
        ],
        "statistics": statistics,
        "counts_small": counted,
        "at_once": _at_once(tf),
    }


def limited() -> dict[str, Any]:
    """Allocates below and above a hard limit; on a CPU that is a limit of the BFC allocator."""
    from sknc.runtime.memory import configure

    made = configure(memory_limit=LIMIT, threads=1)
    import tensorflow as tf

    small = tf.zeros((_SMALL // 4,), tf.float32)
    held = _held(tf)
    below = tf.zeros((LIMIT // 4 // 4,), tf.float32)
    try:
        tf.zeros((LIMIT // 2,), tf.float32)
        refused = False
    except tf.errors.ResourceExhaustedError:
        refused = True
    return {
        "made": made["memory_limit"],
        "below": int(below.shape[0]) * 4,
        "refused": refused,
        "counts_small": held is not None and held >= int(small.shape[0]) * 4,
        "at_once": _at_once(tf),
    }


def growth() -> dict[str, Any]:
    """Sets memory growth on every GPU."""
    from sknc.runtime.memory import configure

    made = configure(growth=True)
    import tensorflow as tf

    with tf.device("GPU:0"):
        tf.zeros((16,), tf.float32)
    return {"made": made["growth"]}


def xla() -> dict[str, Any]:
    """Compiles a training step with and without recomputation, and compares what the device held.

    Needs an allocator with statistics, and so says whether there is one in its environment.
    """
    import keras
    import tensorflow as tf

    from sknc.runtime.memory.execute.flatten import flatten
    from sknc.runtime.memory.execute.runner import Runner

    hidden = [keras.layers.Dense(64, activation="tanh") for _ in range(12)]
    model = keras.Sequential([keras.Input((64,)), *hidden])
    x = tf.random.normal((8192, 64))
    graph = flatten(model)
    if graph is None:
        raise RuntimeError("a Sequential model has no graph in this version of Keras")
    size = len(graph.steps) // 4
    runner = Runner(graph, [size, size, size, len(graph.steps) - 3 * size], ["recompute"] * 3 + ["keep"])
    device, found = _device(tf), []
    for call in (model, runner):
        # What is compiled must not be remembered from the other one.
        def step(call: Any = call) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(call(x, training=True)))
            return tape.gradient(loss, model.trainable_variables)

        compiled = tf.function(step, jit_compile=True, autograph=False)
        compiled()
        before = _held(tf)
        if before is None:
            return {"peaks": None}
        tf.config.experimental.reset_memory_stats(device)
        compiled()
        found.append(int(tf.config.experimental.get_memory_info(device)["peak"]) - before)
    return {"peaks": found if all(found) else None}


PROBES: dict[str, Callable[[], dict[str, Any]]] = {probe.__name__: probe for probe in (training, limited, growth, xla)}


def main(arguments: list[str]) -> None:
    """Run a probe and write what it saw.

    Args:
        arguments: the probe's name, and a file for the answer.
    """
    name, path = arguments
    try:
        answer = PROBES[name]()
    except Exception as error:  # noqa: BLE001 - whatever it is, that is what was seen
        answer = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
    Path(path).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
