"""The `call` of a model that obeys a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...frameworks import keras
from .flatten import Context, FlatGraph
from .internals import attach_mask, functional_of, recording
from .moves import without_gradient
from .moving import Moving
from .plans import KEEP, MOVING
from .segments import Held, make_segments, run_plainly, run_recomputed


class Runner:
    """Runs a model's graph segment by segment.

    Args:
        graph: the model's flat graph.
        sizes: the number of steps of each segment.
        modes: for each segment KEEP, RECOMPUTE, OFFLOAD or SPILL.
        pools: by mode, where the inputs of segments are meanwhile.
        parts: for each segment the sizes of its parts, see `make_segments`.
        kept: for each segment the places in it of steps whose outputs are held, see `make_segments`.
        ahead: whether inputs are fetched one segment ahead.
        batch: samples in a batch, where it is known.
    """

    def __init__(
        self,
        graph: FlatGraph,
        sizes: Sequence[int],
        modes: Sequence[str],
        pools: Mapping[str, Any] | None = None,
        parts: Sequence[Sequence[int]] | None = None,
        kept: Sequence[Sequence[int]] | None = None,
        ahead: bool = False,
        batch: int | None = None,
    ) -> None:
        self.graph = graph
        self.segments = make_segments(graph, sizes, parts, kept, batch)
        self.modes = tuple(modes)
        self.pools = dict(pools or {})
        self.ahead = ahead

    def __call__(self, inputs: Any, training: Any = None, mask: Any = None, **context: Any) -> Any:
        """Computes what the model's own `call` computes.

        Args:
            inputs: in the structure that the model takes.
            training: without training nothing is kept for a backward pass, and the model's own call runs; likewise
                where nobody says and nobody can ask for a gradient.
            mask: masks of the inputs.
            **context: other arguments that the model hands to its layers.

        Returns:
            The outputs in the model's structure.
        """
        model = self.graph.model
        if training is False or (training is None and not recording()):
            return type(model).call(model, inputs, training=training, mask=mask, **context)
        functional = functional_of(model)
        tensors = functional._standardize_inputs(inputs)
        if mask is not None:
            for tensor, own in zip(tensors, keras().tree.flatten(mask), strict=False):
                if own is not None:
                    attach_mask(tensor, own)
        values = dict(zip(self.graph.inputs, tensors, strict=True))
        self._run(values, {"training": training, **context})
        outputs = [values[key] for key in self.graph.outputs]
        packed = keras().tree.pack_sequence_as(functional._outputs_struct, outputs)
        return packed[0] if isinstance(packed, list) and len(packed) == 1 else packed

    def _run(self, values: dict[int, Any], context: Context) -> None:
        moving = Moving(
            {mode: pool.call() for mode, pool in self.pools.items()}, frozenset(self.graph.inputs), self.ahead
        )
        idle = without_gradient(self.segments)
        for number, (segment, mode) in enumerate(zip(self.segments, self.modes, strict=True)):
            if mode == KEEP or number in idle:
                run_plainly(segment, values, context, self.graph.outputs)
            else:
                run_recomputed(segment, values, context, moving.to(mode) if mode in MOVING else Held())


class obeying:  # noqa: N801  # used like a function
    """A scope in which a model runs by a plan.

    Args:
        runner: takes the place of the model's `call`.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.model = runner.graph.model
        self.before: Any = None

    def __enter__(self) -> None:
        self.before = vars(self.model).get("call")
        self.model.call = self.runner

    def __exit__(self, *_: object) -> None:
        if self.before is None:
            del self.model.call
        else:
            self.model.call = self.before


class as_plain:  # noqa: N801  # used like a function
    """A scope in which a model runs as Keras made it.

    Args:
        model: a keras.Model, whose training may obey a plan.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        found = vars(model).get("call")
        # One that the user put there is how the model was made.
        self.before = found if isinstance(found, Runner) else None

    def __enter__(self) -> None:
        if self.before is not None:
            del self.model.call

    def __exit__(self, *_: object) -> None:
        if self.before is not None:
            self.model.call = self.before
