"""Statements in thought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import libcst as cst

from sknc.script import dialect, mutate, python
from sknc.script.assignments import assign, augment
from sknc.script.calls import call
from sknc.script.expressions import defaults, evaluate
from sknc.script.imports import bind_imports
from sknc.script.interpreter import STEPS, Frame, Interpreter
from sknc.script.names import assigned, mentioned, mentions
from sknc.script.values import (
    UNKNOWN,
    Arguments,
    Const,
    Env,
    Function,
    Instance,
    Made,
    Model,
    Ref,
    Seq,
    UserClass,
    Value,
)

GO, LEAVE, BREAK, CONTINUE = "go", "leave", "break", "continue"
"""How a suite ended: it ran through, it left the function, or it left the round of a loop."""

UNROLL = 300
LOOP_STEPS = STEPS // 4
"""How many expressions are looked at in one loop, so that a long one leaves something for what follows it."""


def execute_body(interp: Interpreter, body: cst.BaseSuite, env: Env) -> str:
    """Execute the suite of a function, class or branch."""
    return execute(interp, list(body.body), env)


def execute(interp: Interpreter, statements: Sequence[cst.CSTNode], env: Env) -> str:
    """Execute statements in order.

    Args:
        interp: the reading.
        statements: the statements of one suite.
        env: the names of the scope.

    Returns:
        How the suite ended.
    """
    for statement in statements:
        interp.before(statement)
        ended = _statement(interp, statement, env)
        interp.after(statement)
        if ended != GO:
            for rest in statements[statements.index(statement) :]:
                interp.after(rest)
            return ended
    return GO


def _statement(interp: Interpreter, node: cst.CSTNode, env: Env) -> str:
    if interp.exhausted():
        _skip(interp, node, env)
        return GO
    if isinstance(node, cst.SimpleStatementLine):
        for small in node.body:
            interp.statement = small
            ended = _small(interp, small, env)
            if ended != GO:
                return ended
        return GO
    if isinstance(node, cst.BaseSmallStatement):
        interp.statement = node
        return _small(interp, node, env)
    interp.statement = node
    rule = _COMPOUND.get(type(node))
    return rule(interp, node, env) if rule else GO


def _skip(interp: Interpreter, node: cst.CSTNode, env: Env) -> None:
    """A statement that is not followed any more: whatever it may have changed is not known."""
    if not isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        interp.forget(assigned(node), env)
        for value in [env.get(name) for name in mentioned(node)]:
            mutate.forget_items(value or UNKNOWN)


def _small(interp: Interpreter, node: cst.BaseSmallStatement, env: Env) -> str:
    if isinstance(node, cst.Return):
        value = evaluate(interp, node.value, env) if node.value is not None else Const(None)
        if env.returned is not None:
            env.returned.append(value)
        return LEAVE
    leaving = {cst.Raise: LEAVE, cst.Break: BREAK, cst.Continue: CONTINUE}
    if type(node) in leaving:
        return leaving[type(node)]
    rule = _SIMPLE.get(type(node))
    if rule is not None:
        rule(interp, node, env)
    return GO


def _assign(interp: Interpreter, node: cst.Assign, env: Env) -> None:
    before = interp.peeks
    value = evaluate(interp, node.value, env)
    if isinstance(value, Seq) and _used_up(node.value):
        value = Seq(value.items, True)
        mutate.forget_items(value)
    names = {t.target.value for t in node.targets if isinstance(t.target, cst.Name)}
    if interp.peeks > before and interp.block is not None:
        interp.peeked |= names
    elif not mentions(node.value, interp.peeked):
        interp.peeked -= names
    for target in node.targets:
        assign(interp, target.target, dialect.width(interp, target.target, node.value, value), env)


def _used_up(node: cst.BaseExpression) -> bool:
    """Whether an expression gives something that can be iterated once: behind a name nobody knows what is left."""
    called = node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) else ""
    return isinstance(node, cst.GeneratorExp) or called in ("zip", "enumerate", "reversed")


def _annotated(interp: Interpreter, node: cst.AnnAssign, env: Env) -> None:
    if node.value is not None:
        value = evaluate(interp, node.value, env)
        assign(interp, node.target, dialect.width(interp, node.target, node.value, value), env)


def _expression(interp: Interpreter, node: cst.Expr, env: Env) -> None:
    before, looks = interp.peeks, len(interp.looks)
    evaluate(interp, node.value, env)
    if len(interp.looks) > looks:
        return  # a function that is called here looks, and may do other things as well
    if interp.block is not None and (interp.peeks > before or mentions(node, interp.peeked)):
        interp.looks.append((interp.block, len(interp.events), node))


def _assert(interp: Interpreter, node: cst.Assert, env: Env) -> None:
    evaluate(interp, node.test, env)


def _scope(interp: Interpreter, node: cst.Global | cst.Nonlocal, env: Env) -> None:
    for item in node.names:
        env.elsewhere[item.name.value] = interp.globals if isinstance(node, cst.Global) else env.parent


def _delete(interp: Interpreter, node: cst.Del, env: Env) -> None:
    targets: list[cst.CSTNode] = [node.target]
    if isinstance(node.target, (cst.Tuple, cst.List)):
        targets = [element.value for element in node.target.elements]
    for target in targets:
        if isinstance(target, cst.Name):
            env.names.pop(target.value, None)
        elif isinstance(target, (cst.Subscript, cst.Attribute)):
            mutate.forget_items(evaluate(interp, target.value, env))


def _branches(interp: Interpreter, env: Env, runs: list[Callable[[], str]]) -> str:
    """Follow several branches from the same names, and join what they leave behind."""
    before = dict(env.names)
    after: list[dict[str, Value]] = []
    endings: list[str] = []
    regions = len(interp.uncertain)
    for run in runs:
        env.names = dict(before)
        interp.begin_uncertain()
        ended = run()
        del interp.uncertain[regions:]
        endings.append(ended)
        if ended == GO:
            after.append(env.names)
    if after and len(after) < len(runs):
        # Whoever left may have left: up to the end of the loop or function nothing is sure to be executed.
        interp.begin_uncertain()
        env.maybe_left = env.maybe_left or any(ended in (BREAK, CONTINUE) for ended in endings)
    if not after:
        env.names = before
        return endings[0] if len(set(endings)) == 1 else (LEAVE if LEAVE in endings else endings[0])
    joined = dict(after[0])
    for names in after[1:]:
        for name in (*joined, *(n for n in names if n not in joined)):
            joined[name] = interp.join(joined.get(name), names.get(name))
    env.names = joined
    return GO


def _if(interp: Interpreter, node: cst.If, env: Env) -> str:
    known = python.truth(evaluate(interp, node.test, env))

    def body() -> str:
        return execute_body(interp, node.body, env)

    def other() -> str:
        if node.orelse is None:
            return GO
        if isinstance(node.orelse, cst.If):
            return _if(interp, node.orelse, env)
        return execute_body(interp, node.orelse.body, env)

    with interp.inside(Frame("branch", node)):
        if known is not None:
            return body() if known else other()
        return _branches(interp, env, [body, other])


def _for(interp: Interpreter, node: cst.For, env: Env) -> str:
    items = python.iterate(evaluate(interp, node.iter, env))
    with interp.inside(Frame("loop", node)):
        if items is None or len(items) > UNROLL:
            return _once(interp, node, env, lambda: assign(interp, node.target, UNKNOWN, env))
        return _unrolled(interp, node, items, env)


def _unrolled(interp: Interpreter, node: cst.For, items: list[Value], env: Env) -> str:
    """A loop over known elements, round by round."""
    regions, outer = len(interp.uncertain), env.maybe_left
    changed, most = assigned(node.body), interp.steps + LOOP_STEPS
    for item in items:
        if interp.steps > most:
            _skip(interp, node, env)
            break
        env.maybe_left = False
        assign(interp, node.target, item, env)
        ended = execute_body(interp, node.body, env)
        if ended == LEAVE:
            return LEAVE
        if env.maybe_left:
            interp.forget(changed, env)
        if ended == BREAK:
            break
    uncertain = len(interp.uncertain) > regions
    if uncertain:
        interp.forget(assigned(node), env)
    del interp.uncertain[regions:]
    env.maybe_left = outer
    if node.orelse is None:
        return GO
    orelse = node.orelse.body
    if uncertain:
        return _branches(interp, env, [lambda: execute_body(interp, orelse, env), lambda: GO])
    return execute_body(interp, orelse, env)


def _once(interp: Interpreter, node: cst.For | cst.While, env: Env, prepare: Callable[[], None]) -> str:
    """A loop of unknown length: what it changes is not known, and it may not have been run at all.

    The body is followed twice, so that what a round does to the tensors of the round before is seen as well.
    """
    changed = assigned(node.body)

    def run() -> str:
        for _ in range(2):
            interp.forget(changed, env)
            prepare()
            execute_body(interp, node.body, env)
        interp.forget(changed, env)
        return GO

    ended = _branches(interp, env, [run, lambda: GO])
    if node.orelse is None:
        return ended
    orelse = node.orelse.body
    return _branches(interp, env, [lambda: execute_body(interp, orelse, env), lambda: GO])


def _while(interp: Interpreter, node: cst.While, env: Env) -> str:
    evaluate(interp, node.test, env)
    with interp.inside(Frame("loop", node)):
        return _once(interp, node, env, lambda: None)


def _with(interp: Interpreter, node: cst.With, env: Env) -> str:
    suppresses = False
    for item in node.items:
        value = evaluate(interp, item.item, env)
        suppresses = suppresses or (isinstance(value, Made) and value.name == "contextlib.suppress")
        if isinstance(value, Instance) and value.cls.method("__enter__") is not None:
            mutate.forget_items(value)
        if item.asname is not None:
            assign(interp, item.asname.name, value if isinstance(value, (Model, Instance)) else UNKNOWN, env)
    if not suppresses:
        return execute_body(interp, node.body, env)
    return _branches(
        interp, env, [lambda: execute_body(interp, node.body, env), lambda: _broken_off(interp, node, env)]
    )


def _broken_off(interp: Interpreter, node: cst.With | cst.Try | cst.TryStar, env: Env) -> str:
    """A body that an exception ended somewhere: what it assigns may have been assigned or not."""
    interp.forget(assigned(node.body), env)
    return GO


def _try(interp: Interpreter, node: cst.Try | cst.TryStar, env: Env) -> str:
    with interp.inside(Frame("try", node)):

        def body() -> str:
            ended = execute_body(interp, node.body, env)
            if ended == GO and node.orelse is not None:
                return execute_body(interp, node.orelse.body, env)
            return ended

        def handler(one: Any) -> Callable[[], str]:
            def run() -> str:
                _broken_off(interp, node, env)
                return execute_body(interp, one.body, env)

            return run

        ended = _branches(interp, env, [body, *(handler(one) for one in node.handlers)])
        if node.finalbody is not None:
            execute_body(interp, node.finalbody.body, env)
        return ended


_TRANSPARENT = frozenset(
    "function register_keras_serializable staticmethod classmethod property override abstractmethod lru_cache cache"
    " wraps do_not_convert cached_property setter no_type_check typing_extensions".split()
)
"""Decorators, by their last name, that leave what a function returns as it is."""


def _define(interp: Interpreter, node: cst.FunctionDef, env: Env) -> str:
    value: Value = Function(node, env, defaults=defaults(interp, node, env))
    for decorator in reversed(node.decorators):
        by = evaluate(interp, decorator.decorator, env)
        if isinstance(by, Function):
            value = call(interp, by, Arguments([value]), None)
        elif isinstance(value, Function):
            name = by.name.rsplit(".", 1)[-1] if isinstance(by, (Ref, Made)) else ""
            value.opaque = value.opaque or name not in _TRANSPARENT
            if value.opaque:
                interp.offered.append(value)
    env.names[node.name.value] = value
    return GO


def _class(interp: Interpreter, node: cst.ClassDef, env: Env) -> str:
    bases = [evaluate(interp, base.value, env) for base in node.bases]
    body = Env(env)
    execute_body(interp, node.body, body)
    made = UserClass(node, env, bases, body)
    for decorator in reversed(node.decorators):
        by = evaluate(interp, decorator.decorator, env)
        if isinstance(by, Function):
            call(interp, by, Arguments([made]), None)
    env.names[node.name.value] = made
    return GO


def _match(interp: Interpreter, node: cst.Match, env: Env) -> str:
    evaluate(interp, node.subject, env)
    with interp.inside(Frame("branch", node)):
        return _branches(interp, env, [*(partial(_case, interp, case, env) for case in node.cases), lambda: GO])


def _case(interp: Interpreter, case: cst.MatchCase, env: Env) -> str:
    for name in assigned(case.pattern):
        env.names[name] = UNKNOWN
    return execute_body(interp, case.body, env)


_SIMPLE: dict[type[cst.CSTNode], Callable[[Interpreter, Any, Env], None]] = {
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: augment,
    cst.Expr: _expression,
    cst.Assert: _assert,
    cst.Import: bind_imports,
    cst.ImportFrom: bind_imports,
    cst.Global: _scope,
    cst.Nonlocal: _scope,
    cst.Del: _delete,
}
_COMPOUND: dict[type[cst.CSTNode], Callable[[Interpreter, Any, Env], str]] = {
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.With: _with,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.FunctionDef: _define,
    cst.ClassDef: _class,
    cst.Match: _match,
}
