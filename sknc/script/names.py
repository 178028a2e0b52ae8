"""Names in a piece of the tree: those that it mentions, those that it assigns."""

from __future__ import annotations

import libcst as cst


class _Assigned(cst.CSTVisitor):
    """Collects the names that a loop assigns."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def _add(self, target: cst.CSTNode) -> None:
        if isinstance(target, cst.Name):
            self.names.add(target.value)
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._add(element.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._add(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._add(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._add(node.target)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._add(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._add(node.target)

    def visit_AsName(self, node: cst.AsName) -> None:
        self._add(node.name)

    def visit_MatchAs(self, node: cst.MatchAs) -> None:
        self._add(node.name or node)

    def visit_MatchStar(self, node: cst.MatchStar) -> None:
        self._add(node.name or node)

    def visit_MatchMapping(self, node: cst.MatchMapping) -> None:
        self._add(node.rest or node)


def assigned(node: cst.CSTNode) -> set[str]:
    """Return the names that a piece of the tree assigns."""
    visitor = _Assigned()
    node.visit(visitor)
    return visitor.names


class _Names(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.found.add(node.value)


def mentioned(node: cst.CSTNode) -> set[str]:
    """Return the names that a piece of the tree mentions."""
    visitor = _Names()
    node.visit(visitor)
    return visitor.found


def mentions(node: cst.CSTNode, names: set[str]) -> bool:
    """Say whether a piece of the tree mentions one of these names."""
    return bool(names) and bool(mentioned(node) & names)


class _Touched(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: set[str] = set()

    def _add(self, target: cst.CSTNode) -> None:
        if isinstance(target, (cst.Subscript, cst.Attribute)) and isinstance(target.value, cst.Name):
            self.found.add(target.value.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._add(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._add(node.target)

    def visit_Del(self, node: cst.Del) -> None:
        self._add(node.target)

    def visit_Call(self, node: cst.Call) -> None:
        if isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Name):
            self.found.add(node.func.value.value)


def touched(node: cst.CSTNode) -> set[str]:
    """Return the names of what a function may change from inside.

    Args:
        node: the function.

    Returns:
        Names whose elements or attributes it sets, or whose methods it calls.
    """
    visitor = _Touched()
    node.visit(visitor)
    return visitor.found


class _Rebound(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Nonlocal(self, node: cst.Nonlocal) -> None:
        self.found |= {item.name.value for item in node.names}


def rebound(node: cst.CSTNode) -> set[str]:
    """Return the names around a function that it assigns; those of the module are never trusted anyway."""
    visitor = _Rebound()
    node.visit(visitor)
    return visitor.found
