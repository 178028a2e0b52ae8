"""Measures the machine that plans reckon with.

python -m sknc.memplan.measure machine.json
sknc memplan TARGET --budget 8GiB --machine machine.json
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sknc.runtime.memory.machine import Machine, save_machine

SIDE = 1024
BYTES = 64 << 20
REPEATS = 5


def best_seconds(function: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The shortest of some runs.

    Args:
        function: what is timed.
        repeats: how often; one more run comes before.

    Returns:
        Seconds.
    """
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return max(min(times), 1e-9)


def measure_machine(folder: Path | None = None) -> Machine:
    """Measure products, copies on the device, copies to the host and the disk.

    Args:
        folder: where the disk is measured; the system's folder for temporary files when None.

    Returns:
        The speeds.
    """
    import tensorflow as tf

    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    with tf.device(devices[0].name):
        square = tf.random.normal((SIDE, SIDE))
        block = tf.zeros((BYTES // 4,))
    product = best_seconds(lambda: float(tf.linalg.matmul(square, square)[0, 0]))
    added = best_seconds(lambda: float((block + 1.0)[0]))
    copied = best_seconds(lambda: block.numpy().copy())
    return Machine(
        flops=2.0 * SIDE**3 / product,
        memory=2.0 * BYTES / added,
        host=BYTES / copied,
        disk=BYTES / best_seconds(lambda: _write_and_read(folder), 2) * 2,
    )


def _write_and_read(folder: Path | None) -> None:
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(bytes(BYTES))
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        file.read()


def main(arguments: list[str]) -> int:
    """Measure and store.

    Args:
        arguments: the file.

    Returns:
        The exit status.
    """
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m sknc.memplan.measure FILE\n")
        return 2
    save_machine(measure_machine(), Path(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
