"""Networks in hand-made segments, so that no test has to wait for a plan."""

from __future__ import annotations

import contextlib
import functools
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

from sknc.runtime.memory.execute.flatten import flatten
from sknc.runtime.memory.execute.keeper import fit_in_memory, keeper_of
from sknc.runtime.memory.execute.moves import moves
from sknc.runtime.memory.execute.plans import Plan, PlannedSegment
from tests.memory_runtime.nets import BATCH, residual

CROSS = "sparse_categorical_crossentropy"
# Each block's output has so many bytes.
ACTIVATION = BATCH * 16 * 16 * 16 * 4


def cut(count: int, size: int) -> list[int]:
    """Sizes of segments of so many steps."""
    return [size] * (count // size) + ([count % size] if count % size else [])


def planned(folder: Path | None = None, mode: str = "spill", ahead: bool = False, step: Any = None) -> Any:
    """A compiled residual net that obeys a plan: three segments in a pool, the last one kept."""
    keras.utils.set_random_seed(3)
    model = residual(blocks=4, width=16, side=16)
    model.compile("sgd", CROSS, jit_compile=False)
    if step is not None:
        model.train_step = functools.partial(step, model)
    if mode == "plain":
        return model
    model = fit_in_memory(model, "1GiB", BATCH, spill_folder=folder)
    graph, keeper = flatten(model), keeper_of(model)
    assert graph is not None and keeper is not None
    sizes = cut(len(graph.steps), 5)
    modes = [mode] * (len(sizes) - 1) + ["keep"]
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    segments = [
        PlannedSegment(
            graph.steps[end - size].name,
            graph.steps[end - 1].name,
            size,
            own,
            written_bytes=away,
            read_bytes=back,
        )
        for end, size, own, (away, back) in zip(ends, sizes, modes, moves(graph, BATCH, sizes, modes), strict=True)
    ]
    fits = keeper.plan
    keeper._obey(graph, Plan(*(getattr(fits, name) for name in _HEAD), tuple(segments), ahead))
    return model


_HEAD = (
    "model",
    "network",
    "batch_size",
    "optimizer",
    "allocator",
    "resident_bytes",
    "budget",
    "predicted_peak",
    "baseline_peak",
)


def batches(count: int = 1) -> tuple[Any, Any]:
    """So many batches of images and classes."""
    drawn = np.random.default_rng(0)
    return drawn.normal(size=(count * BATCH, 16, 16, 3)).astype("float32"), np.arange(count * BATCH) % 4


@contextlib.contextmanager
def small_disk(folder: Path, options: str) -> Iterator[bool]:
    """A file system of its own in a folder; says whether the system lets us make one."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "sknc-test", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        yield False
        return
    try:
        yield done.returncode == 0
    finally:
        if done.returncode == 0:
            # Its lock may still be open.
            subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=True)


@contextlib.contextmanager
def small_files(most: int) -> Iterator[None]:
    """A scope in which no file may be larger than so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def trains_until_stopped(folder: str) -> None:
    """Trains with spill files, for a test that ends this process; says `ready` after the first epoch."""
    # A shell that starts something in the background has it ignore interrupts, and so whatever that starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    model = planned(Path(folder))
    said = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: print("ready", flush=True))
    model.fit(*batches(), batch_size=BATCH, epochs=10**6, verbose=0, callbacks=[said])
