"""Which steps may be run a second time: those that compute the same from the same values.

Keras's own random layers do, because their seeds are replayed. A layer that asks TensorFlow for random numbers
directly, calls Python, or looks into a table does not say so anywhere but in the operations that it makes.
"""

from __future__ import annotations

from typing import Any

from ...frameworks import tensorflow
from .flatten import FlatGraph
from .replay import read, recording_scope, variables_of

# Stateful by declaration, but a second time changes nothing.
_HARMLESS = frozenset({"Assert", "PrintV2", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarHandleOp"})
# Gradients of these are sparse, and Keras's optimisers treat them so, only while they are not recomputed.
_SPARSE = frozenset({"Embedding"})


def kept_steps(graph: FlatGraph, batch: int) -> frozenset[int]:
    """Returns the places of steps that must not be run a second time.

    Args:
        graph: the flat graph.
        batch: samples in a batch.
    """
    tf = tensorflow()
    found = set(sparse_steps(graph))

    def probe(*inputs: Any) -> None:
        operations = tf.compat.v1.get_default_graph().get_operations
        values = dict(zip(graph.inputs, inputs, strict=True))
        trained, others = variables_of(graph.steps)
        mapping = [(variable, read(variable)) for variable in (*trained, *others)]
        with recording_scope(mapping):
            for place, step in enumerate(graph.steps):
                before = len(operations())
                step.run(values, {"training": True})
                if any(impure(operation) for operation in operations()[before:]):
                    found.add(place)

    specs = [_spec(graph.specs[key], batch) for key in graph.inputs]
    tf.function(probe, autograph=False).get_concrete_function(*specs)
    return frozenset(found)


def sparse_steps(graph: FlatGraph) -> frozenset[int]:
    """Returns the places of steps whose gradients are sparse.

    Args:
        graph: the flat graph.
    """
    return frozenset(place for place, step in enumerate(graph.steps) if type(step.operation).__name__ in _SPARSE)


def impure(operation: Any) -> bool:
    """Says whether an operation may give something else a second time, or change something.

    Args:
        operation: of a TensorFlow graph.
    """
    return bool(operation.op_def.is_stateful) and operation.type not in _HARMLESS


def _spec(symbol: Any, batch: int) -> Any:
    tf = tensorflow()
    shape = [batch if place == 0 and size is None else size for place, size in enumerate(symbol.shape)]
    if getattr(symbol, "sparse", False):
        return tf.SparseTensorSpec(shape, symbol.dtype)
    return tf.TensorSpec(shape, symbol.dtype)
