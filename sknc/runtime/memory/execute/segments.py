"""Runs a segment so that only what it reads is kept until its backward pass, which computes the rest anew."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import ProgramError
from ...frameworks import keras, tensorflow
from .dependence import of_bias
from .flatten import Context, FlatGraph, Step, has_gradient
from .internals import attach_mask, autocast_dtype
from .ordering import gated, mark_gate
from .replay import Outcome, masks_of, read, replay, variables_of
from .serial import one_by_one

# A layer may assign a variable that it shows nowhere, and then another one because of it: after so many tries
# the segment is run as it is.
_TRIES = 4


@dataclass(frozen=True, eq=False)
class Segment:
    """Consecutive steps.

    Attributes:
        steps: in order.
        reads: keys that come from before.
        makes: keys that are read afterwards, or are outputs of the model.
        parts: segments that it consists of, where its second run keeps only what goes from one to the next and
            each of them is run a third time.
        kept: keys of tensors that are made here and held for the second run, which need not compute them then.
        batch: samples in a batch, where shapes do not say it.
    """

    steps: tuple[Step, ...]
    reads: tuple[int, ...]
    makes: tuple[int, ...]
    parts: tuple[Segment, ...] = ()
    kept: tuple[int, ...] = ()
    batch: int | None = None


def make_segments(
    graph: FlatGraph,
    sizes: Sequence[int],
    parts: Sequence[Sequence[int]] | None = None,
    kept: Sequence[Sequence[int]] | None = None,
    batch: int | None = None,
) -> list[Segment]:
    """Returns the segments of a graph.

    Args:
        graph: the flat graph.
        sizes: the number of steps of each segment; they add up to all steps.
        parts: for each segment the sizes of its own parts, which add up to it; none for one that has none.
        kept: for each segment the places in it of steps whose outputs are held for its second run.
        batch: samples in a batch, where it is known.

    Raises:
        ValueError: sizes do not add up.
    """
    whole = _cut(graph, sizes, batch)
    for number, own in enumerate(parts or ()):
        if own:
            if sum(own) != sizes[number]:
                raise ValueError(f"parts of {sum(own)} steps for a segment of {sizes[number]}")
            inner = _cut(graph, [*sizes[:number], *own, *sizes[number + 1 :]], batch)
            whole[number] = replace(whole[number], parts=tuple(inner[number : number + len(own)]))
    for number, steps in enumerate(kept or ()):
        own_steps = whole[number].steps
        keys = (key for place in steps for key in own_steps[place].makes if _flows(own_steps[place], key))
        whole[number] = replace(whole[number], kept=tuple(keys))
    return whole


def _cut(graph: FlatGraph, sizes: Sequence[int], batch: int | None) -> list[Segment]:
    if sum(sizes) != len(graph.steps):
        raise ValueError(f"segments of {sum(sizes)} steps for a network of {len(graph.steps)}")
    last_reader = {key: len(graph.steps) for key in graph.outputs}
    for place, step in reversed(list(enumerate(graph.steps))):
        for _, key in step.reads:
            last_reader.setdefault(key, place)
    segments, start = [], 0
    for size in sizes:
        steps = tuple(graph.steps[start : start + size])
        made = [key for step in steps for key in step.makes]
        inside = set(made)
        reads = dict.fromkeys(key for step in steps for _, key in step.reads if key not in inside)
        end = start + size
        makes = tuple(key for key in made if last_reader.get(key, -1) >= end)
        segments.append(Segment(steps, tuple(reads), makes, batch=batch))
        start = end
    return segments


class Held:
    """Keeps a segment's inputs until its backward pass: here, simply where they are."""

    def keep(self, tensors: Mapping[int, Any]) -> Callable[[Sequence[Any]], list[Any]]:
        """Takes a segment's inputs and returns what gives them back, in order, once something has happened.

        Args:
            tensors: to be kept, by their keys in the flat graph.
        """
        held = list(tensors.values())

        def back(after: Sequence[Any]) -> list[Any]:
            with tensorflow().control_dependencies(after):
                return [tensorflow().identity(tensor) for tensor in held]

        return back

    def settled(self) -> list[Any]:
        """Returns what has to have happened before the computation goes on."""
        return []


def run_plainly(
    segment: Segment, values: dict[int, Any], context: Context, ungated: Collection[int] | None = None
) -> None:
    """Runs a segment as Keras does: everything that its backward pass needs is kept.

    Args:
        segment: the steps.
        values: tensors by key; gets the segment's.
        context: arguments that the model hands to its layers.
        ungated: keys of the model's outputs, which are handed on as they are: losses look at what made them. All
            others that are handed on can make the backward pass wait; without it, none.
    """
    if ungated is None:
        for step in segment.steps:
            step.run(values, context)
        return
    through = set(ungated)
    for step in segment.steps:
        # Where a layer with weights begins, those behind it are updated before the backward pass goes on.
        if _has_kernel(step):
            _gate(values, [key for _, key in step.reads], through)
        step.run(values, context)
    _gate(values, segment.makes, through)


def _has_kernel(step: Step) -> bool:
    return any(len(variable.shape) > 1 for variable in variables_of([step])[0])


def _gate(values: dict[int, Any], keys: Sequence[int], through: set[int]) -> None:
    """Lets the backward pass wait where tensors are handed on, once for each of them.

    Args:
        values: tensors by key; are changed.
        keys: of those that are handed on.
        through: keys of those that need no gate; gets these.
    """
    masks = masks_of(values, keys)
    for key in keys:
        if key not in through and isinstance(values[key], tensorflow().Tensor):
            through.add(key)
            values[key] = gated(values[key])
            if key in masks:
                attach_mask(values[key], masks[key])


def run_recomputed(segment: Segment, values: dict[int, Any], context: Context, pool: Held) -> None:
    """Runs a segment; its backward pass runs it again.

    Args:
        segment: the steps.
        values: tensors by key; gets what the segment makes for others.
        context: arguments that the model hands to its layers.
        pool: where the inputs are meanwhile.
    """
    tf = tensorflow()
    if not all(isinstance(values[key], tf.Tensor) for key in segment.reads):
        # Sparse and ragged tensors have no one buffer that could be kept.
        run_plainly(segment, values, context)
        return
    if not any(_flows(step, key) for step in segment.steps for key in segment.makes if key in step.makes):
        run_plainly(segment, values, context)
        return
    _Run(segment, values, context, pool).execute(values)


def _flows(step: Step, key: int) -> bool:
    return has_gradient(step.specs[step.makes.index(key)])


def _traced() -> int:
    """How many operations were traced so far."""
    tf = tensorflow()
    return 0 if tf.executing_eagerly() else len(tf.compat.v1.get_default_graph().get_operations())


class _Run:
    """One call of a recomputed segment."""

    def __init__(self, segment: Segment, values: dict[int, Any], context: Context, pool: Held) -> None:
        self.segment = segment
        self.context = context
        self.pool = pool
        self.cast = autocast_dtype()
        self.masks = masks_of(values, segment.reads)
        self.flowing = [key for key in segment.reads if has_gradient(values[key])]
        self.others = {key: values[key] for key in segment.reads if key not in self.flowing}
        self.inputs = [values[key] for key in self.flowing]
        self.trained, states = variables_of(segment.steps)
        self.weights = [read(variable) for variable in self.trained]
        self.states = [(variable, read(variable)) for variable in states]
        makes = frozenset(segment.makes)
        self.made = [key for step in segment.steps for key in step.makes if key in makes and _flows(step, key)]

    def _first(self, inputs: Any, weights: Any) -> Outcome:
        """The first run. Assigned variables that no layer shows are handed in as well, and it is run anew.

        What is not used of a run is pruned from the graph.
        """
        for _ in range(_TRIES):
            outcome = self._replayed(inputs, weights, self.others, self.masks, self.states)
            if not outcome.strangers:
                return outcome
            self.states += [(variable, read(variable)) for variable in outcome.strangers]
        raise ProgramError(
            f"the layers from {self.segment.steps[0].name!r} to {self.segment.steps[-1].name!r} assign new variables "
            "at every call; they cannot be run a second time: make variables once, in the layer's build()"
        )

    def _replayed(
        self, inputs: Any, weights: Any, others: Any, masks: Any, states: Any, stored: Any = None, again: bool = False
    ) -> Outcome:
        values = {**dict(zip(self.flowing, inputs, strict=True)), **others}
        mapping = [*zip(self.trained, weights, strict=True), *states]
        run = self._run_parts if again and self.segment.parts else None
        return replay(self.segment.steps, values, masks, mapping, self.cast, self.context, run, stored)

    def _run_parts(self, values: dict[int, Any]) -> None:
        *first, last = self.segment.parts
        for part in first:
            run_recomputed(part, values, self.context, Held())
        # The last one's backward pass comes right after it: nothing is gained by freeing what it holds.
        run_plainly(last, values, self.context)

    def _results(self, outcome: Outcome) -> list[Any]:
        return [*(outcome.values[key] for key in self.made), *(loss for _, loss in outcome.losses)]

    def execute(self, values: dict[int, Any]) -> None:
        """Runs the segment, assigns what it changes, and hands on what it makes."""
        tf = tensorflow()
        seen: list[Outcome] = []

        def forward(*tensors: Any) -> Any:
            inputs, weights = tensors[: len(self.inputs)], tensors[len(self.inputs) :]
            outcome = self._first(inputs, weights)
            seen.append(outcome)
            stored = {key: outcome.values[key] for key in self.segment.kept}
            back = self.pool.keep(dict(zip(self.flowing, inputs, strict=True)))

            def backward(*upstream: Any, variables: Any = None) -> Any:
                gradients, extra = self._gradients(upstream, back, weights, variables or [], stored)
                return gradients if variables is None else (gradients, extra)

            with tf.control_dependencies(self.pool.settled()):
                results = [tf.identity(result) for result in self._results(outcome)]
            return results, backward

        results = tf.custom_gradient(forward)(*self.inputs, *self.weights)
        outcome = seen[-1]
        masks = masks_of(outcome.values, self.segment.makes)
        for key in self.segment.makes:
            values[key] = outcome.values[key]
        values.update(zip(self.made, results[: len(self.made)], strict=True))
        for key, mask in masks.items():
            attach_mask(values[key], mask)
        for variable, value in outcome.updates:
            variable.assign(value)
        for (layer, _), loss in zip(outcome.losses, results[len(self.made) :], strict=True):
            # Functional models refuse their own `add_loss`; any layer's takes a loss at call time.
            keras().layers.Layer.add_loss(layer, loss)

    def _gradients(
        self, upstream: Any, back: Any, weights: Any, variables: Any, stored: Any
    ) -> tuple[list[Any], list[Any]]:
        tf = tensorflow()
        # Waiting for what comes from above makes the second run late, and keeps TensorFlow from taking it for
        # the first one and merging the two.
        after = [gradient for gradient in upstream if gradient is not None]
        inputs = back(after)
        with tf.control_dependencies(after):
            again = [tf.identity(weight) for weight in weights]
            others = {key: tf.identity(tensor) for key, tensor in self.others.items()}
            masks = {key: tf.identity(mask) for key, mask in self.masks.items()}
            states = [(variable, tf.identity(value)) for variable, value in self.states]
        mark_gate([*inputs, *again, *others.values(), *masks.values(), *(value for _, value in states)])
        start = _traced()
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([*inputs, *again, *variables])
            outcome = self._replayed(inputs, again, others, masks, states, stored, again=True)
            results = self._results(outcome)
        backward = _traced()
        found = tape.gradient(results, [*inputs, *again, *variables], output_gradients=list(upstream))
        # The parts of a segment have ordered their own.
        if not tf.executing_eagerly() and not self.segment.parts:
            sums = one_by_one(start, backward, self.segment.batch)
            found = [sums.get(one.name, one) if isinstance(one, tf.Tensor) else one for one in found]
        return self._together(found, len(inputs), len(inputs) + len(again))

    @staticmethod
    def _together(found: list[Any], inputs: int, count: int) -> tuple[list[Any], list[Any]]:
        """Hands on what flows to earlier segments only when all gradients are there: one ends before the next begins.

        The weights' own gradients are free at once, so that the updates that they are for need not wait.
        """
        tf = tensorflow()
        dense = [None if gradient is None else tf.convert_to_tensor(gradient) for gradient in found]
        # A bias's gradient may be run as one with a kernel's of an earlier segment, which waits for this one.
        with tf.control_dependencies([one for one in dense if one is not None and not of_bias(one)]):
            flowing = [None if gradient is None else tf.identity(gradient) for gradient in dense[:inputs]]
        whole = [*flowing, *dense[inputs:]]
        return whole[:count], whole[count:]
