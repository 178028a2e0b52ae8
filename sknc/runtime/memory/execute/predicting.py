"""What a plan's training step will hold: traced as it runs, and scheduled operation by operation."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...frameworks import tensorflow
from ..opgraph import OpGraph, UpdateRule
from ..optimizers import DEFAULT_OPTIMIZER, optimizer_name
from ..predict import least_limit, predict_peak
from ..rules import update_rule
from ..serial import with_sums
from ..threads import threads_in_use
from ..tracing import Traced, trace_step
from .costs import SCOPE, StepNames, chain_of_trace, places_of
from .cuts import Chain, Piece
from .flatten import Context, FlatGraph, flatten
from .internals import has_logits
from .plans import KEEP
from .purity import impure, sparse_steps
from .replay import variables_of
from .rewrite import planned
from .runner import Runner, obeying

# Drawn steps of an estimate and of a prediction: planning takes most of its time for them.
_FEW_DRAWS, _DRAWS = 10, 24
# A budget is for thousands of steps, of which a few hold more than any that was drawn.
_RARE = 0.04


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of a step.

    Attributes:
        scheduled: bytes that the allocator shows when operations last as long as they should.
        peak: bytes that are enough for it: a reserve for other orders of operations is included, and one for the holes
            of an allocator that has a hard limit.
    """

    scheduled: int
    peak: int

    def plus(self, more: int) -> Expected:
        """Returns what is expected when something else needs room as well.

        Args:
            more: bytes.
        """
        return Expected(self.scheduled, self.peak + more)


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a model's training step without a plan.

    Attributes:
        expected: of the step.
        chain: the network as arithmetic sees it.
        base: bytes that are there before the step, and stay: variables, slots of the optimiser, the batch.
        alone: places of steps that are not run a second time.
        graph: the step's operations.
        places: the step of the network that each operation belongs to.
    """

    expected: Expected
    chain: Chain
    base: int
    alone: frozenset[int]
    graph: OpGraph
    places: tuple[int, ...]


def allocator_in_use() -> str:
    """Returns which of the planner's allocator profiles this process has."""
    tf = tensorflow()
    if tf.config.list_physical_devices("GPU"):
        return "bfc"
    return "bfc" if os.environ.get("TF_CPU_ALLOCATOR_USE_BFC", "").lower() in ("1", "true") else "default"


def fingerprint(model: Any) -> str:
    """Returns what tells a network from others: its layers, and what they hold and make.

    Args:
        model: a built keras.Model.
    """
    trained = {id(variable) for variable in model.trainable_variables}
    rows: list[object] = [(list(v.shape), str(v.dtype), id(v) in trained) for v in model.variables]
    graph = flatten(model)
    if graph is None:
        rows.append(model.dtype_policy.name)
    else:
        rows += [(type(step.operation).__name__, list(map(_symbol, step.specs))) for step in graph.steps]
        rows += [_symbol(graph.specs[key]) for key in graph.inputs]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def _symbol(spec: Any) -> list[object]:
    return [list(spec.shape), str(spec.dtype)]


class Predictor:
    """Predicts peaks of one model's training step.

    Args:
        model: a keras.Model; what its `call` does now is what is predicted.
        batch_size: samples in a batch.
        optimizer: a keras optimiser, or what plans say of it where the rule is known; None for the one that is planned
            with before a model is compiled.
        rule: what the optimiser does, where that is known already.
        allocator: 'default' or 'bfc'; this process's own when left out.
        shape: of one sample, or the inputs as keras.KerasTensor, where the model does not say it.
    """

    def __init__(
        self,
        model: Any,
        batch_size: int,
        optimizer: Any = None,
        rule: UpdateRule | None = None,
        allocator: str | None = None,
        shape: Any = None,
    ) -> None:
        self.model = model
        self.shape = shape
        self.batch_size = batch_size
        self.optimizer = optimizer or DEFAULT_OPTIMIZER
        self.optimizer_name = optimizer_name(optimizer)
        self.threads = threads_in_use()
        self.allocator = allocator or allocator_in_use()
        self._rule = rule

    @property
    def rule(self) -> UpdateRule:
        """What the optimiser does to one variable."""
        if self._rule is None:
            self._rule = update_rule(self.optimizer)
        return self._rule

    def expected(self, host: str = "") -> Expected:
        """Predicts what the step as the model would run it now holds and needs.

        Args:
            host: the device of the host pool; what is there does not count.
        """
        return self._scheduled(trace_step(self.model, self.batch_size, self.shape, host=host))

    def profile(self, graph: FlatGraph) -> Profile:
        """Finds out what the step without a plan holds and takes, layer by layer.

        Args:
            graph: the model's flat graph.

        Returns:
            What is known.
        """
        scoped = _Scoped(graph)
        with obeying(scoped):
            traced = trace_step(self.model, self.batch_size, self.shape, names=StepNames())
        expected = self._scheduled(traced)
        operations = with_sums(traced.graph)
        chain = chain_of_trace(operations, len(graph.steps))
        base = traced.parameters + traced.trained * self.rule.slots + traced.inputs
        trained = self.model.trainable_variables
        alone = frozenset(scoped.alone) | sparse_steps(graph, [trained[place] for place in traced.sparse])
        places = places_of(operations, len(graph.steps))
        return Profile(expected, chain, min(base, expected.peak), alone, operations, tuple(places))

    def estimate(self, profile: Profile, pieces: Sequence[Piece]) -> int:
        """Estimates the peak of a plan without tracing it.

        Args:
            profile: of the model; it was traced.
            pieces: the plan.

        Returns:
            Bytes.
        """
        graph = planned(profile.graph, profile.places, pieces)
        return self._scheduled_in(graph, _FEW_DRAWS, rough=True).peak

    def _scheduled(self, traced: Traced) -> Expected:
        return self._scheduled_in(traced.run, _DRAWS)

    def _scheduled_in(self, graph: OpGraph, draws: int, rough: bool = False) -> Expected:
        """What a step's operations hold and need."""
        found = predict_peak(graph, self.rule, self.allocator, self.threads, draws)
        if self.allocator == "default":
            # Has no limit but the machine's memory.
            return Expected(found.scheduled, found.peak + int((found.peak - found.held) * _RARE))
        limit = least_limit(graph, self.rule, found.scheduled, self.allocator, self.threads, rough)
        return Expected(found.scheduled, max(found.peak, limit))


class _Scoped(Runner):
    """Runs a model as Keras does, each step in a scope that says which one it is, and notes which are run once only.

    Args:
        graph: the model's flat graph.
    """

    def __init__(self, graph: FlatGraph) -> None:
        super().__init__(graph, [len(graph.steps)], [KEEP])
        self.alone: set[int] = set()

    def _run(self, values: dict[int, Any], context: Context) -> None:
        tf = tensorflow()
        operations = tf.compat.v1.get_default_graph().get_operations
        for place, step in enumerate(self.graph.steps):
            before = len(operations())
            trained, _ = variables_of([step])
            weights = [variable.value for variable in trained]
            with tf.name_scope(f"{SCOPE}{place}"):
                step.run(values, context)
            shapes = {key: values[key].shape for key in step.makes if isinstance(values[key], tf.Tensor)}
            self.graph.measured.update(
                (key, shape.num_elements() * values[key].dtype.size)
                for key, shape in shapes.items()
                if shape.is_fully_defined()
            )
            # A trained weight that the layer itself assigns (spectral normalisation does) has the gradient of what it
            # was assigned, which a second run, with the weight handed in, cannot tell from what it was before.
            assigned = any(variable.value is not old for variable, old in zip(trained, weights, strict=True))
            if assigned or any(impure(operation) for operation in operations()[before:]):
                self.alone.add(place)
            # A loss looks for the logits behind what an output layer made, which its gradient is exact with.
            if any(has_logits(values[key]) for key in step.makes if key in self.graph.outputs):
                self.alone.add(place)
