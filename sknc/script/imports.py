"""Imports in thought: names become references to what they were imported from."""

from __future__ import annotations

import libcst as cst

from sknc.script.interpreter import Interpreter
from sknc.script.values import Env, Ref


def bind_imports(interp: Interpreter, node: cst.Import | cst.ImportFrom, env: Env) -> None:
    """Give the names that an import statement brings their values.

    Args:
        interp: the reading.
        node: the statement.
        env: the names of the scope.
    """
    if isinstance(node, cst.Import):
        for alias in node.names:
            full = dotted(alias.name)
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                env.names[alias.asname.name.value] = Ref(full)
            else:
                env.names[full.split(".")[0]] = Ref(full.split(".")[0])
        return
    module = "." * len(node.relative) + (dotted(node.module) if node.module is not None else "")
    if isinstance(node.names, cst.ImportStar):
        interp.star_imports.append(module)
        if not module.startswith(("keras", "tensorflow", "numpy", "math", "matplotlib")):
            interp.forget(list(env.names), env)  # it may bring names of its own in their place
        return
    for alias in node.names:
        name = dotted(alias.name)
        bound = alias.asname.name if alias.asname is not None else alias.name
        if isinstance(bound, cst.Name):
            env.names[bound.value] = Ref(f"{module}.{name}" if module.strip(".") else f"{module}{name}")


def dotted(node: cst.BaseExpression) -> str:
    """Return a dotted name as text."""
    if isinstance(node, cst.Attribute):
        return f"{dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""
