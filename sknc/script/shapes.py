"""What layers and functions do to shapes, and the equations between widths that follow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sknc.decompose.widths import Dim
from sknc.script.interpreter import Interpreter
from sknc.script.layers import LAYERS
from sknc.script.values import Arguments, Const, Layer, Seq, Shape, Tensor, Value, constant, whole

Rule = Callable[[Interpreter, Layer, list[Tensor]], "Shape | None"]
_ANY = Dim.fixed(None)


def output_shape(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    """Apply a layer to tensors.

    Args:
        interp: the reading, whose width graph takes the equations.
        layer: the layer.
        inputs: the tensors it is called on; may be empty for a layer without known input.

    Returns:
        The shape of its output, without the batch; None when even the rank is not known.
    """
    known = LAYERS.get(layer.name)
    rule = RULES.get(known.shape) if known else None
    if rule is None:
        for tensor in inputs:
            interp.fix_value(tensor, f"what {layer.name} does to it is not known")
        return None
    return rule(interp, layer, inputs)


def _first(inputs: Sequence[Tensor]) -> Shape | None:
    return inputs[0].shape if inputs else None


def _slot(layer: Layer, name: str) -> Dim:
    if name in layer.sizes:
        return layer.sizes[name]
    variable = layer.slots.get(name)
    return _ANY if variable is None else Dim.var(variable)


def _same(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    return _first(inputs)


def _dense(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    # A rank that is not known counts as one: the programs check the real one before they train.
    return (*(_first(inputs) or ())[:-1], _slot(layer, "units"))


def _numbers(value: Value | None, rank: int, default: int) -> list[int | None]:
    if value is None:
        return [default] * rank
    if isinstance(value, Seq):
        return [whole(item) for item in value.items] if len(value.items) == rank else [None] * rank
    return [whole(value)] * rank


def _window(interp: Interpreter, layer: Layer, size: Dim, axis: int, rank: int, pool: bool) -> Dim:
    """One spatial size after a convolution or pooling."""
    kernel_name, kernel_pos = ("pool_size", 0) if pool else ("kernel_size", 1)
    kernel = _numbers(layer.args.get(kernel_name, kernel_pos), rank, 2 if pool else 1)[axis]
    default = kernel if pool else 1
    strides = layer.args.get("strides", kernel_pos + 1)
    step = default if constant(strides) is None and not isinstance(strides, Seq) else _numbers(strides, rank, 1)[axis]
    if strides is not None and not isinstance(strides, Const) and not isinstance(strides, Seq):
        step = None
    dilation = _numbers(layer.args.get("dilation_rate"), rank, 1)[axis] if not pool else 1
    known = interp.graph.base(size) if not size.variables else None
    padding = constant(layer.args.get("padding", kernel_pos + 2)) or "valid"
    if known is None or step is None or kernel is None or dilation is None or step < 1:
        return _ANY
    if str(padding).lower() == "valid":
        return Dim.fixed(max(0, (known - dilation * (kernel - 1) - 1) // step + 1))
    return Dim.fixed(math.ceil(known / step))


def _spatial(
    interp: Interpreter, layer: Layer, inputs: list[Tensor], size: Callable[[Dim, int], Dim]
) -> tuple[Dim, ...] | None:
    """The spatial sizes after a layer; fixes the channels where they do not stand last."""
    rank = LAYERS[layer.name].rank
    shape = _first(inputs)
    if constant(layer.args.get("data_format")) == "channels_first":
        for tensor in inputs:
            interp.fix_value(tensor, "its channels do not stand last")
        return None
    if shape is None or len(shape) <= rank:
        return tuple([_ANY] * rank)
    return tuple(size(dim, axis) for axis, dim in enumerate(shape[:-1][-rank:]))


def _conv(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    rank = LAYERS[layer.name].rank
    groups = layer.args.get("groups")
    if groups is not None and constant(groups) != 1 and (whole(groups) or 1) > 0:
        _grouped(interp, layer, inputs, whole(groups))
    spatial = _spatial(interp, layer, inputs, lambda d, a: _window(interp, layer, d, a, rank, False))
    return None if spatial is None else (*spatial, _slot(layer, "filters"))


def _grouped(interp: Interpreter, layer: Layer, inputs: list[Tensor], groups: int | None) -> None:
    for dim in (*(tensor.last for tensor in inputs), _slot(layer, "filters")):
        if groups is None:
            interp.graph.fix(dim, "the groups of its convolution are not known")
        else:
            interp.graph.multiple(dim, groups, "the groups of a convolution divide it")


def _conv_transpose(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    spatial = _spatial(interp, layer, inputs, lambda d, a: _ANY)
    return None if spatial is None else (*spatial, _slot(layer, "filters"))


def _depthwise(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    rank = LAYERS[layer.name].rank
    spatial = _spatial(interp, layer, inputs, lambda d, a: _window(interp, layer, d, a, rank, False))
    if spatial is None or not inputs:
        return None
    given = layer.args.get("depth_multiplier")
    times = Dim.fixed(1 if given is None else whole(given))
    return (*spatial, inputs[0].last * times)


def _pool(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    rank = LAYERS[layer.name].rank
    spatial = _spatial(interp, layer, inputs, lambda d, a: _window(interp, layer, d, a, rank, True))
    return None if spatial is None or not inputs else (*spatial, inputs[0].last)


def _spatial_unknown(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    spatial = _spatial(interp, layer, inputs, lambda d, a: _ANY)
    if spatial is None or not inputs:
        return None
    factor = _numbers(layer.args.get("size", 0), len(spatial), 2)
    shape = inputs[0].shape
    if layer.name.startswith("UpSampling") and shape is not None and len(shape) > len(spatial):
        sizes = [d * Dim.fixed(f) for d, f in zip(shape[:-1][-len(spatial) :], factor, strict=True)]
        spatial = tuple(sizes)
    return (*spatial, inputs[0].last)


def _global_pool(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    if _spatial(interp, layer, inputs, lambda d, a: _ANY) is None or not inputs:
        return None
    rank = LAYERS[layer.name].rank
    ones = tuple([Dim.fixed(1)] * rank) if constant(layer.args.get("keepdims")) else ()
    return (*ones, inputs[0].last)


def _flatten(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    shape = _first(inputs)
    if shape is None:
        return (_ANY,)
    total = Dim.fixed(1)
    for dim in shape:
        total = total * dim
    return (total,)


def _reshape(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    target = layer.args.get("target_shape", 0)
    shape = _first(inputs)
    if not isinstance(target, Seq) or not target.items:
        for tensor in inputs:
            interp.fix_value(tensor, "it is reshaped to a shape that is not known")
        return None
    sizes = [whole(item) for item in target.items]
    last = layer.slots.get("target_shape")
    last_dim = Dim.var(last) if last is not None else layer.sizes.get("target_shape", Dim.fixed(sizes[-1]))
    dims = [Dim.fixed(size if size != -1 else None) for size in sizes[:-1]] + [last_dim]
    why = "it is reshaped"
    if shape is None:
        interp.graph.fix(last_dim, why)
    elif -1 in sizes:
        if sizes[-1] != -1 and interp.graph.base(last_dim) == interp.graph.base(shape[-1]) is not None:
            interp.graph.equal(last_dim, shape[-1], why)
        elif sizes != [-1]:
            interp.fix_value(inputs[0], why)
            interp.graph.fix(last_dim, why)
    else:
        _equal_totals(interp, dims, shape, why)
    if sizes == [-1]:
        return _flatten(interp, layer, inputs)
    return tuple(dims)


def _equal_totals(interp: Interpreter, target: Sequence[Dim], shape: Shape, why: str) -> None:
    total = Dim.fixed(1)
    for dim in shape:
        total = total * dim
    wanted = Dim.fixed(1)
    for dim in target:
        wanted = wanted * dim
    if len(target) == len(shape) and all(a == b for a, b in zip(target[:-1], shape[:-1], strict=True)):
        interp.graph.equal(target[-1], shape[-1], why)
    else:
        interp.graph.equal(total, wanted, why)


def _permute(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    shape, order = _first(inputs), layer.args.get("dims", 0)
    axes = [whole(item) for item in order.items] if isinstance(order, Seq) else []
    if shape is None or len(axes) != len(shape):
        for tensor in inputs:
            interp.fix_value(tensor, "its axes change places")
        return None
    return tuple(shape[axis - 1] if axis and axis <= len(shape) else _ANY for axis in axes)


def _repeat(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    return (Dim.fixed(whole(layer.args.get("n", 0))), inputs[0].last) if inputs else None


def merge(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    """Add and its kind: last sizes are equal, but for those that are broadcast."""
    known = [tensor for tensor in inputs if tensor.shape]
    wide = [tensor for tensor in known if interp.graph.base(tensor.last) != 1]
    why = f"{layer.name} joins it with a size that is fixed"
    for axis in range(1, max((len(tensor.shape or ()) for tensor in known), default=0) + 1):
        dims = [tensor.shape[-axis] for tensor in known if tensor.shape and len(tensor.shape) >= axis]
        dims = [dim for dim in dims if interp.graph.base(dim) != 1]
        for dim in dims[1:]:
            interp.graph.equal(dims[0], dim, why)
    if len(known) < len(inputs):
        for tensor in known:
            interp.graph.fix(tensor.last, f"{layer.name} joins it with a size that is not known")
    longest = max(wide or known, key=lambda tensor: len(tensor.shape or ()), default=None)
    return longest.shape if longest is not None else None


def concatenate(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    """Concatenate: sizes along the axis add up, the others are equal."""
    given = layer.args.get("axis", 0 if layer.name == "Concatenate" else 1)
    axis = -1 if given is None else whole(given)
    known = [tensor.shape for tensor in inputs if tensor.shape is not None]
    more = len(known) < len(inputs)
    # Along the last axis what is not known adds to the size, whatever it is.
    if not known or axis is None or (more and axis != -1):
        for tensor in inputs:
            interp.fix_value(tensor, "it is joined with a size that is not known")
        return None
    rank = len(known[0])
    place = axis if axis < 0 else axis - 1 - rank
    if any(len(shape) != rank for shape in known) or not -rank <= place < 0:
        return None
    result = list(known[0])
    for shape in known[1:]:
        for axis in range(-rank, 0):
            if axis == place:
                result[axis] = result[axis] + shape[axis]
            else:
                interp.graph.equal(result[axis], shape[axis], "it is joined with a size that is fixed")
    return (*result[:-1], result[-1] + Dim.fixed(None)) if more else tuple(result)


def _dot(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    if len(inputs) == 2:
        interp.graph.equal(inputs[0].last, inputs[1].last, "a scalar product joins it with a size that is fixed")
    for tensor in inputs:
        if tensor.shape is None or len(tensor.shape) > 1:
            interp.fix_value(tensor, "a scalar product joins its axes")
    flat = all(tensor.shape is not None and len(tensor.shape) == 1 for tensor in inputs)
    return (Dim.fixed(1),) if inputs and flat else None


def _attention(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    if len(inputs) >= 2:
        key = inputs[2] if len(inputs) > 2 else inputs[1]
        interp.graph.equal(inputs[0].last, key.last, "attention compares it with a size that is fixed")
        shape = inputs[0].shape
        return None if shape is None else (*shape[:-1], inputs[1].last)
    return None


def _multi_head_attention(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    shape = _first(inputs)
    given = layer.args.get("output_shape")
    if shape is not None and given is not None and constant(given) is None:
        return None
    if shape is not None and whole(given) is not None:
        return (*shape[:-1], Dim.fixed(whole(given)))
    return shape


def _recurrent(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    return _sequence(layer, inputs, _slot(layer, "units"))


def _sequence(layer: Layer, inputs: list[Tensor], last: Dim) -> Shape | None:
    sequences = layer.args.get("return_sequences")
    if sequences is None or constant(sequences) is False:
        return (last,)
    shape = _first(inputs) or (_ANY, _ANY)
    return None if constant(sequences) is None else (*shape[:-1], last)


def _rnn(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    cell = layer.args.get("cell", 0)
    cells = cell.items if isinstance(cell, Seq) else [cell]
    last = cells[-1] if cells else None
    if not isinstance(last, Layer) or "units" not in last.slots:
        for tensor in inputs:
            interp.fix_value(tensor, "what its cell does is not known")
        return None
    return _sequence(layer, inputs, Dim.var(last.slots["units"]))


def _conv_lstm(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    sequences = constant(layer.args.get("return_sequences"))
    rank = LAYERS[layer.name].rank
    time = (_ANY,) if sequences else ()
    return (*time, *([_ANY] * rank), _slot(layer, "filters"))


def _bidirectional(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    inner = layer.inner
    if not isinstance(inner, Layer):
        return None
    shape = output_shape(interp, inner, inputs)
    given = layer.args.get("merge_mode", 1)
    mode = "concat" if given is None else constant(given)
    if shape is None or mode in ("sum", "mul", "ave"):
        return shape
    if mode == "concat":
        return (*shape[:-1], shape[-1] * Dim.fixed(2))
    interp.graph.fix(shape[-1], "its two directions are joined in a way that is not known")
    return None


def _time_distributed(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    from sknc.script.network import apply

    shape = _first(inputs)
    step = [Tensor(None if t.shape is None or len(t.shape) < 2 else t.shape[1:], t, (t,)) for t in inputs]
    inner = apply(interp, layer.inner, Arguments([*step]))
    if not isinstance(inner, Tensor) or inner.shape is None or shape is None:
        return None
    return (shape[0], *inner.shape)


def _wrapped(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    return output_shape(interp, layer.inner, inputs) if isinstance(layer.inner, Layer) else None


def _embedding(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    return (*(_first(inputs) or (_ANY,)), _slot(layer, "output_dim"))


def _group_normalization(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    given = layer.args.get("groups", 0)
    groups = 32 if given is None else whole(given)
    for tensor in inputs:
        if groups is None or groups == 0:
            interp.graph.fix(tensor.last, "the groups of its normalisation are not known")
        elif groups > 1:
            interp.graph.multiple(tensor.last, groups, "the groups of a normalisation divide it")
    return _first(inputs)


def _none(interp: Interpreter, layer: Layer, inputs: list[Tensor]) -> Shape | None:
    return None


RULES: dict[str, Rule] = {
    "same": _same,
    "dense": _dense,
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "depthwise": _depthwise,
    "pool": _pool,
    "global_pool": _global_pool,
    "spatial_unknown": _spatial_unknown,
    "flatten": _flatten,
    "reshape": _reshape,
    "permute": _permute,
    "repeat": _repeat,
    "merge": merge,
    "concatenate": concatenate,
    "dot": _dot,
    "attention": _attention,
    "multi_head_attention": _multi_head_attention,
    "recurrent": _recurrent,
    "rnn": _rnn,
    "cell": _none,
    "conv_lstm": _conv_lstm,
    "bidirectional": _bidirectional,
    "time_distributed": _time_distributed,
    "wrapped": _wrapped,
    "embedding": _embedding,
    "group_normalization": _group_normalization,
    "input": _same,
}
