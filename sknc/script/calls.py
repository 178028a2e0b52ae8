"""Calls in thought: the user's functions and classes, methods, and what is known of libraries."""

from __future__ import annotations

import libcst as cst

from sknc.script import entries, inner, library, making, mutate, namespaces, network, own_layers, python
from sknc.script.interpreter import DEPTH, RECURSION, Frame, Interpreter
from sknc.script.names import mentioned
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
    Tensor,
    UserClass,
    Value,
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
    "savefig": "path",
    "to_csv": "path",
    "to_json": "path",
    "to_pickle": "path",
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
        return library.call_library(interp, callee.name, args, node)
    if isinstance(callee, Function):
        return _function(interp, callee, args, node)
    if isinstance(callee, UserClass):
        return _construct(interp, callee, args, node)
    if isinstance(callee, Partial):
        return call(interp, callee.callee, _merged(callee.args, args), node)
    if isinstance(callee, Bound):
        return _bound(interp, callee, args, node)
    if isinstance(callee, Made) and callee.name.startswith("keras.activations.") and args.positional:
        return library.tensor_function(interp, "relu", args) if isinstance(args.positional[0], Tensor) else UNKNOWN
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
    again = sum(frame.node is function.node for frame in interp.frames)
    if len(interp.frames) > DEPTH or again >= RECURSION:
        return UNKNOWN
    env = Env(function.env, owner=function.node)
    if function.receiver is not None:
        args = Arguments([function.receiver, *args.positional], args.keywords, {}, args.open)
        env.names["__self__"] = function.receiver
    if function.defined_in is not None:
        env.names["__class__"] = function.defined_in
    _bind(interp, function, args, env)
    with interp.inside(Frame("call", function.node, function, node.func if node is not None else None)):
        found = _run(interp, function, env)
    return interp.join(found, UNKNOWN) if function.opaque else found


def _run(interp: Interpreter, function: Function, env: Env) -> Value:
    from sknc.script.expressions import evaluate
    from sknc.script.statements import execute_body

    if isinstance(function.node, cst.Lambda):
        return evaluate(interp, function.node.body, env)
    if _yields(function.node):
        mutate.forget_touched(function)
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
        elif name in function.defaults and not args.open:
            env.names[name] = function.defaults[name]
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
    if node is not None:
        interp.made_by[id(made)] = node.func
    if isinstance(made, Model) and cls.method("__init__") is None and args.get("outputs", 1) is not None:
        network.set_ends(made, args)
    if cls.method("__init__") is not None:
        from sknc.script.expressions import attribute

        method = attribute(interp, made, "__init__")
        if isinstance(method, Function):
            with interp.inside(Frame("class", cls.node, None, node.func if node is not None else None)):
                _function(interp, method, args, node)
    elif isinstance(made, Instance):
        _set_fields(cls, made, args)
        if cls.method("__post_init__") is not None:
            network.call_method(interp, made, "__post_init__", Arguments())
    return made


def _set_fields(cls: UserClass, made: Instance, args: Arguments) -> None:
    """A dataclass, a named tuple, a settings class: its arguments become attributes in the order of its fields."""
    fields = [name for owner in reversed(cls.lineage()) for name in _fields(owner)]
    for name, value in [*zip(dict.fromkeys(fields), args.positional, strict=False), *args.keywords.items()]:
        made.attributes[name] = value
    for name in fields:
        default = cls.method(name)
        if isinstance(default, Made) and name not in made.attributes:
            made.attributes[name] = default.args.get("default") or UNKNOWN
    if args.open:
        made.attributes.update(dict.fromkeys(fields, UNKNOWN))


def _fields(cls: UserClass) -> list[str]:
    lines = [s for s in cls.node.body.body if isinstance(s, cst.SimpleStatementLine)]
    annotated = [small for line in lines for small in line.body if isinstance(small, cst.AnnAssign)]
    own = [s for s in annotated if "ClassVar" not in mentioned(s.annotation)]
    return [small.target.value for small in own if isinstance(small.target, cst.Name)]


def super_object(interp: Interpreter, env: Env) -> Value:
    """Say what `super()` is in a method."""
    receiver, cls = env.get("__self__"), env.get("__class__")
    instance = receiver.instance if isinstance(receiver, Model) else receiver
    if not isinstance(instance, Instance) or not isinstance(cls, UserClass):
        return UNKNOWN
    return Instance(instance.cls, instance.attributes, cls, receiver)


def _callbacks(interp: Interpreter, given: Value | None) -> None:
    """Callbacks of the user's run while the network trains: they may write files or evaluate."""
    for item in given.items if isinstance(given, Seq) else [given]:
        if isinstance(item, Instance):
            methods = [name for owner in item.cls.lineage() for name in owner.body.names if name.startswith("on_")]
            for name in dict.fromkeys(methods):
                regions = len(interp.uncertain)
                interp.begin_uncertain()
                network.call_method(interp, item, name, Arguments([UNKNOWN, UNKNOWN]))
                del interp.uncertain[regions:]


_NO_NETWORKS = ("sklearn.", "scipy.", "imblearn.", "xgboost.", "lightgbm.", "pandas.", "keras.preprocessing.")
"""Libraries whose objects have a `fit` that trains no Keras model."""


def _bound(interp: Interpreter, callee: Bound, args: Arguments, node: cst.Call | None) -> Value:
    owner, name = callee.owner, callee.name
    if name in _CHANGES and _changes_names(interp, owner):
        return UNKNOWN
    if name.startswith("super."):
        return _super_call(owner, name, args)
    if isinstance(owner, (Seq, Mapping, Const, namespaces.Parser)):
        return _data_method(interp, owner, name, args)
    if isinstance(owner, Model) or not isinstance(owner, (Layer, Tensor, Instance, Made, UserClass)):
        return _model_method(interp, owner, name, args, node)
    if isinstance(owner, Layer) and name == "set_weights":
        making.keep_layer(interp, owner, "the script sets its weights")
    if isinstance(owner, Instance) and name in ("add_weight", "add_variable"):
        return own_layers.weight(interp, owner, args)
    if isinstance(owner, Made) and name in ("exists", "is_file", "is_dir") and node is not None:
        interp.note("exists", node, owner, owner.args, "method")
    if isinstance(owner, Made) and name == "fit" and node is not None and not owner.name.startswith(_NO_NETWORKS):
        interp.note("fit", node, None, args, name)
    entries.offer_to(interp, name, args)
    if isinstance(owner, Made) and not owner.name.startswith(library.HARMLESS):
        return network.apply(interp, callee, args)
    return UNKNOWN


def _data_method(
    interp: Interpreter, owner: Seq | Mapping | Const | namespaces.Parser, name: str, args: Arguments
) -> Value:
    if isinstance(owner, Seq):
        return mutate.list_method(interp, owner, name, args)
    if isinstance(owner, Mapping):
        return mutate.dict_method(interp, owner, name, args)
    if isinstance(owner, Const):
        return python.method(owner, name, args)
    entries.offer_to(interp, name, args)
    for value in (*args.positional, *args.keywords.values()):
        library.hand_over(interp, value, name)
        if name.startswith("parse"):
            mutate.forget_items(value)  # it may set the attributes of an object
    return namespaces.parser_method(interp, owner, name, args)


_CHANGES = ("update", "setdefault", "pop", "popitem", "clear")


def _changes_names(interp: Interpreter, owner: Value) -> bool:
    """`self.__dict__.update(settings)`, `vars(self).update(..)`, `globals().update(..)`: names are set unseen."""
    if isinstance(owner, Made) and owner.name == "builtins.globals":
        interp.forget(list(interp.globals.names), interp.globals)
        return True
    changed = owner.owner if isinstance(owner, Bound) and owner.name == "__dict__" else None
    if isinstance(owner, Made) and owner.name == "builtins.vars":
        changed = owner.args.get("object", 0)
    if changed is not None:
        mutate.forget_items(changed)
    return changed is not None


def _super_call(owner: Value, name: str, args: Arguments) -> Value:
    if isinstance(owner, Instance) and isinstance(owner.self_value, Model) and name == "super.__init__":
        if args.get("inputs", 0) is not None and args.get("outputs", 1) is not None:
            network.set_ends(owner.self_value, args)
        elif owner.self_value.sequential and isinstance(args.get("layers", 0), Seq):
            owner.self_value.layers = list(args.get("layers", 0).items)  # type: ignore[union-attr]
    return Const(None)


def _trained(interp: Interpreter, model: Model) -> bool:
    return any(event.what == "fit" and event.target is model for event in interp.events)


def _change_layers(interp: Interpreter, model: Model, name: str, args: Arguments, node: cst.Call | None) -> None:
    """`model.add(layer)`, `model.pop()`: what is trained already stays what it was."""
    if _trained(interp, model):
        if node is not None:
            interp.note("apart", node, model, args, name)
    elif name == "add" and args.positional:
        model.layers.append(args.positional[0])
    elif name == "pop" and model.layers:
        model.layers.pop()


_WEIGHTS = "keras.weights"
"""What `get_weights` of a model returns, with the model as the argument."""


def _set_weights(interp: Interpreter, owner: Value, args: Arguments, node: cst.Call | None) -> None:
    """Weights that are set keep the sizes of both networks, unless one line makes the layers of both."""
    given = args.get("weights", 0)
    source = given.args.positional[0] if isinstance(given, Made) and given.name == _WEIGHTS else None
    if source is not None and source is owner:
        return
    if isinstance(source, Model) and _trained(interp, source):
        if node is not None:
            interp.note("apart", node, source, args, "set_weights")
        return
    alike = isinstance(source, Model) and isinstance(owner, Model)
    lines = [[getattr(layer, "node", None) for layer in m.layers] for m in (owner, source) if isinstance(m, Model)]
    if not (alike and lines[0] == lines[1] and None not in lines[0]):
        for model in (owner, source):
            making.keep_layer(interp, model or UNKNOWN, "the script sets its weights")


def _model_method(interp: Interpreter, owner: Value, name: str, args: Arguments, node: cst.Call | None) -> Value:
    if isinstance(owner, Model) and name in ("add", "pop"):
        _change_layers(interp, owner, name, args, node)
        return Const(None)
    if isinstance(owner, Model) and name == "get_layer":
        return inner.find_layer(interp, owner, args, node)
    if isinstance(owner, Model) and name in ("call", "__call__"):
        return network.apply(interp, owner, args)
    if isinstance(owner, Model) and name == "compile":
        owner.compiled = args
    if name == "get_weights" and isinstance(owner, Model):
        return Made(_WEIGHTS, Arguments([owner]))
    if name == "set_weights":
        _set_weights(interp, owner, args, node)
    event = _EVENTS.get(name)
    if event is not None and node is not None:
        if event == "fit" and isinstance(owner, Model):
            network.finish(interp, owner)
            _callbacks(interp, args.get("callbacks", 5))
            if interp.block is not None:
                interp.graphs[interp.block] = interp.graph.clone()
        interp.note(event, node, owner if isinstance(owner, Model) else None, args, name)
    return Made("keras.History", args) if name == "fit" else UNKNOWN
