"""From a `tf.Graph` to an operation graph: what is needed, what is folded away, how large, whose layer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from .loops import LOOPS, loop_scratch, loop_sizes
from .opgraph import Op, OpGraph
from .unroll import Unroller

GRADIENT_SCOPE = "gradient_tape/"
# Constants from so many bytes on count.
LARGE = 64 << 10
# The collection of a graph in which those who run a network in segments note where a segment's backward pass begins.
GATES = "sknc_gates"
# TensorFlow folds operations on constants while it optimises a graph, up to about this size of the result.
FOLDED = 10 * 1024 * 1024
# Operations that copy, under names that no rule of TensorFlow's kernels is about.
TO_HOST, FROM_HOST = "ToHost", "FromHost"
_SHAPES = frozenset({"Shape", "ShapeN", "Rank", "Size", "BroadcastGradientArgs"})
# Fused operations compute as much as their first part.
_FUSED = {"_FusedConv2D": "Conv2D", "_FusedMatMul": "MatMul", "_FusedDepthwiseConv2dNative": "DepthwiseConv2dNative"}
_CONVOLUTIONS = {
    # operation: whose elements are multiplied, whose shape is the kernel's (an input, or the output where
    # None)
    "Conv2D": ("output", 1),
    "Conv3D": ("output", 1),
    "DepthwiseConv2dNative": ("output", 1),
    "Conv2DBackpropInput": ("gradient", 1),
    "Conv2DBackpropFilter": ("gradient", None),
    "Conv3DBackpropInputV2": ("gradient", 1),
    "Conv3DBackpropFilterV2": ("gradient", None),
    "DepthwiseConv2dNativeBackpropInput": ("gradient", 1),
    "DepthwiseConv2dNativeBackpropFilter": ("gradient", None),
}


def elements(tensor: Any) -> int:
    """Elements of a symbolic tensor; 0 where its shape is not known."""
    shape = tensor.shape
    if shape.rank is None or any(size is None for size in shape):
        return 0
    return prod(shape)


def tensor_bytes(tensor: Any) -> int:
    """Bytes of a symbolic tensor; 0 for handles and where its shape is not known."""
    return elements(tensor) * int(tensor.dtype.size or 0) if tensor.dtype.name not in ("variant", "resource") else 0


def flops(op: Any) -> int:
    """Floating point operations of an operation, for the order of events and the cost of recomputing."""
    kind = _FUSED.get(op.type, op.type)
    if kind in ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
        name = "transpose_a" if kind == "MatMul" else "adj_x"
        shape = op.inputs[0].shape
        inner = shape[-2 if op.get_attr(name) else -1] or 1
        return 2 * elements(op.outputs[0]) * int(inner)
    if kind in _CONVOLUTIONS:
        moved, kernel = _CONVOLUTIONS[kind]
        weights = op.outputs[0] if kernel is None else op.inputs[kernel]
        values = op.outputs[0] if moved == "output" else op.inputs[2]
        depthwise = kind.startswith("Depthwise")
        return 2 * elements(values) * int(prod(weights.shape[: -2 if depthwise else -1]))
    return sum(elements(tensor) for tensor in op.outputs)


def slowness(op: Any) -> int:
    """How many times longer a kernel takes than its work and its bytes say; measured on CPUs, with oneDNN.

    What it decides is which of two operations that run at once ends first: a dense layer's kernel is updated while the
    gradient of its input is still being computed from it.
    """
    if op.type == "MaxPoolGrad":
        return 10  # one thread, which looks for the largest values again
    if op.type == "MatMul" and op.get_attr("transpose_b") and elements(op.inputs[1]) > elements(op.inputs[0]):
        return 3
    return 1


def scratch(op: Any) -> tuple[int, ...]:
    """Bytes of the tensors that a kernel makes for itself."""
    if op.type == "MaxPoolGrad":
        # The pooled values once more, and where each came from, as int64.
        return tensor_bytes(op.inputs[1]), 8 * elements(op.inputs[1])
    return ()


def needed_ops(wanted: Iterable[Any]) -> set[Any]:
    """The operations that some tensors depend on."""
    needed: set[Any] = set()
    stack = [tensor.op for tensor in wanted]
    while stack:
        op = stack.pop()
        if op not in needed:
            needed.add(op)
            stack += [tensor.op for tensor in op.inputs]
            stack += op.control_inputs
    return needed


def folded_ops(ops: Sequence[Any]) -> set[Any]:
    """The operations that are known before the step runs."""
    folded: set[Any] = set()
    for op in ops:
        # What draws random numbers or looks something up gives its value only when it runs.
        if op.type == "Placeholder" or op.op_def.is_stateful:
            continue
        known = all(tensor.op in folded for tensor in op.inputs)
        fixed_shape = op.type in _SHAPES and all(tensor.shape.is_fully_defined() for tensor in op.inputs)
        if op.type == "Const" or fixed_shape or (known and sum(map(tensor_bytes, op.outputs)) <= FOLDED):
            folded.add(op)
    return folded


def kept_ops(ops: Sequence[Any], wanted: Sequence[Any]) -> list[Any]:
    """The operations that a step runs, each after those that it needs: not known before it runs, not handed in."""
    needed, folded = needed_ops(wanted), folded_ops(ops)
    return [op for op in _in_order(ops) if op in needed and op not in folded and op.type != "Placeholder"]


def _in_order(ops: Sequence[Any]) -> list[Any]:
    """Operations as they were traced, but what was put in between afterwards before those that need it."""
    found: list[Any] = []
    seen: set[Any] = set()
    for last in ops:
        stack = [(last, False)]
        while stack:
            op, ready = stack.pop()
            if ready:
                found.append(op)
            elif op not in seen:
                seen.add(op)
                before = [*(tensor.op for tensor in op.inputs), *op.control_inputs]
                stack += [(op, True), *((other, False) for other in reversed(before))]
    return found


class Twins:
    """Finds operations that compute the same from the same: TensorFlow runs one of them."""

    def __init__(self) -> None:
        self.first: dict[Any, Any] = {}
        self.same: dict[Any, Any] = {}

    def of(self, op: Any) -> Any:
        """The earlier operation that computes what this one does, or None."""
        if op.op_def.is_stateful or op.type in LOOPS:
            return None
        # Operations without data inputs (random bits, say) are told apart by their names.
        inputs = tuple(self.known(tensor) for tensor in op.inputs) or op.name
        waits = frozenset(self.same.get(other, other).name for other in op.control_inputs)
        attributes = tuple(sorted((name, str(value)) for name, value in op.node_def.attr.items() if name[0] != "_"))
        key = (op.type, inputs, waits, attributes)
        found = self.first.setdefault(key, op)
        if found is op:
            return None
        self.same[op] = found
        return found

    def stand_in(self, op: Any, ids: dict[Any, int], numbers: dict[Any, int]) -> bool:
        """Let an earlier operation stand for this one, where there is one that computes the same."""
        twin = self.of(op)
        if twin is None:
            return False
        ids.update((mine.ref(), ids[its.ref()]) for mine, its in zip(op.outputs, twin.outputs, strict=True))
        numbers[op] = numbers[twin]
        return True

    def known(self, tensor: Any) -> tuple[str, Any]:
        """A tensor, by its first twin's name; a constant, by its value."""
        op = self.same.get(tensor.op, tensor.op)
        if op.type == "Const":
            return "constant", op.get_attr("value").SerializeToString()
        return op.name, tensor.value_index


class LayerNames:
    """Finds the call of a layer that an operation belongs to, by its name scope.

    Args:
        layers: for each layer's name, its class.
        model: the model's name; its scope is no layer.
        scopes: the layer that opened each scope, as far as that was noted; others are found by their names.
    """

    def __init__(self, layers: Mapping[str, str], model: str, scopes: Mapping[str, str] | None = None) -> None:
        self.layers = layers
        self.model = model
        self.scopes = scopes or {}
        self.found: dict[str, str] = {}

    def call(self, name: str) -> tuple[str, bool]:
        """The call of a layer, as a scope of its own, and whether the operation is of the backward pass."""
        backward = name.startswith(GRADIENT_SCOPE)
        path = name.removeprefix(GRADIENT_SCOPE).split("/")[:-1]
        deepest = 0
        names: list[str] = []
        for depth, part in enumerate(path, start=1):
            known = self.scopes.get("/".join(path[:depth])) or self.known(part)
            if known is None:
                break
            if known != self.model:
                deepest = depth
                names.append(known)
        scope = "/".join(path[:deepest])
        if scope:
            self.found.setdefault(scope, "/".join(names))
        return scope, backward

    def titles(self) -> dict[str, str]:
        """What to call each call of a layer: by the layer's name, numbered where the layer is called again."""
        again: dict[str, int] = {}
        titles = {}
        for scope, name in self.found.items():
            again[name] = again.get(name, 0) + 1
            titles[scope] = name if again[name] == 1 else f"{name}#{again[name]}"
        return titles

    def class_of(self, scope: str) -> str:
        """The class of the layer that a scope is a call of."""
        return self.layers[self.found[scope].split("/")[-1]]

    def known(self, part: str) -> str | None:
        """The layer that a part of a scope names; TensorFlow appends a number for each further call."""
        for name in (part, re.sub(r"_\d+$", "", part)):
            if name in self.layers or name == self.model:
                return name
        return None


def in_sum(op: Any) -> list[Any]:
    """Returns what an addition of several tensors adds up, in the order in which it is added.

    Args:
        op: of a graph; TensorFlow's own optimiser sorts by name.
    """
    return sorted(op.inputs, key=lambda tensor: str(tensor.name).removesuffix(":0"))


def _operation(
    op: Any, kind: str, ids: Mapping[Any, int], numbers: Mapping[Any, int], layer: str, backward: bool, loop: Any
) -> Op:
    return Op(
        kind,
        tuple(ids[tensor.ref()] for tensor in (in_sum(op) if kind == "AddN" else op.inputs) if tensor.ref() in ids),
        tuple(ids[tensor.ref()] for tensor in op.outputs),
        tuple(numbers[other] for other in op.control_inputs if other in numbers),
        flops(op),
        layer,
        backward,
        loop_scratch(loop, backward) if loop else scratch(op),
        slower=slowness(op),
    )


def _copied(op: Any, host: str) -> str:
    """Whether an operation of the host takes a tensor there, or hands one back, which the device then holds."""
    if not host or op.device != host:
        return ""
    return TO_HOST if any(tensor.op.device != host for tensor in op.inputs) else FROM_HOST


def _made(op: Any, loop: Any, copied: str) -> list[tuple[int, int]]:
    """The bytes of what an operation makes, and of how many tensors each consists."""
    if loop:
        return loop_sizes(loop)
    return [(0 if copied == TO_HOST else tensor_bytes(tensor), 1) for tensor in op.outputs]


def op_graph(
    ops: Sequence[Any],
    wanted: Sequence[Any],
    held: Sequence[Any],
    drawn: Iterable[int],
    gradients: Mapping[Any, Any],
    names: Any,
    late: frozenset[str],
    traced: Any,
    unrolled: bool = False,
    gates: Sequence[Sequence[Any]] = (),
    host: str = "",
) -> OpGraph:
    """Turn TensorFlow's operations into an operation graph.

    Args:
        ops: all operations in traced order.
        wanted: tensors that the step has to make.
        held: placeholders for variables and the input batch.
        drawn: places in `held` of variables whose first values are drawn at random.
        gradients: the gradient of each variable's placeholder, by the placeholder's reference.
        names: a `LayerNames`, or what finds other parts in the same way.
        late: names of the operations that were traced after the forward pass.
        traced: the graph as it was traced, which knows the bodies of loops.
        unrolled: whether loops are written turn by turn.
        gates: groups of operations at which a segment's backward pass begins.
        host: a device whose memory does not count; empty for none.

    Returns:
        The forward and backward pass.
    """
    ids: dict[Any, int] = {tensor.ref(): number for number, tensor in enumerate(held)}
    sizes = [*map(tensor_bytes, held), *_large_constants(ops, wanted)]
    lasting = frozenset(range(len(sizes)))
    numbers, pieces = dict[Any, int](), dict[int, int]()
    result: list[Op] = []
    twins, unroller = Twins(), Unroller(ids, sizes, result, flops)

    def write(op: Any) -> None:
        loop = traced.get_operation_by_name(op.name) if op.type in LOOPS else None
        layer, backward = names.call(op.name)
        backward = backward or (not layer and op.name in late)
        if unrolled and unroller.takes(op, loop):
            unroller.write(op, loop, layer, backward)
            return
        copied = _copied(op, host)
        for tensor, (size, count) in zip(op.outputs, _made(op, loop, copied), strict=True):
            ids[tensor.ref()] = len(sizes)
            pieces[len(sizes)] = count
            sizes.append(size)
        result.append(_operation(op, copied or op.type, ids, numbers, layer, backward, loop))

    for op in kept_ops(ops, wanted):
        if not twins.stand_in(op, ids, numbers):
            write(op)
            if result:
                numbers[op] = len(result) - 1
    known = {ids[one]: ids[other.ref()] for one, other in gradients.items() if other.ref() in ids}
    graph = OpGraph(tuple(result), tuple(sizes), lasting, known, {}, frozenset(drawn), pieces)
    return _titled(replace(graph, gates=_numbered(gates, numbers)), names)


def _large_constants(ops: Sequence[Any], wanted: Sequence[Any]) -> list[int]:
    """The bytes of large constants, which are there all the time: TensorFlow's own optimiser makes some."""
    needed = needed_ops(wanted)
    sizes = [tensor_bytes(op.outputs[0]) for op in ops if op.type == "Const" and op in needed]
    return [size for size in sizes if size >= LARGE]


def _numbered(gates: Sequence[Sequence[Any]], numbers: Mapping[Any, int]) -> tuple[tuple[int, ...], ...]:
    groups = (tuple(numbers[op] for op in gate if op in numbers) for gate in gates)
    return tuple(group for group in groups if group)


def _titled(graph: OpGraph, names: Any) -> OpGraph:
    """A graph whose operations say the titles of their layers instead of scopes."""
    titles = names.titles()
    layers = {title: names.class_of(scope) for scope, title in titles.items()}
    return replace(graph, ops=tuple(replace(op, layer=titles.get(op.layer, "")) for op in graph.ops), layers=layers)
