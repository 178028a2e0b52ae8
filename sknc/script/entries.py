"""Functions that other code calls: what a script hands to a library, decorates or never calls may hold a block."""

from __future__ import annotations

import libcst as cst

from sknc.script.interpreter import Interpreter
from sknc.script.markers import Block
from sknc.script.values import (
    Arguments,
    Bound,
    Env,
    Function,
    Instance,
    Mapping,
    Partial,
    Seq,
    UserClass,
    Value,
)

_RUN_MAIN = ("absl.app.run", "tensorflow.app.run", "tensorflow.compat.v1.app.run")


def offer(interp: Interpreter, value: Value | None, depth: int = 0) -> None:
    """Remember that code which cannot be seen may call something.

    Args:
        interp: the reading.
        value: what it was handed: functions and classes count, in lists and dictionaries too.
        depth: how deep it lies in what was handed over.
    """
    inner: list[Value | None] = []
    if isinstance(value, (Function, UserClass)):
        interp.offered.append(value)
    elif isinstance(value, Partial):
        inner = [value.callee]
    elif isinstance(value, Bound) and isinstance(value.owner, (Function, UserClass)):
        inner = [value.owner]
    elif isinstance(value, (Seq, Mapping)):
        inner = list(value.items if isinstance(value, Seq) else value.items.values())
    for item in inner if depth < 4 else ():
        offer(interp, item, depth + 1)


def offer_to(interp: Interpreter, name: str, args: Arguments) -> None:
    """Remember what is handed to a function of a library.

    Args:
        interp: the reading.
        name: its full name.
        args: its arguments; some functions call what they were not given: `app.run()` calls `main`.
    """
    for value in (*args.positional, *args.keywords.values()):
        offer(interp, value)
    if name in _RUN_MAIN and not args.positional and "main" not in args.keywords:
        offer(interp, interp.globals.get("main"))
    if name == "fire.Fire" and not args.positional and "component" not in args.keywords:
        for value in interp.globals.names.values():
            offer(interp, value)


def enter_rest(interp: Interpreter) -> list[Block]:
    """Enter the blocks that the script itself does not come to.

    Args:
        interp: the reading, behind the script's last line.

    Returns:
        Those in functions that, as far as can be seen, nobody calls.
    """
    for value in list(interp.offered):
        if len(interp.entered) == len(interp.blocks):
            break
        if isinstance(value, Function):
            _call(interp, value)
    rest = [block for block in interp.blocks if block.index not in interp.entered]
    handed = {id(value.node) for value in interp.offered}
    for block in rest:
        _enter(interp, block)
    return [block for block in rest if not any(id(parent) in handed for parent in block.parents)]


def _call(interp: Interpreter, function: Function) -> None:
    """Call a function with arguments that nobody knows."""
    from sknc.script.calls import call

    interp.steps = 0
    call(interp, function, Arguments(open=True), None)


def _enter(interp: Interpreter, block: Block) -> None:
    """Execute the function that a block stands in, though the script does not call it."""
    from sknc.script.statements import execute

    env, receiver, owner = interp.globals, None, None
    for parent in block.parents:
        if isinstance(parent, cst.ClassDef):
            found = env.get(parent.name.value)
            owner = found if isinstance(found, UserClass) else None
            receiver = Instance(owner) if owner is not None else None
        if isinstance(parent, cst.FunctionDef):
            _call(interp, Function(parent, env, receiver, owner))
            break
    if block.index not in interp.entered:
        execute(interp, list(block.statements), Env(interp.globals))
