"""The few things of Keras and TensorFlow that have no public name, all in one place.

Keras runs a functional model's graph by these; whoever runs it in pieces has to do the same.
"""

from __future__ import annotations

import importlib
import inspect
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


def _module(name: str) -> Any:
    return importlib.import_module(f"keras.src.{name}")


@contextmanager
def noted_scopes() -> Iterator[dict[str, str]]:
    """Notes which layer opens each name scope of the graph that is being traced: the layer's name, by the scope.

    A scope's own name does not tell: TensorFlow numbers what is opened again, and Keras what is made again.
    """
    graph = importlib.import_module("tensorflow").compat.v1.get_default_graph
    opening = _module("backend.tensorflow.core").name_scope
    layer = _module("layers.layer").Layer
    enter, found = opening.__enter__, dict[str, str]()

    def entering(scope: Any) -> Any:
        result = enter(scope)
        if isinstance(scope.caller, layer):
            found[graph().get_name_scope()] = scope.caller.name
        return result

    opening.__enter__ = entering
    try:
        yield found
    finally:
        opening.__enter__ = enter


@contextmanager
def keeping_rows(batch: int) -> Iterator[None]:
    """Says how many rows layers make where TensorFlow lost that: a vocabulary's, for one.

    Args:
        batch: rows of what is fed in.
    """
    tf = importlib.import_module("tensorflow")
    layer = _module("layers.layer").Layer
    usual = layer.__call__

    def known(tensor: Any) -> Any:
        if not isinstance(tensor, tf.Tensor) or not tensor.shape.rank or tensor.shape[0] is not None:
            return tensor
        result = tf.ensure_shape(tensor, (batch, *tensor.shape[1:]))
        for name in ("_keras_mask", "_keras_logits"):
            if hasattr(tensor, name):
                setattr(result, name, getattr(tensor, name))
        return result

    def calling(self: Any, *args: Any, **kwargs: Any) -> Any:
        return tf.nest.map_structure(known, usual(self, *args, **kwargs))

    layer.__call__ = calling
    try:
        yield
    finally:
        layer.__call__ = usual


def numbered_names() -> dict[str, int]:
    """Returns how far Keras has numbered the names of layers, by their classes."""
    return dict(_module("backend.common.global_state").get_global_attribute("object_name_uids") or {})


def number_names_from(before: dict[str, int]) -> None:
    """Makes Keras number names as if nothing had been made since.

    Args:
        before: what `numbered_names` returned then.
    """
    _module("backend.common.global_state").set_global_attribute("object_name_uids", defaultdict(int, before))


def mask_of(tensor: Any) -> Any:
    """Returns the mask that Keras attached to a tensor, or None.

    Args:
        tensor: any tensor.
    """
    return getattr(tensor, "_keras_mask", None)


def attach_mask(tensor: Any, mask: Any) -> None:
    """Attaches a mask to a tensor, as Keras's layers look for it.

    Args:
        tensor: any tensor.
        mask: a boolean tensor.
    """
    _module("backend").set_keras_mask(tensor, mask)


def has_logits(tensor: Any) -> bool:
    """Whether Keras's losses find the logits behind a tensor, and use those instead of it.

    Args:
        tensor: any tensor of a graph.
    """
    made_by = getattr(getattr(tensor, "op", None), "type", "")
    return hasattr(tensor, "_keras_logits") or made_by in ("Softmax", "Sigmoid")


def recording() -> bool:
    """Whether a gradient may be asked for of what is computed now."""
    return bool(importlib.import_module("tensorflow.python.eager.record").could_possibly_record())


def autocast_dtype() -> str | None:
    """Returns the type that variables are being cast to where they are read, None for no cast."""
    scope = _module("backend.common.variables").get_autocast_scope()
    return None if scope is None else scope.dtype


def autocast(dtype: str | None) -> AbstractContextManager[Any]:
    """Returns a scope in which variables are cast to a type where they are read.

    Args:
        dtype: a float type, or None for no cast.
    """
    scope: AbstractContextManager[Any] = _module("backend.common.variables").AutocastScope(dtype)
    return scope


def with_context(operation: Any, context: dict[str, Any]) -> Any:
    """Returns a callable that hands `training` and the like to an operation, as a functional model does.

    Args:
        operation: a layer or another operation.
        context: the arguments by name.
    """
    return _module("models.functional").operation_fn(operation, **context)


def functional_of(model: Any) -> Any:
    """Returns the functional graph behind a model whose `call` is Keras's own, or None.

    Args:
        model: a functional or Sequential model, or anything else.
    """
    functional = _module("models.functional").Functional
    sequential = _module("models.sequential").Sequential
    call = getattr(type(model), "call", None)
    if isinstance(model, functional) and call is functional.call:
        return model
    if isinstance(model, sequential) and call is sequential.call:
        return model._functional
    return None


def nodes_in_order(functional: Any) -> list[Any]:
    """Returns the nodes of a functional graph in the order in which Keras runs them.

    Args:
        functional: what `functional_of` returned.
    """
    by_depth = functional._nodes_by_depth
    return [node for depth in sorted(by_depth, reverse=True) for node in by_depth[depth]]


def wait_for(operation: Any, others: list[Any]) -> None:
    """Makes an operation of a graph wait for others, which may have been traced after it.

    Args:
        operation: runs when the others have ended.
        others: must not depend on it.
    """
    operation._add_control_inputs(others)


def bypass(identity: Any) -> None:
    """Lets those that read an identity operation of a graph read what it reads.

    Args:
        identity: hands each of its inputs on as it is.
    """
    for source, result in zip(identity.inputs, identity.outputs, strict=True):
        replace_tensor(result, source)


def replace_tensor(old: Any, new: Any) -> None:
    """Lets those that read one tensor of a graph read another one.

    Args:
        old: the tensor that is read.
        new: takes its place.
    """
    for reader in list(old.consumers()):
        for place, tensor in enumerate(reader.inputs):
            if tensor is old:
                reader._update_input(place, new)


def replace_operation(old: Any, new: Any) -> None:
    """Lets all that reads what an operation of a graph makes, or waits for it, read or wait for another one.

    Args:
        old: makes one tensor.
        new: makes one like it.
    """
    replace_tensor(old.outputs[0], new.outputs[0])
    for reader in old._control_outputs:
        others = [new if other is old else other for other in reader.control_inputs]
        reader._remove_all_control_inputs()
        reader._add_control_inputs(others)


def with_python(model: Any, name: str, change: Callable[[Any], Any]) -> Any:
    """Returns a `tf.function` like one of a model's that traces a changed Python function; None for no such method.

    Args:
        model: a keras.Model.
        name: of its method, or of what was put on the model itself.
        change: returns what is traced instead of a Python function.
    """
    function = inspect.getattr_static(model, name)
    python, clone = (getattr(function, attribute, None) for attribute in ("python_function", "_clone"))
    if python is None or clone is None:
        return None
    # Autograph rewrites a method, and not what TensorFlow makes of one.
    return clone(change(python if name in vars(model) else types.MethodType(python, model)))


def standing_for(again: Any, stored: Any) -> Any:
    """Returns a tensor with the value of one and the gradient of another.

    `tf.custom_gradient` would do, but the operation that it makes reads both, so that both are computed.

    Args:
        again: the tensor that the gradient goes to; nothing computes it where only its value was wanted.
        stored: the same value, computed before.
    """
    record = importlib.import_module("tensorflow.python.eager.record")
    with record.stop_recording():
        result = importlib.import_module("tensorflow").identity(stored)
    record.record_operation("standing_for", [result], [again], lambda upstream: [upstream])
    return result
