"""What a plan's training step will hold: traced and scheduled as it runs, or added up where that cannot be."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...frameworks import keras, tensorflow
from .flatten import FlatGraph

OPERATIONS, LAYERS = "operations", "layers"
# What adding up outputs cannot see: saved inputs, temporaries, order of operations.
_UNSEEN = 1.5
DEFAULT_OPTIMIZER = "Adam"
# What best fit with coalescing loses in holes: a step that held 205 MiB failed at a limit of 200 and ran at 220.
_HOLES = {"default": 0.0, "bfc": 0.08}


@dataclass(frozen=True, slots=True)
class Peak:
    """A predicted peak.

    Attributes:
        bytes: what the allocator will show, a reserve included.
        fixed: of these, what is there in any plan: variables, gradients, slots of the optimiser, the batch.
        method: OPERATIONS or LAYERS.
    """

    bytes: int
    fixed: int
    method: str


def allocator_in_use() -> str:
    """Returns which of the planner's allocator profiles this process has."""
    tf = tensorflow()
    if tf.config.list_physical_devices("GPU"):
        return "bfc"
    return "bfc" if os.environ.get("TF_CPU_ALLOCATOR_USE_BFC", "").lower() in ("1", "true") else "default"


def optimizer_name(optimizer: Any) -> str:
    """Returns what a plan says of an optimiser: its kind, as its numbered name differs from run to run.

    Args:
        optimizer: a keras optimiser, or None for the default.
    """
    return DEFAULT_OPTIMIZER if optimizer is None else type(optimizer).__name__


class Predictor:
    """Predicts peaks of one model's training step.

    Args:
        model: a keras.Model; what its `call` does now is what is predicted.
        batch_size: samples in a batch.
        optimizer: a keras optimiser, a name, or None for Adam.
    """

    def __init__(self, model: Any, batch_size: int, optimizer: Any = None) -> None:
        self.model = model
        self.batch_size = batch_size
        self.optimizer = optimizer or DEFAULT_OPTIMIZER.lower()
        self.optimizer_name = optimizer_name(optimizer)
        self.threads = int(os.environ.get("TF_NUM_INTEROP_THREADS") or os.cpu_count() or 2)
        self.allocator = allocator_in_use()
        package = __package__.rpartition(".")[0]
        self._tracing: Any = _imported(f"{package}.tracing")
        self._predict: Any = _imported(f"{package}.predict")
        self._rule: Any = None

    @property
    def method(self) -> str:
        """How peaks are predicted."""
        return LAYERS if self._tracing is None or self._predict is None else OPERATIONS

    def peak(self, graph: FlatGraph | None, kept: Sequence[int], running: int, host: str = "") -> Peak:
        """Predicts the peak of the step as the model would run it now.

        Args:
            graph: the model's flat graph.
            kept: bytes of each output that is held to the backward pass; used where nothing is traced.
            running: bytes of the outputs of the largest segment; used where nothing is traced.
            host: the device of the host pool; what is there does not count.

        Returns:
            The peak.
        """
        if self.method == LAYERS:
            fixed = self._fixed(graph)
            return Peak(fixed + int(_UNSEEN * (sum(kept) + 2 * running)), fixed, LAYERS)
        if self._rule is None:
            self._rule = self._tracing.update_rule(self.optimizer)
        traced = self._tracing.trace_step(self.model, self.batch_size, host=host)
        found = self._predict.predict_peak(traced.graph, self._rule, self.allocator, self.threads)
        fixed = traced.parameters + traced.trained * (1 + self._rule.slots) + traced.inputs
        peak = int(found.peak * (1 + _HOLES[self.allocator]))
        return Peak(peak, min(fixed, peak), OPERATIONS)

    def _fixed(self, graph: FlatGraph | None) -> int:
        everything = sum(_variable_bytes(variable) for variable in self.model.variables)
        trained = sum(_variable_bytes(variable) for variable in self.model.trainable_variables)
        batch = sum(graph.size(key, self.batch_size) for key in graph.inputs) if graph is not None else 0
        # The gradients, and the two slots of Adam; few optimisers have more.
        return everything + 3 * trained + batch


def _variable_bytes(variable: Any) -> int:
    size = 1
    for length in variable.shape:
        size *= int(length)
    return size * int(tensorflow().as_dtype(keras().backend.standardize_dtype(variable.dtype)).size)


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
