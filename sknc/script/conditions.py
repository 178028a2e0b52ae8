"""Conditions in thought: `and`, `or`, comparisons, and expressions of which only one side is evaluated."""

from __future__ import annotations

from typing import Any

import libcst as cst

from sknc.script import python, tensors
from sknc.script.expressions import evaluate, rule
from sknc.script.interpreter import Interpreter
from sknc.script.values import (
    UNKNOWN,
    Const,
    Env,
    Function,
    Instance,
    Layer,
    Model,
    Size,
    Tensor,
    UserClass,
    Value,
    constant,
    plain,
)


@rule(cst.BooleanOperation)
def _boolean(interp: Interpreter, node: cst.BooleanOperation, env: Env) -> Value:
    left = evaluate(interp, node.left, env)
    known = python.truth(left)
    if known is None:
        with interp.perhaps():
            evaluate(interp, node.right, env)
        return UNKNOWN
    return evaluate(interp, node.right, env) if known == isinstance(node.operator, cst.And) else left


@rule(cst.Comparison)
def _comparison(interp: Interpreter, node: cst.Comparison, env: Env) -> Value:
    left = evaluate(interp, node.left, env)
    left_node = node.left
    result: Value = Const(True)
    for target in node.comparisons:
        right = evaluate(interp, target.comparator, env)
        op = python.COMPARE[type(target.operator)]
        if isinstance(left, Size) or isinstance(right, Size):
            one = tensors.compare_sizes(interp, op, left, left_node, right, target.comparator)
        else:
            one = _compare(op, left, right)
        if constant(one) is not True:
            result = one if result is not UNKNOWN else UNKNOWN
        left, left_node = right, target.comparator
    return result


_OBJECTS = (Layer, Model, Tensor, Function, UserClass, Instance)


def _compare(op: Any, left: Value, right: Value) -> Value:
    for value, other in ((left, right), (right, left)):
        if isinstance(value, _OBJECTS) and isinstance(other, Const) and other.value is None:
            return Const(bool(op(0, None))) if op in python.EQUALITIES else UNKNOWN
    try:
        return Const(bool(op(plain(left), plain(right))))
    except (ValueError, TypeError):
        return UNKNOWN


@rule(cst.IfExp)
def _if_expression(interp: Interpreter, node: cst.IfExp, env: Env) -> Value:
    known = python.truth(evaluate(interp, node.test, env))
    if known is not None:
        return evaluate(interp, node.body if known else node.orelse, env)
    with interp.perhaps():
        return interp.join(evaluate(interp, node.body, env), evaluate(interp, node.orelse, env))
