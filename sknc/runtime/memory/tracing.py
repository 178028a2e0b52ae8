"""Traces the train step of a Keras model without computing anything.

Variables are replaced by placeholders while the model is called, so that no weight is read, and none is
needed: a model that was built inside `keras.StatelessScope()` has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from .errors import PlanError
from .execute.internals import keeping_rows, noted_scopes
from .grappler import optimized
from .loops import LOOPS, says_its_turns
from .losses import own_training, traced_loss
from .opgraph import OpGraph
from .tfgraph import GATES, LayerNames, op_graph, tensor_bytes

_GIVE = "give --input-shape (input_shape=... in Python), that of one sample"


@dataclass(frozen=True, slots=True)
class Traced:
    """A traced train step.

    Attributes:
        graph: forward and backward pass as traced, layer by layer.
        run: the same as TensorFlow runs it, after its own optimiser.
        parameters: bytes of all variables, and of the constants that the model's code keeps.
        trained: bytes of the trained variables.
        inputs: bytes of the input batch and its targets.
        notes: what of the training is not what was traced, for the user.
        sparse: places among the model's trained variables of those whose gradients are sparse.
    """

    graph: OpGraph
    run: OpGraph
    parameters: int
    trained: int
    inputs: int
    notes: tuple[str, ...] = ()
    sparse: frozenset[int] = frozenset()


def input_structure(model: Any, shape: Any = None) -> Any:
    """Shapes and types of a model's inputs in the structure that the model is called with.

    Args:
        model: a keras.Model.
        shape: the shape of its one input, or its inputs as keras.KerasTensor in their structure, where the model does
            not say it.

    Returns:
        A keras.KerasTensor an input; its first axis is the batch.

    Raises:
        PlanError: when a shape is not known.
    """
    structure = getattr(model, "_inputs_struct", None)
    if shape is not None:
        given = keras.tree.flatten(shape)
        if given and all(isinstance(spec, keras.KerasTensor) for spec in given):
            return shape
        asked = len(keras.tree.flatten(structure)) if structure is not None else 1
        if asked > 1:
            raise PlanError(f"the model '{model.name}' has {asked} inputs, and an input shape says that of one")
        dtype = keras.tree.flatten(structure)[0].dtype if structure is not None else keras.backend.floatx()
        return keras.KerasTensor((None, *shape), dtype=dtype)
    if structure is None:
        structure = list(getattr(model, "inputs", None) or [])
    built = list((getattr(model, "_build_shapes_dict", None) or {}).values())
    if isinstance(structure, list) and not structure and built:
        structure = keras.tree.map_shape_structure(
            lambda found: keras.KerasTensor((None, *found[1:]), dtype=keras.backend.floatx()), built
        )
    specs = keras.tree.flatten(structure)
    if not specs:
        raise PlanError(f"the model '{model.name}' does not say the shape of its input; {_GIVE}")
    for spec in specs:
        if any(size is None for size in spec.shape[1:]):
            raise PlanError(f"the input of '{model.name}' has the shape {spec.shape}; {_GIVE}")
    return structure[0] if isinstance(structure, list) and len(structure) == 1 else structure


def says_shapes(model: Any) -> bool:
    """Whether a model says the shapes of its inputs, all but the batch.

    Args:
        model: a keras.Model.
    """
    try:
        input_structure(model)
    except PlanError:
        return False
    return True


def input_specs(model: Any, shape: Any = None) -> list[Any]:
    """The inputs of `input_structure` as a list.

    Args:
        model: a keras.Model.
        shape: as there.

    Returns:
        One keras.KerasTensor an input; its first axis is the batch.

    Raises:
        PlanError: when a shape is not known.
    """
    return list(keras.tree.flatten(input_structure(model, shape)))


def _placeholder(shape: Sequence[int | None], dtype: Any, batch: int | None = None) -> Any:
    sizes = [batch if size is None else size for size in shape]
    return tf.compat.v1.placeholder(dtype, sizes)


def trace_step(model: Any, batch: int, shape: Any = None, names: Any = None, host: str = "") -> Traced:
    """Trace forward and backward pass of a model.

    Args:
        model: a keras.Model; compiled or not.
        batch: samples in a batch.
        shape: the shape of its one input, or its inputs as keras.KerasTensor, where the model does not say it.
        names: says which part of the model an operation belongs to; a `LayerNames` of its layers when left out.
        host: a device whose memory does not count; empty for none.

    Returns:
        The operation graph and what the variables and the batch hold.

    Raises:
        PlanError: when a shape is not known or the model cannot be called symbolically.
    """
    structure = input_structure(model, shape)
    try:
        return _trace(model, batch, structure, names, host)
    except PlanError:
        raise
    except Exception as error:  # the user's code, or Keras's on it
        said = f"{type(error).__name__}: {brief(error)}"
        raise PlanError(f"the training step of '{model.name}' cannot be traced: {said}") from error


def _trace(model: Any, batch: int, structure: Any, names: Any, host: str) -> Traced:
    specs = keras.tree.flatten(structure)
    more = {"training": True} if takes_training(model) else {}
    if not all(layer.built for layer in model._flatten_layers()):
        # A subclassed model makes its layers' variables when it is called, here with shapes alone.
        symbols = [keras.KerasTensor((batch, *spec.shape[1:]), spec.dtype) for spec in specs]
        model(keras.tree.pack_sequence_as(structure, symbols))
    # A function's graph: what the user's code took from outside (a table of positions, a metric's counts) is handed in.
    with tf.__internal__.FuncGraph("sknc_step").as_default() as graph, noted_scopes() as scopes, keeping_rows(batch):
        inputs = [_placeholder((batch, *spec.shape[1:]), spec.dtype) for spec in specs]
        stand_ins = {id(variable): _placeholder(variable.shape, variable.dtype) for variable in model.variables}
        weights = [stand_ins[id(variable)] for variable in model.trainable_variables]
        states = [stand_ins[id(variable)] for variable in model.non_trainable_variables]
        with tf.GradientTape() as tape:
            for weight in weights:
                tape.watch(weight)
            fed = keras.tree.pack_sequence_as(structure, inputs)
            outputs, new_states, added = model.stateless_call(weights, states, fed, return_losses=True, **more)
            if not keras.tree.flatten(outputs):
                raise PlanError(f"the model '{model.name}' returns nothing that could be trained")
            targets, loss, notes = traced_loss(model, outputs, added, _placeholder)
        forward = len(graph.get_operations())
        gradients = tape.gradient(loss, weights)
    dense = [gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient for gradient in gradients]
    pairs = {weight.ref(): gradient for weight, gradient in zip(weights, dense, strict=True) if gradient is not None}
    batch_tensors = [*inputs, *targets]
    outside = [inner for _, inner in graph.captures]
    held = [*stand_ins.values(), *batch_tensors, *outside]
    late = frozenset(op.name for op in graph.get_operations()[forward:])
    drawn = [place for place, stand_in in enumerate(held) if len(stand_in.shape) > 1 and place < len(stand_ins)]
    names = names or LayerNames(layer_classes(model), model.name, scopes)
    gates = graph.get_collection(GATES)

    def made(moved: Callable[[Any], Any], ops: Sequence[Any], unrolled: bool) -> OpGraph:
        wanted = [moved(tensor) for tensor in (loss, *new_states, *pairs.values())]
        kept = [moved(tensor) for tensor in held]
        of = {old.ref(): new for old, new in zip(held, kept, strict=True)}
        moved_pairs = {of[weight].ref(): moved(gradient) for weight, gradient in pairs.items()}
        moved_gates = [[moved(tensor).op for tensor in group] for group in gates]
        return op_graph(ops, wanted, kept, drawn, moved_pairs, names, late, graph, unrolled, moved_gates, host)

    starts = [tensor for group in gates for tensor in group]
    found = optimized(graph, [loss, *new_states, *pairs.values(), *starts], host)
    return Traced(
        made(lambda tensor: tensor, graph.get_operations(), unrolled=False),
        made(lambda tensor: tensor, graph.get_operations(), unrolled=True)
        if found is None
        else made(found.moved, found.ops, unrolled=True),
        sum(map(tensor_bytes, (*stand_ins.values(), *outside))),
        sum(map(tensor_bytes, weights)),
        sum(map(tensor_bytes, batch_tensors)),
        (*own_training(model), *notes, *_loop_notes(graph.get_operations(), names)),
        frozenset(place for place, gradient in enumerate(gradients) if isinstance(gradient, tf.IndexedSlices)),
    )


def _loop_notes(ops: Sequence[Any], names: Any) -> list[str]:
    """What to say about loops whose number of turns nothing tells."""
    endless = [op.name for op in ops if op.type in LOOPS and not says_its_turns(op)]
    scopes = dict.fromkeys(names.call(name)[0] for name in endless)
    places = [names.titles().get(scope, scope) for scope in scopes]
    return [
        f"a loop {f'in {place}' if place else 'outside of layers'} does not say how often it turns "
        "(tf.while_loop takes maximum_iterations); one turn was counted"
        for place in places
    ]


def brief(error: BaseException) -> str:
    """What an error says, in one line without what Keras puts around it.

    Args:
        error: of the user's code, or of Keras.

    Returns:
        At most some 200 characters.
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).partition("Arguments received by")[0]
    text = text.rpartition("Error encountered:")[2]
    text = " ".join(re.sub(r"Exception encountered when calling [^\n]*\n", "", text).split())
    return text if len(text) <= 200 else f"{text[:200]}..."


def takes_training(layer: Any) -> bool:
    """Whether the `call` of a layer or model takes `training`, as Keras found out; a user's need not.

    Args:
        layer: a layer or a model.

    Returns:
        Whether Keras hands it over.
    """
    return bool(getattr(layer, "_call_has_training_arg", True))


def layer_classes(model: Any) -> dict[str, str]:
    """The class of every layer of a model, by the layer's name."""
    return {layer.name: type(layer).__name__ for layer in model._flatten_layers(include_self=False)}
