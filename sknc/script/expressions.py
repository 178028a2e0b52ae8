"""Expressions in thought."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import libcst as cst

from sknc.script import inner, making, python, stars, tensors
from sknc.script.interpreter import Interpreter
from sknc.script.layers import LAYERS, STAR_NAMES, brings
from sknc.script.namespaces import Namespace
from sknc.script.values import (
    UNKNOWN,
    Arguments,
    Bound,
    Const,
    Default,
    Env,
    Function,
    Instance,
    Layer,
    Made,
    Mapping,
    Model,
    Ref,
    Seq,
    Tensor,
    UserClass,
    Value,
    constant,
    plain,
)

_Node = TypeVar("_Node", bound=cst.CSTNode)
_RULES: dict[type[cst.CSTNode], Callable[[Interpreter, Any, Env], Value]] = {}


def rule(*types: type[cst.CSTNode]) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Register how expressions of some types are evaluated."""

    def register(function: Callable[..., Value]) -> Callable[..., Value]:
        for kind in types:
            _RULES[kind] = function
        return function

    return register


def evaluate(interp: Interpreter, node: cst.BaseExpression, env: Env) -> Value:
    """Say what an expression is.

    Args:
        interp: the reading.
        node: the expression.
        env: the names it can see.

    Returns:
        Its value, `UNKNOWN` when it cannot be told.
    """
    rule = _RULES.get(type(node))
    if rule is None or interp.exhausted():
        return UNKNOWN
    return rule(interp, node, env)


@rule(cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString, cst.ConcatenatedString)
def _literal(interp: Interpreter, node: Any, env: Env) -> Value:
    try:
        found = node.evaluated_value
    except (ValueError, SyntaxError):
        return UNKNOWN
    return Const(found) if found is not None else UNKNOWN


@rule(cst.FormattedString)
def _formatted(interp: Interpreter, node: cst.FormattedString, env: Env) -> Value:
    text = ""
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            text += part.value
        else:
            if not isinstance(part, cst.FormattedStringExpression) or part.format_spec or part.conversion or part.equal:
                return UNKNOWN
            found = constant(evaluate(interp, part.expression, env))
            if found is None:
                return UNKNOWN
            text += str(found)
    return Const(text)


@rule(cst.Name)
def _name(interp: Interpreter, node: cst.Name, env: Env) -> Value:
    name = node.value
    found = env.get(name)
    if found is not None:
        return found
    if name in ("True", "False", "None"):
        return Const({"True": True, "False": False, "None": None}[name])
    if name in LAYERS or name in STAR_NAMES:
        modules = [making.keras_name(module) for module in reversed(interp.star_imports)]
        brought = [module for module in modules if module.split(".")[0] == "keras"]
        # Of several modules the last one that has such a name; Keras's of old had names of others as well.
        for module in (*(one for one in brought if brings(one, name)), *brought):
            return Ref(f"{module}.{name}")
    return Ref(f"builtins.{name}") if name in _BUILTINS else UNKNOWN


_BUILTINS = frozenset(
    (
        "int float str bool abs max min round len sum sorted tuple list range divmod pow any all dict set "
        "enumerate zip reversed print super isinstance getattr setattr hasattr open type map filter iter "
        "next object exec eval globals locals vars"
        " staticmethod classmethod property"
    ).split()
)


@rule(cst.Attribute)
def _attribute(interp: Interpreter, node: cst.Attribute, env: Env) -> Value:
    owner = evaluate(interp, node.value, env)
    inner.look(interp, owner, node.attr.value, node)
    return attribute(interp, owner, node.attr.value)


def attribute(interp: Interpreter, owner: Value, name: str) -> Value:
    """Say what an attribute of a value is."""
    if isinstance(owner, (Ref, Namespace)):
        return owner.member(name)
    if isinstance(owner, Instance) or (isinstance(owner, Model) and owner.instance is not None):
        instance = owner if isinstance(owner, Instance) else owner.instance
        assert instance is not None
        found = _instance_attribute(owner, instance, name)
        if isinstance(found, Function) and (how := _decorators(found.node) & _PROPERTIES):
            return UNKNOWN if "setter" in how else _read_property(interp, found)
        if found is not None:
            return UNKNOWN if instance.loose and isinstance(found, (Const, Default)) else found
    if isinstance(owner, UserClass):
        return _class_attribute(owner, name)
    if isinstance(owner, (Tensor, Model)):
        shape = tensors.shape_attribute(interp, owner, name)
        if shape is not None:
            return shape
    if isinstance(owner, Bound) and owner.name == "__dict__":
        return Bound(owner, name)
    if isinstance(owner, Bound) and isinstance(owner.owner, Layer) and name == "assign":
        return Bound(owner.owner, "set_weights")
    if isinstance(owner, (Seq, Mapping, Const, Model, Layer, Tensor, Function, Instance, Made)):
        return Bound(owner, name)
    return Bound(owner, name) if name in _METHODS_OF_MODELS else UNKNOWN


def _class_attribute(owner: UserClass, name: str) -> Value:
    found = owner.method(name)
    if isinstance(found, Const) and owner.derives("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"):
        return UNKNOWN  # a member, which is no number
    if isinstance(found, Function) and "classmethod" in _decorators(found.node):
        return Function(found.node, found.env, owner, found.defined_in, found.defaults, found.opaque)
    return found if found is not None else Bound(owner, name)


_METHODS_OF_MODELS = frozenset(
    (
        "fit fit_generator compile predict evaluate save save_weights load_weights predict_classes export set_weights"
        " savefig to_csv to_json to_pickle"
    ).split()
)


def _instance_attribute(owner: Instance | Model, instance: Instance, name: str) -> Value | None:
    if instance.super_of is not None:
        lineage = instance.cls.lineage()
        later = lineage[lineage.index(instance.super_of) + 1 :] if instance.super_of in lineage else []
        for cls in later:
            if name in cls.body.names:
                return _bind(cls.body.names[name], instance.self_value or owner, cls)
        return Bound(owner, f"super.{name}")
    if name in instance.attributes:
        return instance.attributes[name]
    for cls in instance.cls.lineage():
        if name in cls.body.names:
            return _bind(cls.body.names[name], owner, cls)
    return None


def _bind(found: Value, owner: Value, cls: UserClass) -> Value:
    if isinstance(found, Function) and isinstance(found.node, cst.FunctionDef):
        decorators = _decorators(found.node)
        receiver: Value | None = None if "staticmethod" in decorators else owner
        receiver = cls if "classmethod" in decorators else receiver
        return Function(found.node, found.env, receiver, cls, found.defaults, found.opaque)
    return found


_PROPERTIES = frozenset({"property", "cached_property", "setter"})


def _decorators(node: cst.FunctionDef | cst.Lambda) -> set[str]:
    """The last names of a function's decorators that are not called."""
    found = [d.decorator for d in node.decorators] if isinstance(node, cst.FunctionDef) else []
    names = [d.attr if isinstance(d, cst.Attribute) else d for d in found]
    return {name.value for name in names if isinstance(name, cst.Name)}


def _read_property(interp: Interpreter, found: Function) -> Value:
    from sknc.script import calls

    return calls.call(interp, found, Arguments(), None)


@rule(cst.Call)
def _call(interp: Interpreter, node: cst.Call, env: Env) -> Value:
    from sknc.script import calls

    callee = evaluate(interp, node.func, env)
    if isinstance(callee, Ref) and callee.name == "builtins.super":
        return calls.super_object(interp, env)
    return calls.call(interp, callee, arguments(interp, node, env), node)


def arguments(interp: Interpreter, node: cst.Call, env: Env) -> Arguments:
    """Evaluate the arguments of a call."""
    args = Arguments()
    hidden = False
    for arg in node.args:
        value = evaluate(interp, arg.value, env)
        if arg.star == "*":
            items = python.iterate(value)
            args.positional += items or []
            stars.note(args, arg, value, len(items or []))
            hidden = hidden or items is None
            args.open = args.open or hidden
        elif arg.star == "**":
            if isinstance(value, Mapping):
                args.keywords |= {str(k): v for k, v in value.items.items()}
                stars.note(args, arg, value)
                args.open = args.open or value.loose
            else:
                args.open = True
        elif arg.keyword is not None:
            args.keywords[arg.keyword.value] = value
            args.nodes[arg.keyword.value] = arg.value
        elif hidden:
            interp.fix_value(value, "its place among the arguments is not known")
        else:
            args.nodes[len(args.positional)] = arg.value
            args.positional.append(value)
    return args


@rule(cst.Tuple, cst.List)
def _sequence(interp: Interpreter, node: cst.Tuple | cst.List, env: Env) -> Value:
    items: list[Value] = []
    nodes: list[cst.BaseExpression | None] = []
    for element in node.elements:
        value = evaluate(interp, element.value, env)
        if isinstance(element, cst.StarredElement):
            inner = python.iterate(value)
            if inner is None:
                return UNKNOWN
            items += inner
            nodes += [None] * len(inner)
        else:
            items.append(value)
            nodes.append(element.value)
    return Seq(items, isinstance(node, cst.List), nodes)


@rule(cst.Dict)
def _dict(interp: Interpreter, node: cst.Dict, env: Env) -> Value:
    items: dict[Any, Value] = {}
    nodes: dict[Any, cst.BaseExpression | None] = {}
    loose = False
    for element in node.elements:
        value = evaluate(interp, element.value, env)
        if isinstance(element, cst.DictElement):
            try:
                key = plain(evaluate(interp, element.key, env))
                items[key], nodes[key] = value, element.value
            except (ValueError, TypeError):
                return UNKNOWN
        elif isinstance(value, Mapping):
            items |= value.items
            nodes |= dict.fromkeys(value.items)
            loose = loose or value.loose
        else:
            return UNKNOWN
    return Mapping(items, loose=loose, nodes=nodes)


@rule(cst.BinaryOperation)
def _binary(interp: Interpreter, node: cst.BinaryOperation, env: Env) -> Value:
    left, right = evaluate(interp, node.left, env), evaluate(interp, node.right, env)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return tensors.operate(interp, left, right, isinstance(node.operator, cst.MatrixMultiply))
    op = python.BINARY.get(type(node.operator))
    return python.binary(op, left, right) if op else UNKNOWN


@rule(cst.UnaryOperation)
def _unary(interp: Interpreter, node: cst.UnaryOperation, env: Env) -> Value:
    value = evaluate(interp, node.expression, env)
    if isinstance(value, Tensor):
        return value
    if isinstance(node.operator, cst.Not):
        known = python.truth(value)
        return UNKNOWN if known is None else Const(not known)
    found = constant(value)
    if not isinstance(found, (int, float)):
        return UNKNOWN
    signs: dict[type[cst.CSTNode], Any] = {cst.Minus: -found, cst.Plus: +found}
    return Const(signs[type(node.operator)]) if type(node.operator) in signs else UNKNOWN


@rule(cst.NamedExpr)
def _named(interp: Interpreter, node: cst.NamedExpr, env: Env) -> Value:
    value = evaluate(interp, node.value, env)
    if isinstance(node.target, cst.Name):
        scope = env
        while scope.comprehension and scope.parent is not None:
            scope = scope.parent
        sure = scope is env and not interp.uncertain
        scope.names[node.target.value] = value if sure else interp.join(scope.names.get(node.target.value), value)
    return value


@rule(cst.Lambda)
def _lambda(interp: Interpreter, node: cst.Lambda, env: Env) -> Value:
    return Function(node, env, defaults=defaults(interp, node, env))


def defaults(interp: Interpreter, node: cst.FunctionDef | cst.Lambda, env: Env) -> dict[str, Value]:
    """Evaluate the defaults of a function's parameters, once, where it is defined."""
    parameters = (*node.params.posonly_params, *node.params.params, *node.params.kwonly_params)
    return {p.name.value: evaluate(interp, p.default, env) for p in parameters if p.default is not None}


@rule(cst.Subscript)
def _subscript(interp: Interpreter, node: cst.Subscript, env: Env) -> Value:
    owner = evaluate(interp, node.value, env)
    if isinstance(owner, Tensor):
        return tensors.slice_tensor(interp, owner, node)
    if len(node.slice) != 1:
        return UNKNOWN
    part = node.slice[0].slice
    if isinstance(part, cst.Slice):
        ends = (part.lower, part.upper, part.step)
        values = [Const(None) if end is None else evaluate(interp, end, env) for end in ends]
        if not all(isinstance(value, Const) for value in values) or getattr(owner, "loose", False):
            return UNKNOWN
        bounds = [constant(value) for value in values]
        if isinstance(owner, Seq) and all(b is None or isinstance(b, int) for b in bounds):
            unknown: list[cst.BaseExpression | None] = [None] * len(owner.items)
            nodes = owner.nodes if len(owner.nodes) == len(owner.items) else unknown
            return Seq(owner.items[slice(*bounds)], owner.mutable, nodes[slice(*bounds)])
        return UNKNOWN
    if not isinstance(part, cst.Index):
        return UNKNOWN
    index = evaluate(interp, part.value, env)
    try:
        key = plain(index)
        if isinstance(owner, Seq) and owner.loose:
            return interp.join_all([*owner.items, UNKNOWN])
        if isinstance(owner, (Seq, Mapping)):
            return owner.items[key]
        return python.to_value(plain(owner)[key])
    except (ValueError, TypeError, KeyError, IndexError):
        return interp.join_all([*owner.items.values(), UNKNOWN]) if isinstance(owner, Mapping) else UNKNOWN


# These rules are registered from files of their own.
from sknc.script import comprehensions, conditions  # noqa: E402, F401
