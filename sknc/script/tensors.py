"""Tensors in expressions: operators, slices, shapes, and comparisons of their sizes."""

from __future__ import annotations

from typing import Any

import libcst as cst

from sknc.decompose.widths import Dim
from sknc.script import shapes
from sknc.script.interpreter import Interpreter
from sknc.script.values import (
    UNKNOWN,
    Arguments,
    Const,
    Layer,
    Model,
    Seq,
    Size,
    Tensor,
    Value,
    whole,
)


def operate(interp: Interpreter, left: Value, right: Value, matmul: bool = False) -> Value:
    """Apply an operator to a tensor and something else.

    Args:
        interp: the reading.
        left: one side; at least one of both is a tensor.
        right: the other side.
        matmul: whether it is a matrix product.

    Returns:
        The tensor that it gives.
    """
    found = [value for value in (left, right) if isinstance(value, Tensor)]
    if matmul and len(found) == 2:
        return _product(interp, found[0], found[1])
    if matmul or any(not isinstance(value, (Tensor, Const, Size)) for value in (left, right)):
        for tensor in found:
            interp.fix_value(tensor, "it is combined with something that is not known")
        return Tensor(None if matmul else found[0].shape, None, tuple(found))
    layer = Layer("Add", Arguments(), None)
    shape = shapes.merge(interp, layer, found) if len(found) == 2 else found[0].shape
    return Tensor(shape, layer if len(found) == 2 else found[0].producer, tuple(found))


def _product(interp: Interpreter, left: Tensor, right: Tensor) -> Tensor:
    """A matrix product with a weight: the inner sizes are equal, the outer one is the weight's."""
    if left.shape is None or right.shape is None or len(right.shape) != 2 or right.sources:
        for tensor in (left, right):
            interp.fix_value(tensor, "a matrix product joins it with a size that is not known")
        return Tensor(None, None, (left, right))
    interp.graph.equal(left.last, right.shape[0], "a matrix product joins it with a size that is fixed")
    return Tensor((*left.shape[:-1], right.last), Layer("matmul", Arguments(), None), (left, right))


def transpose(interp: Interpreter, tensor: Tensor, axes: Value | None) -> Tensor:
    """Let the axes of a tensor change places."""
    order = [whole(item) for item in axes.items] if isinstance(axes, Seq) else []
    shape = tensor.shape or ()
    if len(order) != len(shape) + 1 or order[0] != 0 or None in order:
        interp.fix_value(tensor, "its axes change places")
        return Tensor(None, tensor.producer, (tensor,))
    return Tensor(
        tuple(shape[axis - 1] for axis in order[1:] if axis), Layer("transpose", Arguments(), None), (tensor,)
    )


def compare_sizes(
    interp: Interpreter, op: Any, left: Value, left_node: cst.CSTNode, right: Value, right_node: cst.CSTNode
) -> Value:
    """Compare a width with a number: the number becomes a width too, so that both shrink alike."""
    dims: list[Dim] = []
    for value, node in ((left, left_node), (right, right_node)):
        if isinstance(value, Size):
            dims.append(value.dim)
        elif whole(value) is not None and interp.block is not None:
            layer = Layer("comparison", Arguments(), node)
            dims.append(Dim.var(interp.add_slot(layer, "size", whole(value), "compare", node)))
        else:
            dims.append(Dim.fixed(whole(value)))
    bases = [interp.graph.base(dim) for dim in dims]
    if None in bases:
        for dim in dims:
            interp.graph.fix(dim, "it is compared with a number that is not known")
        return UNKNOWN
    if bases[0] == bases[1]:
        interp.graph.equal(dims[0], dims[1], "it is compared with a fixed number")
    truth = bool(op(*bases))
    interp.graph.compared.append((dims[0], dims[1], op, truth))
    return Const(truth)


def slice_tensor(interp: Interpreter, owner: Tensor, node: cst.Subscript) -> Value:
    """Index or slice a tensor: axes that are indexed vanish; touching the last one keeps its width."""
    if owner.shape is None:
        return Tensor(None, owner.producer, (owner,))
    dims: list[Dim] = []
    parts = [element.slice for element in node.slice]
    ellipsis = any(isinstance(p, cst.Index) and isinstance(p.value, cst.Ellipsis) for p in parts)
    if ellipsis or len(parts) > len(owner.shape) + 1:
        interp.fix_value(owner, "it is sliced")
        return Tensor(None, owner.producer, (owner,))
    for axis, dim in enumerate(owner.shape, start=1):
        part = parts[axis] if axis < len(parts) else None
        whole_axis = part is None or (isinstance(part, cst.Slice) and part.lower is None and part.upper is None)
        if whole_axis:
            dims.append(dim)
            continue
        interp.graph.fix(dim, "it is sliced")
        if isinstance(part, cst.Slice):
            dims.append(Dim.fixed(None))
    return Tensor(tuple(dims), owner.producer, (owner,))


def shape_attribute(interp: Interpreter, owner: Tensor | Model, name: str) -> Value | None:
    """Say what a shape-like attribute of a tensor or model is; None for other attributes."""
    tensor = owner if isinstance(owner, Tensor) else (owner.outputs[0] if owner.outputs else None)
    if isinstance(owner, Model) and name == "layers":
        return Seq(listed(owner))
    if isinstance(owner, Model) and name in ("output", "outputs", "input", "inputs"):
        ends = owner.outputs if name.startswith("output") else owner.inputs
        if name in ("output", "input"):
            return ends[0] if len(ends) == 1 else UNKNOWN
        return Seq(list(ends))
    if name in ("shape", "output_shape") and tensor is not None:
        return UNKNOWN if tensor.shape is None else Seq([Const(None), *(_size(interp, dim) for dim in tensor.shape)])
    return None


def listed(model: Model) -> list[Value]:
    """Return a model's layers as `model.layers` has them: what is fed into a Sequential model is none."""
    return [one for one in model.layers if not (model.sequential and isinstance(one, Tensor))]


def _size(interp: Interpreter, dim: Dim) -> Value:
    if dim.variables:
        return Size(dim, dim.value)
    return UNKNOWN if dim.constant is None else Const(dim.constant)
