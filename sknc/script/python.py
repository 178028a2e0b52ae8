"""The Python that is computed while reading: operators, built-in functions, methods of lists and texts."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

import libcst as cst

from sknc.decompose.widths import Dim
from sknc.script.values import (
    UNKNOWN,
    Arguments,
    Const,
    Function,
    Layer,
    Mapping,
    Model,
    Seq,
    Size,
    Unknown,
    Value,
    constant,
    plain,
    whole,
)

LIMIT = 4096
"""Longest list or text that is computed; longer ones count as unknown."""

BINARY: dict[type[cst.CSTNode], Callable[[Any, Any], Any]] = {
    cst.Add: operator.add,
    cst.Subtract: operator.sub,
    cst.Multiply: operator.mul,
    cst.Divide: operator.truediv,
    cst.FloorDivide: operator.floordiv,
    cst.Modulo: operator.mod,
    cst.Power: operator.pow,
    cst.LeftShift: operator.lshift,
    cst.RightShift: operator.rshift,
    cst.BitAnd: operator.and_,
    cst.BitOr: operator.or_,
    cst.BitXor: operator.xor,
}
AUGMENTED: dict[type[cst.CSTNode], Callable[[Any, Any], Any]] = {
    cst.AddAssign: operator.add,
    cst.SubtractAssign: operator.sub,
    cst.MultiplyAssign: operator.mul,
    cst.DivideAssign: operator.truediv,
    cst.FloorDivideAssign: operator.floordiv,
    cst.ModuloAssign: operator.mod,
    cst.PowerAssign: operator.pow,
}
COMPARE: dict[type[cst.CSTNode], Callable[[Any, Any], Any]] = {
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
    cst.In: lambda a, b: a in b,
    cst.NotIn: lambda a, b: a not in b,
    cst.Is: lambda a, b: a is b or (a == b and type(a) is type(b)),
    cst.IsNot: lambda a, b: not (a is b or (a == b and type(a) is type(b))),
}
EQUALITIES = tuple(COMPARE[kind] for kind in (cst.Equal, cst.NotEqual, cst.Is, cst.IsNot))
_PURE: dict[str, Callable[..., Any]] = {
    name: getattr(builtins, name)
    for name in ("int float str bool abs max min round len sum sorted tuple list range divmod pow any all").split()
}
_PURE |= {
    f"math.{name}": getattr(math, name)
    for name in ["ceil", "floor", "sqrt", "log", "log2", "log10", "exp", "prod", "gcd", "trunc", "pow"]
}
_PURE |= {
    "numpy.prod": lambda value, *rest: math.prod(value) if not rest else None,
    "numpy.ceil": math.ceil,
    "numpy.floor": math.floor,
    "numpy.sqrt": math.sqrt,
    "numpy.log2": math.log2,
    "numpy.max": max,
    "numpy.min": min,
    "numpy.sum": sum,
}
_FAILS = (TypeError, ValueError, ArithmeticError, KeyError, IndexError, AttributeError, MemoryError)


def to_value(found: Any) -> Value:
    """Turn a computed Python object into a value."""
    if isinstance(found, range):
        return Seq([Const(i) for i in found]) if len(found) <= LIMIT else UNKNOWN
    if isinstance(found, (list, tuple)):
        if len(found) > LIMIT:
            return UNKNOWN
        return Seq([to_value(item) for item in found], isinstance(found, list), [None] * len(found))
    if isinstance(found, dict):
        return Mapping({key: to_value(item) for key, item in found.items()})
    if found is None or isinstance(found, (int, float, str, bytes, bool, complex)):
        return UNKNOWN if isinstance(found, (str, bytes)) and len(found) > LIMIT else Const(found)
    return UNKNOWN


def binary(op: Callable[[Any, Any], Any], left: Value, right: Value) -> Value:
    """Compute an operator on two values."""
    if isinstance(left, Size) or isinstance(right, Size):
        return _with_sizes(op, left, right)
    if getattr(left, "loose", False) or getattr(right, "loose", False):
        return UNKNOWN
    if isinstance(left, Seq) and isinstance(right, Seq) and op is operator.add:
        if len(left.items) + len(right.items) > LIMIT:
            return UNKNOWN
        nodes = (left.nodes or [None] * len(left.items)) + (right.nodes or [None] * len(right.items))
        return Seq(left.items + right.items, left.mutable, nodes)
    if isinstance(left, Seq) and op is operator.mul:
        times = constant(right)
        if isinstance(times, int) and 0 <= times * len(left.items) <= LIMIT:
            return Seq(left.items * times, left.mutable, [None] * (len(left.items) * times))
    try:
        one, two = plain(left), plain(right)
        if op is operator.pow and (not isinstance(two, (int, float)) or abs(two) > 64 or _long(one)):
            return UNKNOWN
        if op in (operator.mul, operator.lshift) and any(isinstance(v, int) and abs(v) > 1 << 62 for v in (one, two)):
            return UNKNOWN
        if op is operator.mul and any(isinstance(v, (str, bytes)) for v in (one, two)):
            return UNKNOWN
        if op is operator.lshift and two > 62:
            return UNKNOWN
        return to_value(op(one, two))
    except _FAILS:
        return UNKNOWN


def _long(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() > 64


def _with_sizes(op: Callable[[Any, Any], Any], left: Value, right: Value) -> Value:
    """Compute an operator on widths: exact polynomials where it can be, always a way to the number."""

    def compute(widths: Callable[[int], float | None]) -> float | None:
        one, two = (v.compute(widths) if isinstance(v, Size) else constant(v) for v in (left, right))
        try:
            return None if one is None or two is None else op(one, two)
        except _FAILS:
            return None

    dims = [v.dim if isinstance(v, Size) else Dim.fixed(whole(v)) for v in (left, right)]
    exact = all(isinstance(v, Size) or whole(v) is not None for v in (left, right))
    if exact and op is operator.add:
        return Size(dims[0] + dims[1], compute)
    if exact and op is operator.mul:
        return Size(dims[0] * dims[1], compute)
    return Size(_vague(dims[0] + dims[1]), compute)


def size_of(variable: int) -> Size:
    """Return the number that is a width itself."""
    return Size(Dim.var(variable), lambda widths: widths(variable))


def _applied(function: Callable[..., Any], args: Arguments) -> Value:
    """A function such as int or max on numbers of which some are widths."""
    values = list(args.positional)

    def compute(widths: Callable[[int], float | None]) -> float | None:
        found = [v.compute(widths) if isinstance(v, Size) else constant(v) for v in values]
        try:
            return None if None in found else function(*found)
        except _FAILS:
            return None

    sizes = [v for v in values if isinstance(v, Size)]
    if len(values) == 1 and function in (int, round, abs, math.ceil, math.floor):
        return Size(sizes[0].dim, compute)
    total = sizes[0].dim
    for size in sizes[1:]:
        total = total + size.dim
    return Size(_vague(total), compute)


def _vague(dim: Dim) -> Dim:
    """A size that depends on the same widths in a way that is not known."""
    return Dim(tuple((None, (v,)) for v in dim.variables) or ((None, ()),))


def builtin(name: str, args: Arguments) -> Value | None:
    """Compute a call of a built-in or mathematical function; None when it is none of these."""
    name = name.removeprefix("builtins.")
    if args.open:
        return UNKNOWN if name in _PURE else None
    if name in _PURE and any(isinstance(item, Size) for item in args.positional):
        return _applied(_PURE[name], args)
    if name in ("list", "tuple", "sorted", "reversed", "enumerate", "zip", "len", "dict", "set"):
        found = _collection(name, args)
        if found is not None:
            return found
    if name not in _PURE:
        return None
    try:
        values = [plain(item) for item in args.positional]
        keywords = {key: plain(item) for key, item in args.keywords.items()}
        if name == "range" and len(range(*values)) > LIMIT:
            return UNKNOWN
        return to_value(_PURE[name](*values, **keywords))
    except _FAILS:
        return UNKNOWN


def _collection(name: str, args: Arguments) -> Value | None:
    parts = [iterate(item) for item in args.positional]
    if name == "dict" and not args.positional:
        nodes = {name: node for name, node in args.nodes.items() if isinstance(name, str)}
        return Mapping(dict(args.keywords), nodes={**nodes})
    if not parts or any(part is None for part in parts):
        return UNKNOWN if name in ("enumerate", "zip", "reversed", "list", "tuple", "set", "sorted") else None
    first = parts[0] or []
    if name in ("list", "tuple"):
        return Seq(list(first), name == "list", [None] * len(first))
    if name == "len":
        return UNKNOWN if getattr(args.positional[0], "loose", False) else Const(len(first))
    if name == "reversed":
        return Seq(first[::-1])
    if name == "enumerate":
        start = 0 if args.get("start", 1) is None else whole(args.get("start", 1))
        if start is None:
            return UNKNOWN
        return Seq([Seq([Const(start + i), item]) for i, item in enumerate(first)])
    if name == "zip":
        return Seq([Seq(list(items)) for items in zip(*(part or [] for part in parts), strict=False)])
    return None


def iterate(value: Value) -> list[Value] | None:
    """Return the elements that a loop over a value sees, None when they are not known."""
    if isinstance(value, Seq):
        # A network may be built from a list whose length is not sure; nothing is counted or computed from one.
        numbers = any(isinstance(item, (Const, Seq, Mapping)) for item in value.items)
        network = any(not isinstance(item, Unknown) for item in value.items)
        return None if value.loose and (numbers or not network) else list(value.items)
    if isinstance(value, Mapping):
        return None if value.loose else [to_value(key) for key in value.items]
    if isinstance(value, Const) and isinstance(value.value, str):
        return [Const(letter) for letter in value.value]
    return None


def method(owner: Const, name: str, args: Arguments) -> Value:
    """Compute a call of a method of a text or number."""
    try:
        if args.open:
            return UNKNOWN
        keywords = {key: plain(item) for key, item in args.keywords.items()}
        return to_value(getattr(owner.value, name)(*[plain(item) for item in args.positional], **keywords))
    except _FAILS:
        return UNKNOWN


def truth(value: Value) -> bool | None:
    """Return whether a value counts as true, None when that is not known."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, (Seq, Mapping)):
        return None if value.loose else bool(value.items)
    if isinstance(value, (Function, Layer, Model)):
        return True
    return None
