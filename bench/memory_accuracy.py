"""Predicted against measured: the peak that TensorFlow's allocator shows, network by network.

    python bench/memory_accuracy.py measure -o results.jsonl [--allocators bfc] [--networks mlp unet] [--batches 8]
    python bench/memory_accuracy.py table results.jsonl

`measure` trains each network for 13 steps in a process of its own, records the allocator's peak in each of
the last ten, and predicts the same step from a trace, in another process: one trace for both allocators and all
optimisers. What the results file already has is not measured again. Two children at a time prepare and predict; while
one trains, nothing else of the benchmark runs. `table` prints Markdown. Without a command: both, with the file
memory_accuracy.jsonl.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

MIB = 2**20
WARM_UP, MEASURED = 3, 10
QUIET = Path(tempfile.gettempdir()) / "sknc_memory_accuracy"


@contextlib.contextmanager
def alone(exclusive: bool) -> Iterator[None]:
    """Waits until nobody measures, or, to measure, until nobody does anything."""
    with Path(f"{QUIET}.gate").open("w") as gate, Path(f"{QUIET}.lock").open("w") as lock:
        fcntl.flock(gate, fcntl.LOCK_EX)
        if not exclusive:
            fcntl.flock(gate, fcntl.LOCK_UN)
        fcntl.flock(lock, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        if not exclusive:
            yield
            return
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


def measure(name: str, batch: int, optimizer: str, policy: str) -> dict[str, Any]:
    """Train for a few steps and record the allocator's peaks."""
    import keras
    import tensorflow as tf
    from memory_networks import build

    with alone(False):
        keras.config.set_dtype_policy(policy)
        model, shape = build(name)
        model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", jit_compile=False)
        x, y = tf.random.normal((batch, *shape)), tf.zeros((batch,), tf.int32)
        batches = iter(tf.data.Dataset.from_tensors((x, y)).repeat())
        model.make_train_function()
        model.train_function(batches)
    peaks = []
    with alone(True):
        for step in range(1, WARM_UP + MEASURED):
            tf.config.experimental.reset_memory_stats("CPU:0")
            model.train_function(batches)
            if step >= WARM_UP:
                peaks.append(int(tf.config.experimental.get_memory_info("CPU:0")["peak"]))
    return {"name": name, "batch": batch, "opt": optimizer, "policy": policy, "peaks": peaks}


def predict(wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """Predict the same step from a trace, for each optimiser and allocator."""
    import keras
    from memory_networks import build

    from sknc.runtime.memory.predict import predict_peak
    from sknc.runtime.memory.rules import update_rule
    from sknc.runtime.memory.threads import threads_in_use
    from sknc.runtime.memory.tracing import trace_step

    with alone(False):
        keras.config.set_dtype_policy(wanted["policy"])
        model, shape = build(wanted["name"])
        traced = trace_step(model, wanted["batch"], None if getattr(model, "inputs", None) else shape)
        found = []
        for optimizer, allocator in wanted["pairs"]:
            peak = predict_peak(traced.run, update_rule(optimizer), allocator, threads_in_use())
            found.append(
                {"opt": optimizer, "allocator": allocator, "scheduled": peak.scheduled, "reserve": peak.reserve}
            )
    return found


def child(arguments: argparse.Namespace) -> None:
    """One measurement, or the predictions from one trace, in a process of its own."""
    row = json.loads(arguments.row)
    if "pairs" in row:
        found: Any = predict(row)
    else:
        found = measure(row["name"], row["batch"], row["opt"], row["policy"])
    print(json.dumps(found), flush=True)


def run_child(row: dict[str, Any]) -> Any:
    """Start a child; None when it fails, which is told."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "1"}
    environment = {**os.environ, **quiet, "TF_CPU_ALLOCATOR_USE_BFC": str(int(row.get("allocator") == "bfc"))}
    command = [sys.executable, __file__, "child", json.dumps(row)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        # A child that was killed says nothing.
        said = ended.stderr.strip().splitlines() or [f"its process ended with {ended.returncode}"]
        print(f"{row['name']}: {said[-1]}", file=sys.stderr)
        return None
    return json.loads(ended.stdout.strip().splitlines()[-1])


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a results file."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row is about."""
    return row["allocator"], row["name"], row["batch"], row["opt"], row["policy"]


class Results:
    """The rows of a results file, which is written with each that is added.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = {key(row): row for row in read_rows(path)}
        self.saving = threading.Lock()

    def add(self, row: dict[str, Any]) -> None:
        """Take what has been found out about a row; a row that is complete is printed."""
        with self.saving:
            known = self.rows.setdefault(key(row), {})
            known.update(row)
            if "peaks" in known and "reserve" in known:
                print(line(known), flush=True)
            text = "".join(json.dumps(one) + "\n" for one in self.rows.values())
            self.path.write_text(text, encoding="utf-8")

    def has(self, row: dict[str, Any], what: str) -> bool:
        """Whether something is known of a row."""
        return what in self.rows.get(key(row), {})


def measure_all(arguments: argparse.Namespace) -> None:
    """Measure and predict what the results file does not have."""
    results = Results(arguments.output)

    def measured(row: dict[str, Any]) -> None:
        found = run_child(row)
        if found is not None:
            results.add({**row, **found})

    def predicted(group: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        for found in run_child({**group, "pairs": [(row["opt"], row["allocator"]) for row in rows]}) or ():
            results.add({**group, **found})

    started: list[Future[None]] = []
    with ThreadPoolExecutor(arguments.jobs) as workers:
        for name, batch in itertools.product(arguments.networks, arguments.batches):
            group = {"name": name, "batch": batch, "policy": arguments.policy}
            pairs = itertools.product(arguments.optimizers, arguments.allocators)
            rows = [{**group, "opt": optimizer, "allocator": allocator} for optimizer, allocator in pairs]
            unknown = [row for row in rows if arguments.again or not results.has(row, "reserve")]
            if unknown:
                started.append(workers.submit(predicted, group, unknown))
            missing = [row for row in rows if not results.has(row, "peaks")]
            started += [workers.submit(measured, row) for row in missing]
    for one in started:
        one.result()


def error(row: dict[str, Any]) -> float:
    """The predicted peak against the largest measured one, as a part of it."""
    return float((row["scheduled"] + row["reserve"]) / max(row["peaks"]) - 1)


def spread(row: dict[str, Any]) -> float:
    """The steps' own spread, as a part of the largest."""
    return float(1 - min(row["peaks"]) / max(row["peaks"]))


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    low, high = min(row["peaks"]) / MIB, max(row["peaks"]) / MIB
    predicted = (row["scheduled"] + row["reserve"]) / MIB
    cells = [
        row["allocator"],
        row["name"] if row["policy"] == "float32" else f"{row['name']}, {row['policy']}",
        str(row["batch"]),
        row["opt"],
        f"{low:.1f} to {high:.1f}",
        f"{100 * spread(row):.0f}%",
        f"{row['scheduled'] / MIB:.1f}",
        f"{row['reserve'] / MIB:.1f}",
        f"{predicted:.1f}",
        f"{100 * error(row):+.1f}%",
    ]
    return f"| {' | '.join(cells)} |"


def summary(rows: Iterable[dict[str, Any]]) -> str:
    """Median, extremes, and how many rows keep to what is promised."""
    rows = list(rows)
    errors = [error(row) for row in rows]
    kept = sum(-0.02 <= one <= max(0.1, spread(row) + 0.1) for one, row in zip(errors, rows, strict=True))
    middle = statistics.median(map(abs, errors))
    return (
        f"{len(rows)} rows of {len({row['name'] for row in rows})} networks: median error {100 * middle:.1f}%, from "
        f"{100 * min(errors):+.1f}% to {100 * max(errors):+.1f}%; {kept} within -2% and +10% (or the spread + 10%)."
    )


def table(arguments: argparse.Namespace) -> None:
    """Print a results file as Markdown."""
    rows = [row for row in read_rows(arguments.output) if "reserve" in row and "peaks" in row]
    print(
        "| allocator | network | batch | optimizer | measured, MiB | spread | scheduled | reserve | predicted | error |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in sorted(rows, key=key):
        print(line(row))
    for allocator in sorted({row["allocator"] for row in rows}):
        print(f"\n{allocator}: {summary(row for row in rows if row['allocator'] == allocator)}")


def main() -> None:
    """Read the command line."""
    from memory_networks import NAMES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers()
    measuring = commands.add_parser("measure")
    measuring.add_argument("-o", "--output", type=Path, default=Path("memory_accuracy.jsonl"))
    measuring.add_argument("--networks", nargs="+", default=list(NAMES), choices=NAMES)
    measuring.add_argument("--batches", nargs="+", type=int, default=[8, 16])
    measuring.add_argument("--optimizers", nargs="+", default=["sgd", "adam"])
    measuring.add_argument("--policy", default="float32")
    measuring.add_argument("--allocators", nargs="+", default=["default", "bfc"], choices=["default", "bfc"])
    measuring.add_argument("--again", action="store_true", help="predict again what was predicted before")
    measuring.add_argument("--jobs", type=int, default=2, help="children at a time; one of them trains")
    measuring.set_defaults(run=measure_all)
    printing = commands.add_parser("table")
    printing.add_argument("output", type=Path, nargs="?", default=Path("memory_accuracy.jsonl"))
    printing.set_defaults(run=table)
    one = commands.add_parser("child")
    one.add_argument("row")
    one.set_defaults(run=child)
    if len(sys.argv) > 1:
        arguments = parser.parse_args()
        arguments.run(arguments)
        return
    for command in (measuring.parse_args([]), printing.parse_args([])):
        command.run(command)


if __name__ == "__main__":
    main()
