"""Training in pieces against plain Keras: five steps with momentum, deterministic operations, fourteen networks.

`python -m tests.memory_runtime.compare` prints the differences themselves.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.memory_runtime.nets import NETS

ROOT = Path(__file__).resolve().parents[2]
# Sums of three and more gradients (a tensor with several readers, weights used several times) are added in another
# order; and TensorFlow rewrites a gelu's backward pass with parts of the forward pass where it has both in sight.
# With its graph optimiser off, the dropout network's differences are 0.0 as well.
ROUNDED = {"dropout", "shared", "recurrent", "attention"}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """Differences, one row for each network and mode."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, "-m", "tests.memory_runtime.compare"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("name", NETS)
def test_gradients_weights_and_state_are_those_of_plain_keras(rows: list[dict[str, Any]], name: str) -> None:
    mine = [row for row in rows if row["net"] == name]
    assert mine
    for row in mine:
        assert row["segments"] >= 2
        assert row["again"] >= 3, "a whole segment was run a second time"
        # The first segment reads the batch, which stays where it is.
        moves = row["mode"].startswith(("spill", "offload")) and row["segments"] > 2
        assert (row["bytes"] > 0) == moves, row
        assert row["gradient"] > 1e-3, "there was something to compare"
        # Part by part, shared layers have more sums of their own. How far sums are off depends on the CPU's kernels.
        rounded = name in ROUNDED or row["mode"] == "nested"
        allowed = 4e-6 * max(1.0, row["gradient"]) if rounded else 0.0
        for what in ("losses", "gradients", "weights"):
            assert row[what] <= allowed, (what, row)
        assert row["state"] <= (4e-6 if rounded else 0.0), row


@pytest.mark.parametrize("mode", ["spill", "spill+", "offload", "offload+", "nested", "kept"])
def test_the_other_modes_were_compared_too(rows: list[dict[str, Any]], mode: str) -> None:
    assert sum(row["mode"] == mode for row in rows) >= 3
