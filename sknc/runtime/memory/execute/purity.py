"""Which steps may be run a second time: those that compute the same from the same values.

Keras's own random layers do, because their seeds are replayed. A layer that asks TensorFlow for random numbers
directly, calls Python, or looks into a table does not say so anywhere but in the operations that it makes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .flatten import FlatGraph

# Stateful by declaration, but a second time changes nothing.
_HARMLESS = frozenset({"Assert", "PrintV2", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarHandleOp"})


def sparse_steps(graph: FlatGraph, sparse: Iterable[Any]) -> frozenset[int]:
    """Returns the places of steps whose gradients are sparse.

    Keras's optimisers treat a sparse gradient as one, and it is one only while its layer is not recomputed.

    Args:
        graph: the flat graph.
        sparse: the variables whose gradients are sparse.
    """
    wanted = {id(variable) for variable in sparse}
    return frozenset(
        place
        for place, step in enumerate(graph.steps)
        if not step.enters and any(id(variable) in wanted for variable in getattr(step.operation, "variables", ()))
    )


def impure(operation: Any) -> bool:
    """Says whether an operation may give something else a second time, or change something.

    Args:
        operation: of a TensorFlow graph.
    """
    return bool(operation.op_def.is_stateful) and operation.type not in _HARMLESS
