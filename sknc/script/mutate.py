"""Lists, dictionaries and objects that a script changes: exactly where it is sure to, else they become less known."""

from __future__ import annotations

from typing import Any

from sknc.script import namespaces
from sknc.script.interpreter import Interpreter
from sknc.script.names import rebound, touched
from sknc.script.python import LIMIT, iterate, to_value
from sknc.script.values import (
    UNKNOWN,
    Arguments,
    Const,
    Default,
    Env,
    Function,
    Instance,
    Layer,
    Mapping,
    Model,
    Seq,
    Size,
    Tensor,
    UserClass,
    Value,
    constant,
)


def forget_items(owner: Value, depth: int = 0) -> None:
    """Something unknown happened to a list, dictionary or object, and so perhaps to what it holds.

    Args:
        owner: what it happened to; any other value stays as it is.
        depth: how deep it lies in what was given away, as it may hold itself.
    """
    inner: list[Value] = []
    if isinstance(owner, Mapping):
        inner = list(owner.items.values())
        owner.loose = True
        owner.items = {key: _network_or_unknown(item) for key, item in owner.items.items()}
    elif isinstance(owner, Seq):
        inner = owner.items
        if owner.mutable:
            owner.loose = True
            owner.items = [_network_or_unknown(item) for item in owner.items]
    elif isinstance(owner, Instance):
        inner = list(owner.attributes.values())
        owner.loose = True
        numbers = [name for name, v in owner.attributes.items() if isinstance(v, (Const, Default, Size))]
        owner.attributes.update(dict.fromkeys(numbers, UNKNOWN))
    namespaces.forget(owner)
    for item in inner if depth < 4 else ():
        forget_items(item, depth + 1)


def forget_touched(function: Function) -> None:
    """A function goes to a library, which may call it: what it changes around itself is not known any more."""
    for name in rebound(function.node):
        scope: Env | None = function.env
        while scope is not None and name not in scope.names:
            scope = scope.parent
        if scope is not None and isinstance(scope.names[name], (Const, Default, Size, Seq, Mapping)):
            scope.names[name] = UNKNOWN
    for name in touched(function.node):
        found = function.env.get(name)
        if found is not None:
            forget_items(found)
        if isinstance(found, UserClass):
            known = found.body.names
            known |= {n: UNKNOWN for n, v in known.items() if isinstance(v, Const)}


def _network_or_unknown(item: Value) -> Value:
    return item if isinstance(item, (Layer, Model, Tensor)) else UNKNOWN


def set_item(interp: Interpreter, owner: Seq | Mapping, key: Any, value: Value) -> None:
    """Set an element."""
    value = _apart(owner, value)
    if isinstance(owner, Mapping):
        if interp.is_uncertain(owner.born):
            value = interp.join(owner.items.get(key, UNKNOWN), value)
        owner.items[key] = value
    elif isinstance(key, int) and not isinstance(key, bool) and -len(owner.items) <= key < len(owner.items):
        owner.items[key] = interp.join(owner.items[key], value) if interp.is_uncertain(owner.born) else value
        if len(owner.nodes) == len(owner.items):
            owner.nodes[key] = None
    else:
        forget_items(owner)


def list_method(interp: Interpreter, owner: Seq, name: str, args: Arguments) -> Value:
    """Call a method of a list."""
    if not owner.mutable or name in ("index", "count"):
        return UNKNOWN
    if name == "copy":
        return Seq(list(owner.items), True, list(owner.nodes), loose=owner.loose)
    if interp.is_uncertain(owner.born):
        owner.loose = True
    if len(owner.nodes) != len(owner.items):
        owner.nodes = [None] * len(owner.items)
    first = args.positional[0] if args.positional else None
    rule = _LIST.get(name)
    if rule is None or args.open or len(owner.items) > LIMIT:
        forget_items(owner)
        return UNKNOWN
    return rule(owner, first, args)


def _apart(owner: Value, value: Value, depth: int = 0) -> Value:
    """Return a value that may go into a list or dictionary: none that would hold itself, none nested without end."""
    inner = value.items if isinstance(value, Seq) else list(value.items.values()) if isinstance(value, Mapping) else []
    if value is owner or depth > 8 or any(_apart(owner, item, depth + 1) is not item for item in inner):
        return UNKNOWN
    return value


def _append(owner: Seq, first: Value | None, args: Arguments) -> Value:
    owner.items.append(_apart(owner, first or UNKNOWN))
    owner.nodes.append(args.nodes.get(0))
    return Const(None)


def _extend(owner: Seq, first: Value | None, args: Arguments) -> Value:
    items = iterate(first) if first is not None else None
    if items is None or len(items) + len(owner.items) > LIMIT:
        forget_items(owner)
    else:
        owner.items.extend(_apart(owner, item) for item in items)
        owner.nodes.extend([None] * len(items))
    return Const(None)


def _insert(owner: Seq, first: Value | None, args: Arguments) -> Value:
    index = constant(first)
    if not isinstance(index, int) or len(args.positional) != 2:
        forget_items(owner)
    else:
        owner.items.insert(index, _apart(owner, args.positional[1]))
        owner.nodes.insert(index, None)
    return Const(None)


def _pop(owner: Seq, first: Value | None, args: Arguments) -> Value:
    index = -1 if first is None else constant(first)
    if not isinstance(index, int) or not -len(owner.items) <= index < len(owner.items):
        forget_items(owner)
        return UNKNOWN
    owner.nodes.pop(index)
    item = owner.items.pop(index)
    return _network_or_unknown(item) if owner.loose else item


def _reverse(owner: Seq, first: Value | None, args: Arguments) -> Value:
    owner.items.reverse()
    owner.nodes.reverse()
    return Const(None)


def _clear(owner: Seq, first: Value | None, args: Arguments) -> Value:
    owner.items.clear()
    owner.nodes.clear()
    return Const(None)


_LIST = {"append": _append, "extend": _extend, "insert": _insert, "pop": _pop, "reverse": _reverse, "clear": _clear}


def dict_method(interp: Interpreter, owner: Mapping, name: str, args: Arguments) -> Value:
    """Call a method of a dictionary."""
    first = args.positional[0] if args.positional else None
    if name == "get":
        return _get(interp, owner, first, args.positional[1] if len(args.positional) > 1 else Const(None))
    if name in ("items", "values", "keys"):
        if owner.loose:
            return UNKNOWN
        pairs = [(to_value(key), value) for key, value in owner.items.items()]
        if name == "items":
            return Seq([Seq([key, value]) for key, value in pairs])
        return Seq([key if name == "keys" else value for key, value in pairs])
    if name == "copy":
        return Mapping(dict(owner.items), loose=owner.loose)
    if name == "update" and not args.open and (first is None or (isinstance(first, Mapping) and not first.loose)):
        new = {**(first.items if isinstance(first, Mapping) else {}), **args.keywords}
        for key, value in new.items():
            set_item(interp, owner, key, value)
        return Const(None)
    forget_items(owner)
    return UNKNOWN


def _get(interp: Interpreter, owner: Mapping, key: Value | None, default: Value) -> Value:
    if not isinstance(key, Const) or owner.loose:
        return interp.join_all([*owner.items.values(), default, UNKNOWN])
    return owner.items.get(key.value, default)
