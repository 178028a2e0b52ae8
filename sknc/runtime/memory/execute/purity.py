"""Which steps may be run a second time: those that compute the same from the same values.

Keras's own random layers do, because their seeds are replayed. A layer that asks TensorFlow for random numbers
directly, calls Python, or looks into a table does not say so anywhere but in the operations that it makes.
"""

from __future__ import annotations

from typing import Any

from .flatten import FlatGraph

# Stateful by declaration, but a second time changes nothing.
_HARMLESS = frozenset({"Assert", "PrintV2", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarHandleOp"})
# Gradients of these are sparse, and Keras's optimisers treat them so, only while they are not recomputed.
_SPARSE = frozenset({"Embedding"})


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
