"""Comprehensions in thought."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from sknc.script import python
from sknc.script.expressions import evaluate, rule
from sknc.script.interpreter import Interpreter
from sknc.script.values import UNKNOWN, Env, Mapping, Seq, Value, plain


@rule(cst.ListComp, cst.GeneratorExp, cst.SetComp)
def _comprehension(interp: Interpreter, node: cst.ListComp | cst.GeneratorExp, env: Env) -> Value:
    inner = Env(env, comprehension=True)
    found: list[Value] = []
    complete = _comprehend(interp, node.for_in, inner, lambda: found.append(evaluate(interp, node.elt, inner)))
    return Seq(found, True, [None] * len(found)) if complete else UNKNOWN


@rule(cst.DictComp)
def _dict_comprehension(interp: Interpreter, node: cst.DictComp, env: Env) -> Value:
    inner = Env(env, comprehension=True)
    items: dict[Any, Value] = {}

    def add() -> None:
        try:
            items[plain(evaluate(interp, node.key, inner))] = evaluate(interp, node.value, inner)
        except (ValueError, TypeError):
            return

    return Mapping(items) if _comprehend(interp, node.for_in, inner, add) else UNKNOWN


def _comprehend(interp: Interpreter, loop: cst.CompFor, env: Env, body: Callable[[], None]) -> bool:
    from sknc.script.assignments import assign

    items = python.iterate(evaluate(interp, loop.iter, env))
    complete = items is not None and len(items) <= python.LIMIT
    for item in items if complete and items is not None else [UNKNOWN]:
        assign(interp, loop.target, item, env)
        tests = [python.truth(evaluate(interp, test.test, env)) for test in loop.ifs]
        if False in tests:
            continue
        complete = complete and None not in tests
        if loop.inner_for_in is not None:
            complete = _comprehend(interp, loop.inner_for_in, env, body) and complete
        else:
            body()
    return complete
