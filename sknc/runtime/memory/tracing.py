"""Traces the train step of a Keras model without computing anything.

Variables are replaced by placeholders while the model is called, so that no weight is read, and none is
needed: a model that was built inside `keras.StatelessScope()` has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from .errors import PlanError
from .opgraph import GRADIENT, OpGraph, UpdateOp, UpdateRule
from .tfgraph import GRADIENT_SCOPE, LayerNames, needed_ops, op_graph, tensor_bytes
from .tfrules import SHARING

_RULE_SHAPE = (3, 5)


@dataclass(frozen=True, slots=True)
class Traced:
    """A traced train step.

    Attributes:
        graph: forward and backward pass.
        parameters: bytes of all variables.
        trained: bytes of the trained variables.
        inputs: bytes of the input batch and its targets.
    """

    graph: OpGraph
    parameters: int
    trained: int
    inputs: int


def input_specs(model: Any, shape: Sequence[int] | None = None) -> list[Any]:
    """Shapes and types of a model's inputs, without the batch axis.

    Args:
        model: a keras.Model.
        shape: the shape of its one input, where the model does not say it.

    Returns:
        One keras.KerasTensor an input; its first axis is the batch.

    Raises:
        PlanError: when a shape is not known.
    """
    if shape is not None:
        return [keras.KerasTensor((None, *shape), dtype=keras.backend.floatx())]
    specs = list(getattr(model, "inputs", None) or [])
    if not specs:
        built = getattr(model, "_build_shapes_dict", None) or {}
        shapes = [found for found in built.values() if isinstance(found, (tuple, list))]
        specs = [keras.KerasTensor(tuple(found), dtype=keras.backend.floatx()) for found in shapes]
    if not specs:
        raise PlanError(f"the model '{model.name}' does not say the shape of its input; give --input-shape")
    for spec in specs:
        if any(size is None for size in spec.shape[1:]):
            raise PlanError(f"the input of '{model.name}' has the shape {spec.shape}; give --input-shape")
    return specs


def _placeholder(shape: Sequence[int | None], dtype: Any, batch: int | None = None) -> Any:
    sizes = [batch if size is None else size for size in shape]
    return tf.compat.v1.placeholder(dtype, sizes)


def trace_step(model: Any, batch: int, shape: Sequence[int] | None = None, host: str = "") -> Traced:
    """Trace forward and backward pass of a model.

    Args:
        model: a keras.Model; compiled or not.
        batch: samples in a batch.
        shape: the shape of its one input, where the model does not say it.
        host: a device whose memory does not count; empty for none.

    Returns:
        The operation graph and what the variables and the batch hold.

    Raises:
        PlanError: when a shape is not known or the model cannot be called symbolically.
    """
    specs = input_specs(model, shape)
    if not all(layer.built for layer in model._flatten_layers()):
        # A subclassed model makes its layers' variables when it is called, here with shapes alone.
        model(_fed(model, [keras.KerasTensor((batch, *spec.shape[1:]), spec.dtype) for spec in specs]))
    with tf.Graph().as_default() as graph:
        inputs = [_placeholder((batch, *spec.shape[1:]), spec.dtype) for spec in specs]
        stand_ins = {id(variable): _placeholder(variable.shape, variable.dtype) for variable in model.variables}
        weights = [stand_ins[id(variable)] for variable in model.trainable_variables]
        states = [stand_ins[id(variable)] for variable in model.non_trainable_variables]
        with tf.GradientTape() as tape:
            for weight in weights:
                tape.watch(weight)
            outputs, new_states = model.stateless_call(weights, states, _fed(model, inputs), training=True)
            targets, loss = _loss(model, outputs)
        forward = len(graph.get_operations())
        gradients = tape.gradient(loss, weights)
    dense = [gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient for gradient in gradients]
    pairs = {weight.ref(): gradient for weight, gradient in zip(weights, dense, strict=True) if gradient is not None}
    batch_tensors = [*inputs, *targets]
    held = [*stand_ins.values(), *batch_tensors]
    places = {op: number for number, op in enumerate(graph.get_operations())}
    result = op_graph(
        graph.get_operations(),
        [loss, *new_states, *pairs.values()],
        held,
        [place for place, stand_in in enumerate(held) if len(stand_in.shape) > 1 and place < len(stand_ins)],
        pairs,
        LayerNames(layer_classes(model), model.name),
        lambda op: places[op] >= forward or op.name.startswith(GRADIENT_SCOPE),
        host,
    )
    return Traced(
        result,
        sum(map(tensor_bytes, stand_ins.values())),
        sum(map(tensor_bytes, weights)),
        sum(map(tensor_bytes, batch_tensors)),
    )


def _fed(model: Any, inputs: list[Any]) -> Any:
    """Inputs in the structure that the model is called with."""
    structure = getattr(model, "_inputs_struct", None)
    if structure is not None:
        return keras.tree.pack_sequence_as(structure, inputs)
    return inputs[0] if len(inputs) == 1 else inputs


def _loss(model: Any, outputs: Any) -> tuple[list[Any], Any]:
    """Targets and a loss: the compiled one where it can be called, else one that holds as much."""
    losses, targets = [], []
    flat = keras.tree.flatten(outputs)
    for output, loss in zip(flat, _loss_functions(model, flat), strict=True):
        sparse = "sparse" in getattr(loss, "name", "")
        target = _placeholder(output.shape[:-1] if sparse else output.shape, "int32" if sparse else output.dtype)
        targets.append(target)
        losses.append(loss(target, output))
    return targets, tf.add_n([tf.cast(loss, "float32") for loss in losses])


def _loss_functions(model: Any, outputs: list[Any]) -> list[Any]:
    said = getattr(getattr(model, "_compile_loss", None), "_user_loss", None)
    if isinstance(said, (list, tuple)) and len(said) == len(outputs):
        return [keras.losses.get(loss) for loss in said]
    if isinstance(said, str) or callable(said):
        loss = keras.losses.get(said)
        if isinstance(loss, keras.losses.Loss):
            return [loss] * len(outputs)
        if isinstance(said, str):
            return [keras.losses.get({"class_name": _class_name(loss), "config": {}})] * len(outputs)
    return [_usual_loss(output) for output in outputs]


def _class_name(function: Any) -> str:
    return "".join(part.capitalize() for part in function.__name__.split("_"))


def _usual_loss(output: Any) -> Any:
    if output.op.type == "Softmax":
        return keras.losses.SparseCategoricalCrossentropy()
    return keras.losses.MeanSquaredError()


def layer_classes(model: Any) -> dict[str, str]:
    """The class of every layer of a model, by the layer's name."""
    return {layer.name: type(layer).__name__ for layer in model._flatten_layers(include_self=False)}


def update_rule(optimizer: Any) -> UpdateRule:
    """What an optimiser does to one variable, found by applying it to a small one.

    Args:
        optimizer: a Keras optimiser or its name; 'momentum' is SGD with momentum.

    Returns:
        Its rule.

    Raises:
        PlanError: when there is no such optimiser.
    """
    fresh = _fresh_optimizer(optimizer)
    variable = keras.Variable(tf.zeros(_RULE_SHAPE))
    fresh.build([variable])
    slots = [slot for slot in fresh.variables if tuple(slot.shape) == _RULE_SHAPE]
    traced = tf.function(lambda gradient: fresh.apply([gradient], [variable]), autograph=False)
    graph = traced.get_concrete_function(tf.TensorSpec(_RULE_SHAPE)).graph
    handles = {captured.ref(): inner for captured, inner in graph.captures}
    mine = handles.get(variable.value.handle.ref())
    gradient = graph.inputs[0]
    name = optimizer if isinstance(optimizer, str) else type(fresh).__name__.lower()
    return UpdateRule(name, _rule_ops(graph, gradient, mine), len(slots))


def _fresh_optimizer(optimizer: Any) -> Any:
    try:
        if optimizer == "momentum":
            return keras.optimizers.SGD(momentum=0.9)
        found = keras.optimizers.get(optimizer)
    except ValueError as error:
        raise PlanError(f"no optimizer '{optimizer}'") from error
    return type(found).from_config(found.get_config())


def _rule_ops(graph: Any, gradient: Any, handle: Any) -> tuple[UpdateOp, ...]:
    assigning = [op for op in graph.get_operations() if op.type.startswith("Assign")]
    # What leads to no assignment is pruned before the step runs.
    needed = needed_ops(tensor for op in assigning for tensor in op.inputs) | set(assigning)
    numbers: dict[Any, int] = {gradient.op: GRADIENT}
    result: list[UpdateOp] = []
    for op in graph.get_operations():
        if op.type in ("Placeholder", "Const", "NoOp") or op in numbers or op not in needed:
            continue
        sources = [tensor.op for tensor in op.inputs if tensor.op in numbers]
        if op.type in SHARING and sources:
            numbers[op] = numbers[sources[0]]
            continue
        assigns = op.type.startswith("Assign")
        mine = bool(op.inputs) and handle is not None and op.inputs[0] is handle
        result.append(
            UpdateOp(
                op.type,
                tuple(dict.fromkeys(numbers[source] for source in sources)),
                tuple(numbers[other] for other in op.control_inputs if numbers.get(other, GRADIENT) != GRADIENT),
                # A variable is read where it lies.
                op.type != "ReadVariableOp" and any(tuple(tensor.shape) == _RULE_SHAPE for tensor in op.outputs),
                ("variable" if mine else "slot") if assigns else "",
                mine and not assigns,
            )
        )
        numbers[op] = len(result) - 1
    return tuple(result)
