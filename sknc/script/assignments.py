"""Assignments in thought: names, attributes, elements, patterns."""

from __future__ import annotations

import libcst as cst

from sknc.script import mutate, namespaces, python, tensors
from sknc.script.expressions import evaluate
from sknc.script.interpreter import Interpreter
from sknc.script.values import (
    UNKNOWN,
    Arguments,
    Bound,
    Const,
    Default,
    Env,
    Function,
    Instance,
    Made,
    Mapping,
    Model,
    Seq,
    Size,
    Tensor,
    UserClass,
    Value,
    plain,
)


def assign(interp: Interpreter, target: cst.CSTNode, value: Value, env: Env) -> None:
    """Give a name, attribute, element or pattern a value."""
    if isinstance(target, cst.Name):
        _set_name(interp, target.value, value, env)
    elif isinstance(target, (cst.Tuple, cst.List)):
        _unpack(interp, target, value, env)
    elif isinstance(target, cst.Attribute):
        owner = evaluate(interp, target.value, env)
        instance = owner.instance if isinstance(owner, Model) else owner
        if isinstance(instance, (Instance, UserClass)):
            set_attribute(interp, instance, target.attr.value, value)
        elif isinstance(owner, namespaces.Namespace):
            namespaces.set_member(interp, owner, target.attr.value, value)
        elif isinstance(owner, (Bound, Made)):
            # `type(settings).units = 64`, `settings.__class__.units = 64`
            for changed in [owner.owner] if isinstance(owner, Bound) else owner.args.positional:
                mutate.forget_items(changed)
    elif isinstance(target, cst.Subscript):
        _set_item(interp, target, value, env)
    elif isinstance(target, cst.StarredElement):
        assign(interp, target.value, value, env)


def _set_name(interp: Interpreter, name: str, value: Value, env: Env) -> None:
    scope = env.elsewhere.get(name) or env
    if scope is interp.globals and name in interp.shared_names and isinstance(value, (Const, Size, Default)):
        value = UNKNOWN
    if scope is not env and interp.uncertain:
        value = interp.join(scope.names.get(name), value)
    scope.names[name] = value


def set_attribute(interp: Interpreter, owner: Instance | UserClass, name: str, value: Value) -> None:
    """Set an attribute of an object or class of the user's."""
    names = owner.attributes if isinstance(owner, Instance) else owner.body.names
    if (
        isinstance(owner, Instance)
        and isinstance(owner.cls.method(name), Function)
        and isinstance(value, (Const, Size, Default))
    ):
        mutate.forget_items(owner)  # a property's setter, which does what it wants
        value = UNKNOWN
    if interp.is_uncertain(owner.born if isinstance(owner, Instance) else 0):
        inherited = owner.cls.method(name) if isinstance(owner, Instance) else None
        value = interp.join(names.get(name, inherited), value)
    names[name] = value


def _set_item(interp: Interpreter, target: cst.Subscript, value: Value, env: Env) -> None:
    owner = evaluate(interp, target.value, env)
    if isinstance(owner, (Bound, Made)) and _forget_attributes(owner):
        return
    if len(target.slice) != 1 or not isinstance(target.slice[0].slice, cst.Index):
        mutate.forget_items(owner)
        return
    if isinstance(owner, Made) and owner.name == "builtins.globals":
        interp.forget(list(interp.globals.names), interp.globals)
        return
    try:
        key = plain(evaluate(interp, target.slice[0].slice.value, env))
        hash(key)
    except (ValueError, TypeError):
        mutate.forget_items(owner)
        return
    if isinstance(owner, (Mapping, Seq)):
        mutate.set_item(interp, owner, key, value)


def _forget_attributes(owner: Bound | Made) -> bool:
    """`vars(settings)["units"] = 64`, `self.__dict__["units"] = 64`: what an object's attributes are is not known."""
    changed: Value | None = owner.owner if isinstance(owner, Bound) and owner.name == "__dict__" else None
    if isinstance(owner, Made) and owner.name == "builtins.vars":
        changed = owner.args.get("object", 0)
    if not isinstance(changed, (Instance, namespaces.Namespace)):
        return False
    mutate.forget_items(changed)
    return True


def _unpack(interp: Interpreter, target: cst.Tuple | cst.List, value: Value, env: Env) -> None:
    elements = list(target.elements)
    items = python.iterate(value)
    starred = [i for i, element in enumerate(elements) if isinstance(element, cst.StarredElement)]
    if items is not None and starred and len(items) >= len(elements) - 1:
        at, rest = starred[0], len(elements) - starred[0] - 1
        middle = Seq(items[at : len(items) - rest], True)
        items = [*items[:at], middle, *items[len(items) - rest :]]
    if items is None or len(items) != len(elements):
        items = [UNKNOWN] * len(elements)
    for element, item in zip(elements, items, strict=True):
        assign(interp, element.value, item, env)


def augment(interp: Interpreter, node: cst.AugAssign, env: Env) -> None:
    """Execute `name += value` and its kind."""
    left, right = evaluate(interp, node.target, env), evaluate(interp, node.value, env)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        assign(interp, node.target, tensors.operate(interp, left, right), env)
        return
    op = python.AUGMENTED.get(type(node.operator))
    if isinstance(left, Seq) and left.mutable and isinstance(node.operator, cst.AddAssign):
        mutate.list_method(interp, left, "extend", Arguments([right]))
        return
    if isinstance(left, Mapping) or (isinstance(left, Seq) and left.mutable):
        # It changes in place, under all of its names.
        if isinstance(left, Mapping):
            mutate.dict_method(interp, left, "update", Arguments([right]))
        else:
            mutate.forget_items(left)
        return
    assign(interp, node.target, python.binary(op, left, right) if op else UNKNOWN, env)
