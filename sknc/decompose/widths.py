"""The graph of widths: which sizes of a network depend on each other.

A width is a variable. What layers do to widths gives equations between polynomials of variables: a residual sum
makes two widths equal, a concatenation adds them, a flattening multiplies them. A width whose equations cannot be
kept when it shrinks stays as it is, with the reason: a network is narrowed less rather than wrongly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from sknc.decompose.factor import reduce_width

Role = Literal["dense", "conv", "recurrent", "embedding", "reshape", "compare", "output", "computed"]


Compute = Callable[[Callable[[int], float | None]], float | None]
"""A number, given the width of each variable."""


@dataclass(frozen=True)
class Dim:
    """A size as a polynomial: a sum of terms, each a coefficient (None: unknown) times variables."""

    terms: tuple[tuple[int | None, tuple[int, ...]], ...]

    @staticmethod
    def fixed(size: int | None) -> Dim:
        """Return a size that does not depend on any width."""
        return Dim(((size, ()),))

    @staticmethod
    def var(variable: int) -> Dim:
        """Return a size that is a width variable."""
        return Dim(((1, (variable,)),))

    @property
    def variables(self) -> tuple[int, ...]:
        """Return the variables that the size depends on."""
        return tuple(dict.fromkeys(v for _, product in self.terms for v in product))

    @property
    def single(self) -> int | None:
        """Return the variable that this size is, or None when it is anything more."""
        if len(self.terms) == 1 and self.terms[0][0] == 1 and len(self.terms[0][1]) == 1:
            return self.terms[0][1][0]
        return None

    @property
    def constant(self) -> int | None:
        """Return the size when it is a known number."""
        if all(not product and coefficient is not None for coefficient, product in self.terms):
            return sum(coefficient or 0 for coefficient, _ in self.terms)
        return None

    def value(self, widths: Callable[[int], float | None]) -> float | None:
        """Return the size for given widths, None when a part of it is not known."""
        total = 0.0
        for coefficient, product in self.terms:
            factors = [widths(variable) for variable in product]
            if coefficient is None or None in factors:
                return None
            total += coefficient * math.prod(factor or 0 for factor in factors)
        return int(total)

    def either(self, other: Dim) -> Dim:
        """Return a size that is one of two: it depends on the widths of both, in a way that is not known."""
        variables = dict.fromkeys((*self.variables, *other.variables))
        return Dim(tuple((None, (variable,)) for variable in variables) or ((None, ()),))

    def __add__(self, other: Dim) -> Dim:
        merged: dict[tuple[int, ...], int | None] = {}
        for coefficient, product in (*self.terms, *other.terms):
            if product in merged:
                known = merged[product]
                merged[product] = None if known is None or coefficient is None else known + coefficient
            else:
                merged[product] = coefficient
        return Dim(tuple((c, p) for p, c in sorted(merged.items())))

    def __mul__(self, other: Dim) -> Dim:
        result: Dim | None = None
        for c1, p1 in self.terms:
            for c2, p2 in other.terms:
                coefficient = None if c1 is None or c2 is None else c1 * c2
                term = Dim(((coefficient, tuple(sorted((*p1, *p2)))),))
                result = term if result is None else result + term
        return result or Dim.fixed(0)


@dataclass
class Slot:
    """A width that stands in the text.

    Attributes:
        base: the width in the user's script, None when it is known at run time only.
        role: what kind of layer it belongs to.
        site: identifies the place in the text; several slots share one when a line is executed more than once.
        layer: the name to show for it.
        compute: for a width that the script computes from others (`filters // 16`), the way to it; it has no site.
        needs: the variables that it is computed from.
    """

    base: int | None
    role: Role
    site: object
    layer: str
    compute: Compute | None = None
    needs: tuple[int, ...] = ()


@dataclass
class _Class:
    members: list[int]
    fixed: str = ""
    multiple: int = 1
    derived: Dim | None = None


@dataclass(frozen=True)
class Width:
    """What becomes of a slot.

    Attributes:
        old, new: the widths; None when they are known at run time only.
        action: "keep", "reduce", "output" (the submodel's own size), "derived" (set by an equation) or "computed" (by
            the script itself).
        reason: why it is kept, for people.
        multiple: the new width is a multiple of this.
    """

    old: int | None
    new: int | None
    action: Literal["keep", "reduce", "output", "derived", "computed"]
    reason: str = ""
    multiple: int = 1


@dataclass
class WidthGraph:
    """Variables and the equations between them.

    Attributes:
        slots: the widths that stand in the text, by variable.
        compared: sizes that the script compares (`x.shape[-1] != filters`) and how that came out; the narrow network
            has to take the same branch.
    """

    slots: dict[int, Slot] = field(default_factory=dict)
    compared: list[tuple[Dim, Dim, Callable[[int, int], bool], bool]] = field(default_factory=list)
    _classes: dict[int, _Class] = field(default_factory=dict)
    _root: dict[int, int] = field(default_factory=dict)

    def clone(self) -> WidthGraph:
        """Return a copy that later equations do not reach."""
        classes = {root: _Class(list(c.members), c.fixed, c.multiple, c.derived) for root, c in self._classes.items()}
        return WidthGraph(dict(self.slots), list(self.compared), classes, dict(self._root))

    def slot(self, base: int | None, role: Role, site: object, layer: str) -> int:
        """Add a width that stands in the text and return its variable."""
        return self._add(Slot(base, role, site, layer))

    def computed(self, compute: Compute, needs: Iterable[int], layer: str) -> int:
        """Add a width that the script computes from others and return its variable."""
        base = compute(lambda variable: self.slots[variable].base)
        return self._add(
            Slot(None if base is None else int(base), "computed", None, layer, compute, tuple(dict.fromkeys(needs)))
        )

    def _add(self, slot: Slot) -> int:
        number = len(self.slots)
        self.slots[number] = slot
        self._root[number] = number
        self._classes[number] = _Class([number])
        return number

    def find(self, variable: int) -> int:
        """Return the representative of the variables that equal this one."""
        while self._root[variable] != variable:
            self._root[variable] = self._root[self._root[variable]]
            variable = self._root[variable]
        return variable

    def fix(self, dim: Dim, why: str) -> None:
        """Keep every width that a size depends on."""
        todo = list(dim.variables)
        while todo:
            group = self._classes[self.find(todo.pop())]
            if not group.fixed:
                group.fixed = why
                todo += [need for member in group.members for need in self.slots[member].needs]

    def multiple(self, dim: Dim, of: int, why: str) -> None:
        """Demand that a size stays a multiple of a number (groups of a convolution)."""
        if dim.single is None:
            self.fix(dim, why)
        else:
            group = self._classes[self.find(dim.single)]
            group.multiple = math.lcm(group.multiple, of)

    def base(self, dim: Dim) -> int | None:
        """Return a size in the user's own network, None when it is not known."""
        found = dim.value(lambda variable: self.slots[variable].base)
        return None if found is None else int(found)

    def equal(self, left: Dim, right: Dim, why: str) -> None:
        """Demand that two sizes stay equal.

        Args:
            left: one size.
            right: the other.
            why: the reason given for a width that has to be kept because of this.
        """
        if left == right:
            return
        if left.single is not None and right.single is not None:
            self._union(left.single, right.single, why)
        elif not left.variables or not right.variables or not self._derive_one(left, right):
            self.fix(left, why)
            self.fix(right, why)

    def _union(self, left: int, right: int, why: str) -> None:
        a, b = self.find(left), self.find(right)
        if a == b:
            return
        kept, gone = self._classes[a], self._classes.pop(b)
        self._root[b] = a
        if kept.derived is not None and gone.derived is not None and kept.derived != gone.derived:
            self.fix(kept.derived, why)
            self.fix(gone.derived, why)
        computed = [m for m in (*kept.members, *gone.members) if self.slots[m].compute is not None]
        kept.members += gone.members
        for fixed in (kept.fixed, gone.fixed, why if computed else ""):
            if fixed:
                kept.fixed = ""
                self.fix(Dim.var(left), fixed)
        kept.multiple = math.lcm(kept.multiple, gone.multiple)
        kept.derived = kept.derived or gone.derived

    def _derive_one(self, left: Dim, right: Dim) -> bool:
        return self._derive(left, right) or self._derive(right, left)

    def _derive(self, left: Dim, right: Dim) -> bool:
        """Set a lone variable by the polynomial on the other side of an equation, if that is possible."""
        if left.single is None or any(coefficient is None for coefficient, _ in right.terms):
            return False
        root = self.find(left.single)
        group = self._classes[root]
        known = self.base(left) == self.base(right) and self.base(left) is not None
        if group.derived is not None or not known or root in self._reach(right):
            return False
        group.derived = right
        return True

    def _reach(self, dim: Dim) -> set[int]:
        """Return the classes that a size depends on, through derived ones too."""
        seen: set[int] = set()
        todo = list(dim.variables)
        while todo:
            root = self.find(todo.pop())
            if root not in seen:
                seen.add(root)
                derived = self._classes[root].derived
                todo += derived.variables if derived else ()
                todo += [need for member in self._classes[root].members for need in self.slots[member].needs]
        return seen

    def sites(self) -> Iterator[tuple[object, list[int]]]:
        """Yield each place in the text with the slots that share it."""
        by_site: dict[object, list[int]] = {}
        for number, slot in self.slots.items():
            if slot.compute is None:
                by_site.setdefault(slot.site, []).append(number)
        yield from by_site.items()

    def solve(
        self, factor: float, output: int | None, new_output: int | None = None, embedded: bool = False
    ) -> dict[int, Width]:
        """Decide every width.

        Args:
            factor: the reduction factor F (3.1).
            output: the variable of the output layer, whose width the share decides; None when there is none.
            new_output: the output width of the submodel at hand, for the widths that follow from it.
            embedded: whether the network has embedding or positional-encoding layers, so that only their widths
                and what is tied to them are reduced (Table 2).

        Returns:
            What becomes of each slot.
        """
        return _Solver(self, factor, output, new_output, embedded).solve()

    def group(self, variable: int) -> _Class:
        """Return the class of a variable (for the solver)."""
        return self._classes[self.find(variable)]


EMBEDDING = "a network with an embedding keeps its other widths"
_SMALL = "it is too small to be reduced"


class _Solver:
    def __init__(
        self, graph: WidthGraph, factor: float, output: int | None, new_output: int | None, embedded: bool
    ) -> None:
        self.graph, self.factor, self.new_output, self.embedded = graph, factor, new_output, embedded
        self.output = None if output is None else graph.find(output)
        self.kept: dict[int, str] = {}
        self.roots = sorted({graph.find(number) for number in graph.slots})

    def solve(self) -> dict[int, Width]:
        for root in self.roots:
            reason = self._reason(root)
            if reason:
                self._keep(root, reason)
        while self._keep_inconsistent():
            pass
        return {number: self._width(number) for number in self.graph.slots}

    def _keep(self, root: int, reason: str) -> None:
        if root not in self.kept and root != self.output:
            self.kept[root] = reason

    def _reason(self, root: int) -> str:
        group = self.graph.group(root)
        members = [self.graph.slots[m] for m in group.members]
        bases = {slot.base for slot in members}
        if group.fixed:
            return group.fixed
        if len(bases) > 1:
            return "it has to equal a width that is written otherwise"
        base = next(iter(bases))
        if base is not None and base <= 2:
            return _SMALL
        if self.embedded and group.derived is None and not any(slot.role == "embedding" for slot in members):
            return EMBEDDING
        return ""

    def _keep_inconsistent(self) -> bool:
        """Keep what cannot be written down as it is decided; True when something changed."""
        before = len(self.kept)
        for root in self.roots:
            derived = self.graph.group(root).derived
            if derived is None:
                continue
            if root in self.kept or root == self.output:
                for variable in derived.variables:
                    self._keep(self.graph.find(variable), "its product with other sizes is kept")
            elif self._value(derived) is None:
                self._keep(root, "it is a product of sizes that are known at run time only")
        for left, right, op, truth in self.graph.compared:
            new = self._value(left), self._value(right)
            if None in new or bool(op(*new)) != truth:  # type: ignore[arg-type]
                for variable in (*left.variables, *right.variables):
                    self._keep(self.graph.find(variable), "the script compares it with another size")
        for _, numbers in self.graph.sites():
            self._keep_site(numbers)
        return len(self.kept) != before

    def _keep_site(self, numbers: list[int]) -> None:
        widths = [self._width(n) for n in numbers]
        table: dict[int | None, int | None] = {}
        actions = {w.action for w in widths}
        if actions <= {"reduce"} or actions <= {"keep"}:
            return
        for width in widths:
            if width.old is None or table.setdefault(width.old, width.new) != width.new:
                if len(numbers) > 1:
                    for number in numbers:
                        self._keep(self.graph.find(number), "its line makes layers that must not be reduced as well")
                return

    def _value(self, dim: Dim) -> int | None:
        found = dim.value(lambda variable: self._width(variable).new)
        return None if found is None else int(found)

    def _width(self, number: int) -> Width:
        root = self.graph.find(number)
        group, slot = self.graph.group(root), self.graph.slots[number]
        if slot.compute is not None:
            value = slot.compute(lambda variable: self._width(variable).new)
            return Width(slot.base, None if value is None else int(value), "computed")
        if root == self.output:
            return Width(slot.base, self.new_output, "output")
        if root in self.kept:
            return Width(slot.base, slot.base, "keep", self.kept[root])
        if group.derived is not None:
            return Width(slot.base, self._value(group.derived), "derived")
        new = None if slot.base is None else reduce_width(slot.base, self.factor, group.multiple)
        return Width(slot.base, new, "reduce", multiple=group.multiple)
