"""What of a block's network stands outside the block, and whether the block can get a copy of it.

A function or class that the block calls by its name gets a narrowed copy under the same name at the block's
begin. What is reached otherwise cannot be replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import libcst as cst

from sknc.diagnostics import Diagnostic
from sknc.diagnostics import codes_script as codes
from sknc.script.interpreter import Frame, Interpreter
from sknc.script.markers import Block
from sknc.script.names import assigned, mentioned
from sknc.script.values import Function, Instance, Model, UserClass


@dataclass(frozen=True)
class Definition:
    """A function or class outside the block that the block needs a copy of.

    Attributes:
        node: the definition.
        aliases: other names that the block calls it by.
        receiver: for a method of the class that the block stands in, the name of the object that gets the copy.
        derived: whether it derives from a class that is copied, so that it is copied though it may hold no edit.
    """

    node: cst.FunctionDef | cst.ClassDef
    aliases: tuple[str, ...] = ()
    derived: bool = False
    receiver: str = ""


class _Local(cst.CSTVisitor):
    """Collects parameters and the names of comprehensions."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Param(self, node: cst.Param) -> None:
        self.found.add(node.name.value)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self.found |= mentioned(node.target)


class Reach:
    """Collects the definitions outside a block that have to be copied into it."""

    def __init__(self, interp: Interpreter, block: Block, report: Callable[[Diagnostic], None]) -> None:
        self.interp, self.block, self.report = interp, block, report
        self._needed: dict[cst.FunctionDef | cst.ClassDef, set[str]] = {}
        self._refused: set[int] = set()
        self._derived: set[cst.CSTNode] = set()
        source = interp.source
        self._start, self._end = block.begin.start, block.end.end
        self._definitions = self._visible(source.module.body)
        self._receiver = ""
        self._methods: set[cst.FunctionDef | cst.ClassDef] = set()
        for parent, inner in zip(block.parents, (*block.parents[1:], None), strict=False):
            if isinstance(parent, (cst.FunctionDef, cst.If, cst.With, cst.Try)):
                self._definitions += self._visible(parent.body.body)
            if isinstance(parent, cst.ClassDef) and isinstance(inner, cst.FunctionDef) and inner.params.params:
                self._receiver = inner.params.params[0].name.value
                methods = [m for m in self._visible(parent.body.body) if isinstance(m, cst.FunctionDef)]
                self._methods = {m for m in methods if not m.decorators and "super" not in mentioned(m)}
                self._definitions += list(self._methods)

    def _visible(self, body: object) -> list[cst.FunctionDef | cst.ClassDef]:
        """Definitions of one suite, those in its branches too, which do not hold the block themselves."""
        found: list[cst.FunctionDef | cst.ClassDef] = []
        for statement in body:  # type: ignore[attr-defined]
            if isinstance(statement, (cst.FunctionDef, cst.ClassDef)) and not self._holds_block(statement):
                found.append(statement)
            elif isinstance(statement, (cst.If, cst.Try, cst.With, cst.Else)) and not self._holds_block(statement):
                found += self._visible(statement.body.body)
                orelse = getattr(statement, "orelse", None)
                found += self._visible([orelse]) if orelse is not None else []
        return found

    def _holds_block(self, node: cst.CSTNode) -> bool:
        start, end = self.interp.source.span(node)
        # The END marker may be the last line of a suite, which the statement's own span leaves out.
        return start < self._start and self.interp.source.span(self.block.statements[-1])[1] <= end

    def _inside(self, node: cst.CSTNode) -> bool:
        start, end = self.interp.source.span(node)
        return self._start <= start and end <= self._end

    def _definition(self, node: cst.CSTNode) -> cst.FunctionDef | cst.ClassDef | None:
        start, end = self.interp.source.span(node)
        for definition in self._definitions:
            first, last = self.interp.source.span(definition)
            if first <= start and end <= last and not self._inside(definition):
                return definition
        return None

    def editable(self, node: cst.CSTNode, frames: tuple[Frame, ...], quiet: bool = False) -> bool:
        """Say whether a place in the text can be rewritten for this block, and note what has to be copied for it.

        Args:
            node: the place.
            frames: what was being executed when the block came to it.
            quiet: whether it does not matter much, so that nothing is reported when it cannot be.

        Returns:
            True inside the block and inside a definition that the block reaches by its name.
        """
        if self._inside(node):
            return True
        definition = self._definition(node)
        if definition is None:
            return False
        names: set[str] = set()
        way = frames[len(self.interp.entry_frames.get(self.block.index, ())) :]
        if not self._callable_by_name(definition, way, names, quiet):
            return False
        self._needed.setdefault(definition, set()).update(names)
        nested = self.block.parents and any(isinstance(p, cst.FunctionDef) for p in self.block.parents)
        for frame in way if nested else ():
            caller = self._definition(frame.node)
            if frame.what in ("call", "class") and caller is not None:
                self._needed.setdefault(caller, set())
        return True

    def _callable_by_name(
        self, definition: cst.FunctionDef | cst.ClassDef, way: tuple[Frame, ...], names: set[str], quiet: bool
    ) -> bool:
        how = "an object that is made outside the block"
        for frame in way:
            if frame.what not in ("call", "class") or self._definition(frame.node) is not definition:
                continue
            if definition in self._methods:
                if self._own_method(definition, frame):
                    return True
                continue
            callee = self._constructor(frame) if isinstance(definition, cst.ClassDef) else frame.callee
            if self._on_class(definition, frame.callee) or (
                isinstance(callee, cst.Name)
                and (self._derives(definition, frame, callee) or self._stands_for(definition, callee, names))
            ):
                return True
            if frame.what == "call" and isinstance(definition, cst.ClassDef):
                continue
            if frame.what == "class" and isinstance(frame.callee, cst.Attribute) is False and frame.callee is None:
                return True
            if frame.callee is not None:
                how = f"'{self.interp.source.text(frame.callee)}'"
        called_back = any(f.what == "call" and f.callee is None and self._definition(f.node) is definition for f in way)
        if called_back and isinstance(definition, cst.FunctionDef):
            return True
        if not quiet and id(definition) not in self._refused:
            self._refused.add(id(definition))
            place = self.interp.source.at(definition.name)
            self.report(codes.THROUGH_OBJECT.at(place, name=definition.name.value, how=how))
        return False

    def _own_method(self, definition: cst.CSTNode, frame: Frame) -> bool:
        """Whether a method is called as `self.name(...)` on the object whose method holds the block."""
        callee, function = frame.callee, frame.function
        named = isinstance(callee, cst.Attribute) and isinstance(callee.value, cst.Name)
        entry = self.interp.entry_frames.get(self.block.index, ())
        owner = next((f.function.receiver for f in reversed(entry) if f.function is not None), None)
        return bool(
            named
            and isinstance(callee, cst.Attribute)
            and isinstance(definition, cst.FunctionDef)
            and callee.attr.value == definition.name.value
            and function is not None
            and owner is not None
            and function.receiver is owner
        )

    def _derives(self, definition: cst.FunctionDef | cst.ClassDef, frame: Frame, callee: cst.Name) -> bool:
        """Whether what is called is a class that derives from the definition: it gets a copy with the new base."""
        receiver = frame.function.receiver if frame.function is not None else None
        made = receiver.instance if isinstance(receiver, Model) else receiver
        if not isinstance(definition, cst.ClassDef) or not isinstance(made, Instance) or made.cls.node is definition:
            return False
        self._take_lineage(definition, made.cls, callee.value)
        return True

    def _take_lineage(self, definition: cst.ClassDef, called: UserClass, name: str) -> None:
        """Note that a class, and those between it and a definition that it derives from, need copies."""
        for cls in called.lineage():
            below = cls.node is not definition and any(base.node is definition for base in cls.lineage())
            if below and self._definition(cls.node) is cls.node:
                self._derived.add(cls.node)
                alias = {name} - {cls.name} if cls is called else set()
                self._needed.setdefault(cls.node, set()).update(alias)

    def _on_class(self, definition: cst.FunctionDef | cst.ClassDef, callee: cst.BaseExpression | None) -> bool:
        """Whether a method is called as `Class.name(...)`, on the class by its name: its copy has that name."""
        if not isinstance(definition, cst.ClassDef) or not isinstance(callee, cst.Attribute):
            return False
        if not isinstance(callee.value, cst.Name):
            return False
        name = callee.value.value
        found = self.interp.globals.get(name)
        if isinstance(found, UserClass) and found.node is not definition:
            if all(base.node is not definition for base in found.lineage()):
                return False
            self._take_lineage(definition, found, name)
            return True
        return name == definition.name.value and (found is None or isinstance(found, UserClass))

    def _stands_for(self, definition: cst.FunctionDef | cst.ClassDef, callee: cst.Name, names: set[str]) -> bool:
        """Whether a name by which something is called will stand for its copy; `names` takes it as an alias."""
        if callee.value == definition.name.value:
            return True
        caller = None if self._inside(callee) else self._definition(callee)
        around: list[cst.CSTNode] = list(self.block.statements) if caller is None else [caller]
        local = _Local()
        for node in around:
            node.visit(local)
        if callee.value in local.found or any(callee.value in assigned(node) for node in around):
            # What the name is given comes from somewhere: from the definition's own name, or from what stands for it.
            return any(definition.name.value in mentioned(node) for node in (*around, *self.block.statements))
        found = self.interp.globals.get(callee.value)
        if found is None or (isinstance(found, (Function, UserClass)) and found.node is definition):
            names.add(callee.value)
            return True
        return False

    def _constructor(self, frame: Frame) -> cst.BaseExpression | None:
        """How the class was called whose method runs, if the block made the object."""
        if frame.what == "class" or frame.function is None or frame.function.receiver is None:
            return frame.callee
        made = id(frame.function.receiver)
        here = self.interp.made_in.get(made) == self.block.index
        return self.interp.made_by.get(made) if here else None

    def definitions(self) -> tuple[Definition, ...]:
        """Return what has to be copied, in the order of the text."""
        ordered = sorted(self._needed, key=self.interp.source.span)
        return tuple(
            Definition(
                n, tuple(sorted(self._needed[n])), n in self._derived, self._receiver if n in self._methods else ""
            )
            for n in ordered
        )
