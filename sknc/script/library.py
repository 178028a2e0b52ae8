"""Calls of libraries in thought: what is known of Keras and of functions on tensors."""

from __future__ import annotations

import libcst as cst

from sknc.decompose.widths import Dim
from sknc.script import entries, making, mutate, namespaces, network, python, shapes, tensors
from sknc.script.interpreter import Interpreter
from sknc.script.layers import FILE_READERS, FILE_WRITERS, MERGE_FUNCTIONS, SAME_FUNCTIONS, WRITERS
from sknc.script.values import (
    UNKNOWN,
    Arguments,
    Bound,
    Function,
    Instance,
    Layer,
    Made,
    Model,
    Partial,
    Seq,
    Tensor,
    UserClass,
    Value,
    constant,
    whole,
)

_MODELS = ("keras.Model", "keras.models.Model", "keras.engine.training.Model", "keras.Functional")
_SEQUENTIALS = ("keras.Sequential", "keras.models.Sequential")
_LOADERS = ("keras.models.load_model", "keras.saving.load_model")
_EXISTS = ("os.path.exists", "os.path.isfile", "os.path.isdir", "tensorflow.io.gfile.exists")


def call_library(interp: Interpreter, full: str, args: Arguments, node: cst.Call | None) -> Value:
    """Say what a call of something imported returns.

    Args:
        interp: the reading.
        full: the full name of what is called.
        args: its arguments.
        node: the call in the text.

    Returns:
        The value, or the name of what made it.
    """
    name = making.keras_name(full)
    for function in (v for v in (*args.positional, *args.keywords.values()) if isinstance(v, Function)):
        mutate.forget_touched(function)
    last = name.rsplit(".", 1)[-1]
    if last == "Input" and name.startswith("keras."):
        return making.input_tensor(interp, args, node)
    layer = making.layer_name(name)
    if layer is not None:
        return making.make_layer(interp, layer, args, node)
    if name in _SEQUENTIALS:
        return network.sequential(interp, args, node)
    if name in _MODELS:
        return network.functional(interp, args, node)
    if name.startswith("keras.applications.") and last[:1].isupper():
        return _application(interp, args, node)
    if node is not None:
        _note_file(interp, name, last, args, node)
    if name in _LOADERS:
        model = Model(node, loaded=True)
        interp.made(model)
        return model
    return UNKNOWN if name in _EXISTS else _other(interp, name, last, args)


def _note_file(interp: Interpreter, name: str, last: str, args: Arguments, node: cst.Call) -> None:
    """Remember that a file is looked for, written or read."""
    if name in _LOADERS:
        interp.note("load", node, None, args)
    elif name in _EXISTS:
        interp.note("exists", node, None, args, "function")
    elif last in WRITERS and name.startswith("keras.callbacks."):
        interp.note("writer", node, None, args, last)
    elif name == "builtins.open":
        mode = constant(args.get("mode", 1)) if args.get("mode", 1) is not None else "r"
        writes = isinstance(mode, str) and any(letter in mode for letter in "wax+")
        interp.note("path" if writes else "read", node, None, args, name)
    elif name in FILE_WRITERS:
        interp.note("path", node, None, args, name)
    elif name in FILE_READERS:
        interp.note("read", node, None, args, name)


def _other(interp: Interpreter, name: str, last: str, args: Arguments) -> Value:
    known = _special(interp, name, args)
    if known is not None:
        return known
    found = list(network.tensors(Seq(args.positional))) if args.positional else []
    if any(isinstance(value, (Tensor, Seq)) for value in args.positional) and any(t.shape for t in found):
        return tensor_function(interp, last, args)
    computed = python.builtin(name, args)
    if computed is not None:
        return computed
    if name != "builtins.print":
        _give_away(interp, name, last, args)
    return Made(name, args)


def _special(interp: Interpreter, name: str, args: Arguments) -> Value | None:
    """Functions that are understood one by one; None for all others."""
    if name in ("keras.models.clone_model", "keras.ops.identity") and args.positional:
        return args.positional[0]
    if name == "functools.partial" and args.positional:
        nodes = {key - 1 if isinstance(key, int) else key: node for key, node in args.nodes.items() if key != 0}
        return Partial(args.positional[0], Arguments(args.positional[1:], args.keywords, nodes, args.open))
    if name == "builtins.getattr" and len(args.positional) >= 2 and isinstance(constant(args.positional[1]), str):
        from sknc.script.expressions import attribute

        return attribute(interp, args.positional[0], constant(args.positional[1]))
    found = namespaces.make(interp, name, args)
    if found is not None:
        return found
    if name in _ON_LISTS:
        computed = python.builtin(name, args)
        return None if computed is UNKNOWN else computed
    return None


def _give_away(interp: Interpreter, name: str, last: str, args: Arguments) -> None:
    """Whatever goes to a function that is not known may be used or changed there."""
    entries.offer_to(interp, name, args)
    for value in (*args.positional, *args.keywords.values()):
        interp.fix_value(value, f"what {last} does to it is not known")
        hand_over(interp, value, last)
        if not name.startswith(HARMLESS):
            mutate.forget_items(value)
    if name in ("builtins.exec", "builtins.eval"):
        interp.forget(list(interp.globals.names), interp.globals)
    if name == "builtins.setattr" and len(args.positional) == 3:
        _setattr(interp, args)


_ON_LISTS = tuple(f"builtins.{name}" for name in "len list tuple enumerate zip reversed dict".split())
"""Built-in functions that do not look at the elements."""


def hand_over(interp: Interpreter, value: Value, to: str) -> None:
    """Remember that a function or class of the user's goes to code that cannot be seen."""
    if interp.block is not None and isinstance(value, (Function, UserClass)):
        interp.handed.append((value.node, to))
    elif isinstance(value, Bound) and isinstance(value.owner, (Function, UserClass)):
        hand_over(interp, value.owner, to)


HARMLESS = tuple(
    f"{root}."
    for root in (
        "keras tensorflow numpy sklearn builtins json pprint os matplotlib math pathlib itertools functools datetime"
        " time pandas logging"
    ).split()
)
"""Libraries whose functions leave the lists and dictionaries that they are given as they are."""


def _setattr(interp: Interpreter, args: Arguments) -> None:
    from sknc.script.assignments import set_attribute

    owner, name, value = args.positional
    namespaces.forget(owner)
    owner = owner.instance if isinstance(owner, Model) and owner.instance is not None else owner
    if isinstance(owner, (Instance, UserClass)):
        known = constant(name)
        every = owner.attributes if isinstance(owner, Instance) else owner.body.names
        if not isinstance(known, str):
            mutate.forget_items(owner)  # an attribute of its class may be hidden now
        for one in [known] if isinstance(known, str) else list(every):
            set_attribute(interp, owner, one, value if isinstance(known, str) else UNKNOWN)


def tensor_function(interp: Interpreter, last: str, args: Arguments) -> Value:
    """A function of a library on tensors."""
    first = args.positional[0]
    inputs = list(network.tensors(first))
    layer = Layer(last, args, None)
    if last in SAME_FUNCTIONS and isinstance(first, Tensor):
        return Tensor(first.shape, layer, (first,))
    rule = MERGE_FUNCTIONS.get(last)
    if rule is not None:
        if isinstance(first, Tensor):
            inputs += [t for value in args.positional[1:2] for t in network.tensors(value)]
        function = shapes.concatenate if rule == "concatenate" else shapes.merge
        if rule != "dot" and len(inputs) > 1:
            return Tensor(function(interp, layer, inputs), layer, tuple(inputs))
    if last in ("reduce_mean", "reduce_sum", "reduce_max", "reduce_min", "mean", "sum", "max", "min", "amax"):
        return _reduction(interp, args, layer)
    if last in ("transpose", "permute_dimensions") and isinstance(first, Tensor) and first.shape is not None:
        axes = args.get("axes", 1) or args.get("perm") or args.get("pattern")
        return tensors.transpose(interp, first, axes)
    if last == "matmul" and len(args.positional) == 2 and isinstance(first, Tensor):
        return tensors.operate(interp, first, args.positional[1], True)
    if last in ("shape", "int_shape") and isinstance(first, Tensor):
        from sknc.script.expressions import attribute

        return attribute(interp, first, "shape")
    for tensor in network.tensors(Seq(args.positional)):
        interp.fix_value(tensor, f"what {last} does to it is not known")
    return Tensor(None, layer, tuple(inputs))


def _reduction(interp: Interpreter, args: Arguments, layer: Layer) -> Value:
    first, axis = args.positional[0], args.get("axis", 1)
    axes = [whole(item) for item in axis.items] if isinstance(axis, Seq) else [whole(axis)]
    if not isinstance(first, Tensor) or first.shape is None or None in axes:
        interp.fix_value(first, "its axes are reduced")
        return Tensor(None, layer, (first,) if isinstance(first, Tensor) else ())
    rank = len(first.shape)
    gone = {a - 1 if a > 0 else rank + a for a in axes if a is not None}
    keep = constant(args.get("keepdims", 2)) is True
    dims = [Dim.fixed(1) if i in gone else d for i, d in enumerate(first.shape) if keep or i not in gone]
    return Tensor(tuple(dims), layer, (first,))


def _application(interp: Interpreter, args: Arguments, node: cst.Call | None) -> Value:
    """A ready-made network: its inner widths are its own, but it may give the output."""
    model = Model(node)
    top = args.get("include_top", 0)
    layer = Layer("Application", args, node)
    shape: tuple[Dim, ...] | None = None
    if top is None or constant(top) is True:
        given, expression = args.get("classes"), args.node("classes")
        last = Dim.fixed(1000)
        if given is not None and expression is not None:
            last = Dim.var(interp.add_slot(layer, "classes", whole(given), "output", expression))
        shape = (last,)
    elif args.get("pooling") is not None and constant(args.get("pooling")) is not None:
        shape = (Dim.fixed(None),)
    elif constant(top) is False:
        shape = (Dim.fixed(None), Dim.fixed(None), Dim.fixed(None))
    given_tensor = args.get("input_tensor")
    sources = (given_tensor,) if isinstance(given_tensor, Tensor) else (Tensor(None),)
    model.inputs = list(sources)
    model.layers = [layer]
    model.outputs = [Tensor(shape, layer, sources)]
    interp.made(model)
    return model
