"""The `tensorflow` accounting profile, as data: which operations share buffers, and what allocators add.

The lists follow TensorFlow's CPU and GPU kernels: `forward_input_or_allocate_output` in an elementwise kernel
reuses an input that nobody else holds; shape operations hand their input on.
"""

from __future__ import annotations

from dataclasses import dataclass

# The output is the input's buffer. The last three work on a variable that lives for a part of a step: TensorFlow adds
# up gradients in one where it takes memory to be short.
SHARING = frozenset(
    "Identity IdentityN Reshape ExpandDims Squeeze StopGradient PreventGradient Snapshot CheckNumerics EnsureShape "
    "Bitcast ReadVariableOp Assign AssignAdd DestroyTemporaryVariable".split()
)

# The output takes the buffer of an input of its size when no other operation needs that one any more.
IN_PLACE = frozenset(
    "Abs Add AddN AddV2 BiasAdd Ceil Cos DivNoNan Elu EluGrad Erf Erfc Exp Expm1 Floor FloorDiv Inv LeakyRelu "
    "LeakyReluGrad Log Log1p LogicalAnd LogicalNot LogicalOr LogSoftmax Maximum Minimum Mul MulNoNan Neg Pow RealDiv "
    "Reciprocal Relu Relu6 Relu6Grad ReluGrad Round Rsqrt RsqrtGrad Selu SeluGrad Sigmoid SigmoidGrad Sign Sin "
    "Softmax Softplus SoftplusGrad Softsign Sqrt SqrtGrad Square SquaredDifference Sub Tanh TanhGrad Xdivy".split()
)

# The executor runs these at once instead of handing them to its threads.
INEXPENSIVE = frozenset(
    "Const ExpandDims Identity IdentityN NoOp PreventGradient Rank ReadVariableOp Reshape Shape ShapeN Size Squeeze "
    "StopGradient".split()
)

# Heavy: their layers start a segment, as CONV and FC do in the paper.
HEAVY = frozenset(
    "BatchMatMul BatchMatMulV2 BatchMatMulV3 Conv1D Conv2D Conv3D DepthwiseConv2dNative Einsum MatMul While "
    "StatelessWhile Conv2DBackpropInput Conv3DBackpropInputV2 ResourceGather GatherV2".split()
)


@dataclass(frozen=True, slots=True)
class Allocator:
    """An allocator of TensorFlow, by the constants of its source.

    Attributes:
        name: 'default' or 'bfc'.
        counted_from: smaller requests go to the system and appear in no statistics.
        alignment: requests are rounded up to a multiple of it.
        first_region: bytes of the first region that it asks the system for.
        split_from: a chunk is split when this much or as much as was wanted would be left.
    """

    name: str
    counted_from: int
    alignment: int
    first_region: int
    split_from: int


ALLOCATORS = {
    # The CPU allocator of a build with oneDNN: best fit for large requests, the system for small ones.
    "default": Allocator("default", 256 * 1024, 256, 2 << 20, 128 << 20),
    # TF_CPU_ALLOCATOR_USE_BFC=1, and what a GPU has.
    "bfc": Allocator("bfc", 1, 256, 2 << 20, 128 << 20),
}
