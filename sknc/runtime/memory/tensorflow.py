"""A Keras model as the subject of a memory report: the `tensorflow` accounting."""

from __future__ import annotations

from typing import Any

from .analysis import Holdings, Subject
from .errors import PlanError
from .oplayers import heavy_types, layer_graph
from .optimizers import DEFAULT_OPTIMIZER, optimizer_name
from .predict import predict_peak
from .rules import fresh_optimizer, update_rule
from .threads import threads_in_use
from .tracing import Traced, trace_step

ACCOUNTING = "tensorflow"


class ModelSubjects:
    """Makes the training step of a model for any batch size.

    Args:
        model: a keras.Model.
        target: what the user named.
        optimizer: a Keras optimiser or its name; None takes the compiled one, else Adam.
        allocator: 'default' or 'bfc'.
        shape: the shape of the model's one input, or its inputs as keras.KerasTensor in the structure that it is called
            with, where the model does not say it.
        input_pipeline: bytes that the input pipeline keeps on the device.
        notes: what the user should know about the target.
    """

    def __init__(
        self,
        model: Any,
        target: str,
        optimizer: Any = None,
        allocator: str = "default",
        shape: Any = None,
        input_pipeline: int = 0,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.model = model
        self.target = target
        self.allocator = allocator
        self.shape = shape
        self.input_pipeline = input_pipeline
        self.notes = notes
        chosen = optimizer or getattr(model, "optimizer", None) or DEFAULT_OPTIMIZER
        self.rule = update_rule(chosen)
        self.optimizer_name = optimizer_name(fresh_optimizer(chosen))

    def __call__(self, batch: int) -> Subject:
        """The training step for a batch size.

        Args:
            batch: samples in a batch.

        Returns:
            The subject of a report.

        Raises:
            PlanError: when the batch is not above zero or the model cannot be traced.
        """
        if batch < 1:
            raise PlanError(f"a batch has at least one sample, not {batch}")
        traced = trace_step(self.model, batch, self.shape)
        graph = layer_graph(traced.graph)
        found = predict_peak(traced.run, self.rule, self.allocator, threads_in_use())
        return Subject(
            self.target,
            batch,
            ACCOUNTING,
            graph,
            self.holdings(traced),
            self.rule.name,
            heavy_types(graph),
            self.allocator,
            found.reserve,
            (*self.notes, *traced.notes),
            found.scheduled + self.input_pipeline,
            {"drawn_peaks": {"low": found.low, "high": found.high}},
        )

    def holdings(self, traced: Traced) -> Holdings:
        """What the model holds through all steps."""
        return Holdings(traced.parameters, traced.trained, traced.trained * self.rule.slots, self.input_pipeline)
