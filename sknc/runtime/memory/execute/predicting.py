"""What a plan's training step will hold: traced and scheduled as it runs, or added up where that cannot be."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...frameworks import keras, tensorflow
from .costs import SCOPE, StepNames, chain_of_sizes, chain_of_trace, places_of
from .cuts import Chain, Piece
from .flatten import Context, FlatGraph
from .plans import KEEP
from .purity import impure, kept_steps, sparse_steps
from .rewrite import planned
from .runner import Runner, obeying

OPERATIONS, LAYERS = "operations", "layers"
# What adding up outputs cannot see: saved inputs, temporaries, order of operations.
_UNSEEN = 1.5
DEFAULT_OPTIMIZER = "Adam"
# Drawn steps of an estimate and of a prediction: planning takes most of its time for them.
_FEW_DRAWS, _DRAWS = 10, 24
# A budget is for thousands of steps, of which a few hold more than any that was drawn; and under a hard limit best fit
# with coalescing loses some in holes: a step that held 205 MiB failed at a limit of 200 and ran at 220.
_RESERVE = {"default": 0.04, "bfc": 0.08}


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


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a model's training step without a plan.

    Attributes:
        peak: its predicted peak.
        chain: the network as arithmetic sees it.
        base: bytes that are there before the step, and stay: variables, slots of the optimiser, the batch.
        alone: places of steps that must not be run a second time.
        graph: the step's operations; None where it was not traced.
        places: the step of the network that each operation belongs to.
    """

    peak: Peak
    chain: Chain
    base: int
    alone: frozenset[int]
    graph: Any = None
    places: tuple[int, ...] = ()


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
        return self._scheduled(self._tracing.trace_step(self.model, self.batch_size, host=host))

    def profile(self, graph: FlatGraph) -> Profile:
        """Finds out what the step without a plan holds and takes, layer by layer.

        Args:
            graph: the model's flat graph.

        Returns:
            What is known.
        """
        if self.method == LAYERS:
            sizes = [sum(graph.size(key, self.batch_size) for key in step.makes) for step in graph.steps]
            peak = self.peak(graph, sizes, 0)
            return Profile(peak, chain_of_sizes(graph, self.batch_size), peak.fixed, kept_steps(graph, self.batch_size))
        scoped = _Scoped(graph)
        with obeying(scoped):
            traced = self._tracing.trace_step(self.model, self.batch_size, names=StepNames())
        peak = self._scheduled(traced)
        chain = chain_of_trace(traced.graph, len(graph.steps))
        base = traced.parameters + traced.trained * self._rule.slots + traced.inputs
        alone = frozenset(scoped.impure) | sparse_steps(graph)
        places = places_of(traced.graph, len(graph.steps))
        return Profile(peak, chain, min(base, peak.bytes), alone, traced.graph, tuple(places))

    def estimate(self, profile: Profile, pieces: Sequence[Piece]) -> int:
        """Estimates the peak of a plan without tracing it.

        Args:
            profile: of the model; it was traced.
            pieces: the plan.

        Returns:
            Bytes.
        """
        graph = planned(profile.graph, profile.places, pieces)
        found = self._predict.predict_peak(graph, self._rule, self.allocator, self.threads, _FEW_DRAWS)
        return int(found.safe * (1 + _RESERVE[self.allocator]))

    def _scheduled(self, traced: Any) -> Peak:
        """The peak of a traced step."""
        if self._rule is None:
            self._rule = self._tracing.update_rule(self.optimizer)
        found = self._predict.predict_peak(traced.run, self._rule, self.allocator, self.threads, _DRAWS)
        fixed = traced.parameters + traced.trained * (1 + self._rule.slots) + traced.inputs
        peak = int(found.safe * (1 + _RESERVE[self.allocator]))
        return Peak(peak, min(fixed, peak), OPERATIONS)

    def _fixed(self, graph: FlatGraph | None) -> int:
        everything = sum(_variable_bytes(variable) for variable in self.model.variables)
        trained = sum(_variable_bytes(variable) for variable in self.model.trainable_variables)
        batch = sum(graph.size(key, self.batch_size) for key in graph.inputs) if graph is not None else 0
        # The gradients, and the two slots of Adam; few optimisers have more.
        return everything + 3 * trained + batch


class _Scoped(Runner):
    """Runs a model as Keras does, each step in a scope that says which one it is, and notes which are impure.

    Args:
        graph: the model's flat graph.
    """

    def __init__(self, graph: FlatGraph) -> None:
        super().__init__(graph, [len(graph.steps)], [KEEP])
        self.impure: set[int] = set()

    def _run(self, values: dict[int, Any], context: Context) -> None:
        tf = tensorflow()
        operations = tf.compat.v1.get_default_graph().get_operations
        for place, step in enumerate(self.graph.steps):
            before = len(operations())
            with tf.name_scope(f"{SCOPE}{place}"):
                step.run(values, context)
            if any(impure(operation) for operation in operations()[before:]):
                self.impure.add(place)


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
