"""Calls in thought: the user's functions and classes, methods, and what is known of libraries."""

from __future__ import annotations

import libcst as cst

from sknc.decompose.widths import Dim
from sknc.script import mutate, network, python, shapes, tensors
from sknc.script.interpreter import DEPTH, Frame, Interpreter
from sknc.script.layers import MERGE_FUNCTIONS, SAME_FUNCTIONS, WRITERS
from sknc.script.values import (
    UNKNOWN,
    Arguments,
    Bound,
    Const,
    Env,
    Function,
    Instance,
    Layer,
    Made,
    Mapping,
    Model,
    Partial,
    Ref,
    Seq,
    Size,
    Tensor,
    UserClass,
    Value,
    constant,
    whole,
)

_EVENTS = {
    "fit": "fit",
    "compile": "compile",
    "predict": "use",
    "evaluate": "use",
    "predict_on_batch": "use",
    "test_on_batch": "use",
    "save": "path",
    "save_weights": "path",
    "export": "path",
    "load_weights": "weights",
    "fit_generator": "removed",
    "predict_generator": "removed",
    "evaluate_generator": "removed",
    "predict_classes": "removed",
    "train_on_batch": "loop",
}


def call(interp: Interpreter, callee: Value | None, args: Arguments, node: cst.Call | None) -> Value:
    """Say what a call returns.

    Args:
        interp: the reading, which takes note of what the call makes.
        callee: what is called.
        args: its arguments.
        node: the call in the text, None for calls that Keras makes.

    Returns:
        The value, `UNKNOWN` when it cannot be told.
    """
    if interp.exhausted():
        return UNKNOWN
    if isinstance(callee, Ref):
        return _library(interp, callee.name, args, node)
    if isinstance(callee, Function):
        return _function(interp, callee, args, node)
    if isinstance(callee, UserClass):
        return _construct(interp, callee, args, node)
    if isinstance(callee, Partial):
        return call(interp, callee.callee, _merged(callee.args, args), node)
    if isinstance(callee, Bound):
        return _bound(interp, callee, args, node)
    if isinstance(callee, Instance) and callee.cls.method("__call__") is not None:
        return network.call_method(interp, callee, "__call__", args)
    return network.apply(interp, callee, args)


def _merged(first: Arguments, then: Arguments) -> Arguments:
    shift = len(first.positional)
    nodes = dict(first.nodes)
    nodes.update({key + shift if isinstance(key, int) else key: node for key, node in then.nodes.items()})
    keywords = {**first.keywords, **then.keywords}
    return Arguments(first.positional + then.positional, keywords, nodes, first.open or then.open)


def _function(interp: Interpreter, function: Function, args: Arguments, node: cst.Call | None) -> Value:
    if len(interp.frames) > DEPTH:
        return UNKNOWN
    env = Env(function.env, owner=function.node)
    if function.receiver is not None:
        args = Arguments([function.receiver, *args.positional], args.keywords, {}, args.open)
        env.names["__self__"] = function.receiver
    if function.defined_in is not None:
        env.names["__class__"] = function.defined_in
    _bind(interp, function, args, env)
    with interp.inside(Frame("call", function.node, function, node.func if node is not None else None)):
        return _run(interp, function, env)


def _run(interp: Interpreter, function: Function, env: Env) -> Value:
    from sknc.script.expressions import evaluate
    from sknc.script.statements import execute_body

    if isinstance(function.node, cst.Lambda):
        return evaluate(interp, function.node.body, env)
    if _yields(function.node):
        return UNKNOWN
    returned: list[Value] = []
    env.returned = returned
    regions = len(interp.uncertain)
    ended = execute_body(interp, function.node.body, env)
    del interp.uncertain[regions:]
    if returned and ended != "leave":
        returned.append(Const(None))
    return interp.join_all(returned) if returned else Const(None)


class _Yields(cst.CSTVisitor):
    found = False

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def visit_Yield(self, node: cst.Yield) -> None:
        self.found = True


def _yields(node: cst.FunctionDef) -> bool:
    visitor = _Yields()
    node.body.visit(visitor)
    return visitor.found


def _bind(interp: Interpreter, function: Function, args: Arguments, env: Env) -> None:
    """Give the parameters of a function their values."""
    from sknc.script.expressions import evaluate

    parameters = function.node.params
    ordered = [*parameters.posonly_params, *parameters.params]
    positional = list(args.positional)
    keywords = dict(args.keywords)
    for parameter in [*ordered, *parameters.kwonly_params]:
        name = parameter.name.value
        if positional and parameter in ordered:
            env.names[name] = positional.pop(0)
        elif name in keywords:
            env.names[name] = keywords.pop(name)
        elif parameter.default is not None and not args.open:
            env.names[name] = evaluate(interp, parameter.default, function.env)
        else:
            env.names[name] = UNKNOWN
    if isinstance(parameters.star_arg, cst.Param):
        env.names[parameters.star_arg.name.value] = UNKNOWN if args.open else Seq(positional)
    if parameters.star_kwarg is not None:
        env.names[parameters.star_kwarg.name.value] = UNKNOWN if args.open else Mapping(dict(keywords))


def _construct(interp: Interpreter, cls: UserClass, args: Arguments, node: cst.Call | None) -> Value:
    made: Model | Instance
    instance = Instance(cls)
    if cls.derives("Model", "Functional", "Sequential"):
        made = Model(node, instance=instance, sequential=cls.derives("Sequential"))
    else:
        made = instance
    interp.made(made)
    if cls.method("__init__") is not None:
        from sknc.script.expressions import attribute

        method = attribute(interp, made, "__init__")
        if isinstance(method, Function):
            with interp.inside(Frame("class", cls.node, None, node.func if node is not None else None)):
                _function(interp, method, args, node)
    return made


def super_object(interp: Interpreter, env: Env) -> Value:
    """Say what `super()` is in a method."""
    receiver, cls = env.get("__self__"), env.get("__class__")
    instance = receiver.instance if isinstance(receiver, Model) else receiver
    if not isinstance(instance, Instance) or not isinstance(cls, UserClass):
        return UNKNOWN
    return Instance(instance.cls, instance.attributes, cls, receiver)


_NO_NETWORKS = ("sklearn.", "scipy.", "imblearn.", "xgboost.", "lightgbm.", "pandas.", "keras.preprocessing.")
"""Libraries whose objects have a `fit` that trains no Keras model."""


def _bound(interp: Interpreter, callee: Bound, args: Arguments, node: cst.Call | None) -> Value:
    owner, name = callee.owner, callee.name
    if name.startswith("super."):
        return _super_call(owner, name, args)
    if isinstance(owner, Seq):
        return mutate.list_method(interp, owner, name, args)
    if isinstance(owner, Mapping):
        return mutate.dict_method(interp, owner, name, args)
    if isinstance(owner, Const):
        return python.method(owner, name, args)
    if isinstance(owner, Model) or not isinstance(owner, (Layer, Tensor, Instance, Made, UserClass)):
        return _model_method(interp, owner, name, args, node)
    if isinstance(owner, Instance) and name in ("add_weight", "add_variable"):
        return _weight(args)
    if isinstance(owner, Made) and name in ("exists", "is_file", "is_dir") and node is not None:
        interp.note("exists", node, owner, owner.args, "method")
    if isinstance(owner, Made) and name == "fit" and node is not None and not owner.name.startswith(_NO_NETWORKS):
        interp.note("fit", node, None, args, name)
    return UNKNOWN


def _weight(args: Arguments) -> Value:
    """The weight of a layer of the user's: its shape may follow from the width of the layer's input."""
    given = args.get("shape", 0)
    if not isinstance(given, Seq):
        return UNKNOWN
    dims = [item.dim if isinstance(item, Size) else Dim.fixed(whole(item)) for item in given.items]
    return Tensor(tuple(dims) or (Dim.fixed(1),))


def _super_call(owner: Value, name: str, args: Arguments) -> Value:
    if isinstance(owner, Instance) and isinstance(owner.self_value, Model) and name == "super.__init__":
        if args.get("inputs", 0) is not None and args.get("outputs", 1) is not None:
            network.set_ends(owner.self_value, args)
        elif owner.self_value.sequential and isinstance(args.get("layers", 0), Seq):
            owner.self_value.layers = list(args.get("layers", 0).items)  # type: ignore[union-attr]
    return Const(None)


def _model_method(interp: Interpreter, owner: Value, name: str, args: Arguments, node: cst.Call | None) -> Value:
    if isinstance(owner, Model) and name == "add" and args.positional:
        owner.layers.append(args.positional[0])
        return Const(None)
    if isinstance(owner, Model) and name == "pop" and owner.layers:
        owner.layers.pop()
        return Const(None)
    if isinstance(owner, Model) and name in ("call", "__call__"):
        return network.apply(interp, owner, args)
    if isinstance(owner, Model) and name == "compile":
        owner.compiled = args
    event = _EVENTS.get(name)
    if event is not None and node is not None:
        if event == "fit" and isinstance(owner, Model):
            network.finish(interp, owner)
        interp.note(event, node, owner if isinstance(owner, Model) else None, args, name)
    return Made("keras.History", args) if name == "fit" else UNKNOWN


_MODELS = ("keras.Model", "keras.models.Model", "keras.engine.training.Model", "keras.Functional")
_SEQUENTIALS = ("keras.Sequential", "keras.models.Sequential")
_LOADERS = ("keras.models.load_model", "keras.saving.load_model")
_EXISTS = ("os.path.exists", "os.path.isfile", "os.path.isdir", "tensorflow.io.gfile.exists")


def _library(interp: Interpreter, full: str, args: Arguments, node: cst.Call | None) -> Value:
    name = network.keras_name(full)
    last = name.rsplit(".", 1)[-1]
    if last == "Input" and name.startswith("keras."):
        return network.input_tensor(interp, args, node)
    layer = network.layer_name(name)
    if layer is not None:
        return network.make_layer(interp, layer, args, node)
    if name in _SEQUENTIALS:
        return network.sequential(interp, args, node)
    if name in _MODELS:
        return network.functional(interp, args, node)
    if name.startswith("keras.applications.") and last[:1].isupper():
        return _application(interp, args, node)
    if name in _LOADERS:
        if node is not None:
            interp.note("load", node, None, args)
        model = Model(node, loaded=True)
        interp.made(model)
        return model
    if name in _EXISTS and node is not None:
        interp.note("exists", node, None, args, "function")
        return UNKNOWN
    if last in WRITERS and name.startswith("keras.callbacks.") and node is not None:
        interp.note("writer", node, None, args, last)
    return _other(interp, name, last, args)


def _other(interp: Interpreter, name: str, last: str, args: Arguments) -> Value:
    if name in ("keras.models.clone_model", "keras.ops.identity") and args.positional:
        return args.positional[0]
    if name == "functools.partial" and args.positional:
        nodes = {key - 1 if isinstance(key, int) else key: node for key, node in args.nodes.items() if key != 0}
        return Partial(args.positional[0], Arguments(args.positional[1:], args.keywords, nodes, args.open))
    if name == "builtins.getattr" and len(args.positional) >= 2 and isinstance(constant(args.positional[1]), str):
        from sknc.script.expressions import attribute

        return attribute(interp, args.positional[0], constant(args.positional[1]))
    found = list(network.tensors(Seq(args.positional))) if args.positional else []
    if any(isinstance(value, (Tensor, Seq)) for value in args.positional) and any(t.shape for t in found):
        return _tensor_function(interp, last, args)
    computed = python.builtin(name, args)
    if computed is not None:
        return computed
    for value in (*args.positional, *args.keywords.values()):
        interp.fix_value(value, f"what {last} does to it is not known")
        if not name.startswith(_HARMLESS):
            mutate.forget_items(value)
    if name in ("builtins.exec", "builtins.eval"):
        interp.forget(list(interp.globals.names), interp.globals)
    if name == "builtins.setattr" and len(args.positional) == 3:
        _setattr(interp, args)
    return Made(name, args)


_HARMLESS = ("keras.", "tensorflow.", "numpy.", "sklearn.", "builtins.", "json.", "pprint.", "os.", "matplotlib.", "math.",
             "pathlib.", "itertools.", "functools.", "datetime.", "time.", "pandas.", "logging.")  # fmt: skip
"""Libraries whose functions leave the lists and dictionaries that they are given as they are."""


def _setattr(interp: Interpreter, args: Arguments) -> None:
    from sknc.script.statements import set_attribute

    owner, name, value = args.positional
    owner = owner.instance if isinstance(owner, Model) and owner.instance is not None else owner
    if isinstance(owner, (Instance, UserClass)):
        known = constant(name)
        every = owner.attributes if isinstance(owner, Instance) else owner.body.names
        for one in [known] if isinstance(known, str) else list(every):
            set_attribute(interp, owner, one, value if isinstance(known, str) else UNKNOWN)


def _tensor_function(interp: Interpreter, last: str, args: Arguments) -> Value:
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
