"""The traced step after TensorFlow's own graph optimiser, which is what the executor gets to run.

Grappler folds constants, merges equal operations, fuses some, and moves multiplications by constants to places where
they no longer wait for a gradient: their results are then there early, and are held.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import tensorflow as tf

_FETCHED = "train_op"
# Elements of a placeholder for which the optimiser may make up a value.
_LARGE = 1 << 20
_HANDLE = "/sknc_handle"
_LOWERED = "_lower_using_switch_merge"
# Some rewritings are for placed operations only.
_DEVICE, _HOST = (f"/job:localhost/replica:0/task:0/device:CPU:{number}" for number in (0, 1))


@dataclass(frozen=True)
class Optimized:
    """A graph as TensorFlow runs it.

    Attributes:
        by_name: its operations in order, by their names.
    """

    by_name: Mapping[str, Any]

    @property
    def ops(self) -> tuple[Any, ...]:
        """Its operations in order."""
        return tuple(self.by_name.values())

    def moved(self, tensor: Any) -> Any:
        """The tensor of this graph that a tensor of the traced one became; itself where it is gone."""
        op = self.by_name.get(tensor.op.name)
        return tensor if op is None else op.outputs[tensor.value_index]


def _is_large(node: Any) -> bool:
    """Whether a node is a placeholder for so much that no value should be made up for it."""
    sizes = [dimension.size for dimension in node.attr["shape"].shape.dim] if node.op == "Placeholder" else [0]
    return prod(sizes) > _LARGE


def _prepared(node: Any, device: str) -> list[Any]:
    """A node as it is optimised; for a large placeholder, a variable and an operation that reads it.

    The optimiser makes up a value for each placeholder, as large as it says: with all weights, the whole model.
    """
    node = type(node).FromString(node.SerializeToString())
    node.device = device
    # A loop taken apart is a cycle, which nothing here can follow.
    node.attr.pop(_LOWERED, None)
    if not _is_large(node):
        return [node]
    handle = type(node)(name=node.name + _HANDLE, op="VarHandleOp", device=device)
    for name in ("dtype", "shape"):
        handle.attr[name].CopyFrom(node.attr[name])
    handle.attr["shared_name"].s = handle.name.encode()
    reading = type(node)(name=node.name, op="ReadVariableOp", input=[handle.name], device=device)
    reading.attr["dtype"].CopyFrom(node.attr["dtype"])
    return [handle, reading]


def optimized(graph: Any, wanted: Sequence[Any], host: str = "") -> Optimized | None:
    """Optimise a graph as TensorFlow does before a step runs.

    Args:
        graph: a tf.Graph without variables.
        wanted: tensors of it that have to be there afterwards.
        host: the device of a host pool, whose operations stay there; empty for none.

    Returns:
        The optimised graph; None where this TensorFlow has no optimiser that can be called, or it fails.
    """
    try:
        optimizer = importlib.import_module("tensorflow.python.grappler.tf_optimizer")
        config = importlib.import_module("tensorflow.core.protobuf.config_pb2").ConfigProto()
    except ImportError:
        return None
    definition = graph.as_graph_def()
    stand_ins = {node.name: node for node in definition.node if node.op == "Placeholder"}
    nodes = [
        part for node in definition.node for part in _prepared(node, _HOST if host and node.device == host else _DEVICE)
    ]
    del definition.node[:]
    definition.node.extend(nodes)
    meta = tf.compat.v1.MetaGraphDef(graph_def=definition)
    fetched = dict.fromkeys(tensor.op.name for tensor in wanted)
    meta.collection_def[_FETCHED].node_list.value.extend(fetched)
    try:
        found = optimizer.OptimizeGraph(config, meta, strip_default_attributes=False)
        kept = [stand_ins.get(node.name, node) for node in found.node if not node.name.endswith(_HANDLE)]
        for node in kept:
            node.device = host if node.device == _HOST else ""
        del found.node[:]
        found.node.extend(kept)
        with tf.Graph().as_default() as result:
            tf.import_graph_def(found, name="")
    except (ValueError, tf.errors.OpError):
        return None
    by_name = {op.name: op for op in result.get_operations()}
    return Optimized(by_name) if fetched.keys() <= by_name.keys() else None
