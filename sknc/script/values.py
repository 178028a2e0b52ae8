"""What an expression of the user's script can be, as far as reading it tells."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from sknc.decompose.widths import Compute, Dim

Shape = tuple[Dim, ...]
"""The sizes of a tensor without the batch."""


_CLOCK = itertools.count(1)


def now() -> int:
    """Return a time that is later than every value made so far."""
    return next(_CLOCK)


class Value:
    """Anything an expression can be. Identity matters for layers and models, so values are not compared by content."""


@dataclass(eq=False)
class Unknown(Value):
    """Nothing is known about it."""


UNKNOWN = Unknown()


@dataclass(eq=False)
class Default(Unknown):
    """A number that an option of the command line gives: not known, but this one when nobody gives another.

    Attributes:
        number: the default.
        option: how the option is called.
    """

    number: int
    option: str


@dataclass(eq=False)
class Const(Value):
    """A number, text, truth value or None that is known before the run."""

    value: Any


@dataclass(eq=False)
class Size(Value):
    """A number that follows from a width, e.g. `x.shape[-1]`: narrow where the width is narrow.

    Attributes:
        dim: the width as a polynomial; with unknown coefficients where it was computed otherwise.
        compute: the number itself, given the width of each variable.
    """

    dim: Dim
    compute: Compute


@dataclass(eq=False)
class Bound(Value):
    """An attribute of something, not yet called: `model.fit`, `names.append`."""

    owner: Value
    name: str


@dataclass(eq=False)
class Seq(Value):
    """A list or tuple with known elements.

    Attributes:
        nodes: the expressions that the elements were written as, where they were.
        born: when it was made.
        loose: whether elements may have been added or removed in a way that is not known.
    """

    items: list[Value]
    mutable: bool = False
    nodes: list[cst.BaseExpression | None] = field(default_factory=list)
    born: int = field(default_factory=now)
    loose: bool = False


@dataclass(eq=False)
class Mapping(Value):
    """A dictionary with known keys.

    Attributes:
        items: its values by key.
        born: when it was made.
        loose: whether it may hold other keys as well.
        nodes: the expressions that its values were written as, where they were.
    """

    items: dict[Any, Value]
    born: int = field(default_factory=now)
    loose: bool = False
    nodes: dict[Any, cst.BaseExpression | None] = field(default_factory=dict)


@dataclass(eq=False)
class Ref(Value):
    """Something imported, by its full name: `keras.layers.Dense`."""

    name: str

    def member(self, name: str) -> Value:
        """Return an attribute."""
        return Ref(f"{self.name}.{name}")


@dataclass(eq=False)
class Made(Value):
    """What a call of something imported returned: `Made("sklearn.preprocessing.StandardScaler")`."""

    name: str
    args: Arguments


@dataclass(eq=False)
class Partial(Value):
    """A `functools.partial`."""

    callee: Value
    args: Arguments


@dataclass(eq=False)
class Env:
    """Names of one scope.

    Attributes:
        parent: the scope around it.
        names: what its names stand for.
        owner: the function it belongs to.
        elsewhere: names that belong to another scope (global, nonlocal).
        returned: what the function returned so far; None outside functions.
        comprehension: whether it is the scope of a comprehension.
        maybe_left: whether the round of the loop that is executed may have been left.
    """

    parent: Env | None = None
    names: dict[str, Value] = field(default_factory=dict)
    owner: cst.CSTNode | None = None
    elsewhere: dict[str, Env | None] = field(default_factory=dict)
    returned: list[Value] | None = None
    maybe_left: bool = False
    comprehension: bool = False

    def get(self, name: str) -> Value | None:
        """Return what a name stands for, None when nobody said."""
        scope: Env | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None


@dataclass(eq=False)
class Function(Value):
    """A function or lambda of the user's.

    Attributes:
        node: where it is defined.
        env: the scope around it.
        receiver: what it is a method of, once it is bound.
        defined_in: the class that defines it.
        defaults: the values of its parameters' defaults.
        opaque: whether something unknown stands around it, a decorator; then only networks that it returns count.
    """

    node: cst.FunctionDef | cst.Lambda
    env: Env
    receiver: Value | None = None
    defined_in: UserClass | None = None
    defaults: dict[str, Value] = field(default_factory=dict)
    opaque: bool = False

    @property
    def name(self) -> str:
        """Return its name."""
        return self.node.name.value if isinstance(self.node, cst.FunctionDef) else "lambda"


@dataclass(eq=False)
class UserClass(Value):
    """A class of the user's."""

    node: cst.ClassDef
    env: Env
    bases: list[Value]
    body: Env

    @property
    def name(self) -> str:
        """Return its name."""
        return self.node.name.value

    def lineage(self) -> list[UserClass]:
        """Return this class and the user's classes it derives from, in the order of Python's method resolution."""
        lists = [base.lineage() for base in self.bases if isinstance(base, UserClass)]
        lists.append([base for base in self.bases if isinstance(base, UserClass)])
        found = [self]
        while lists := [one for one in lists if one]:
            heads = [one[0] for one in lists if not any(one[0] in other[1:] for other in lists)]
            head = heads[0] if heads else lists[0][0]
            found.append(head)
            lists = [[cls for cls in one if cls is not head] for one in lists]
        return found

    def method(self, name: str) -> Value | None:
        """Return something that the class or its ancestors in the script define."""
        for owner in self.lineage():
            if name in owner.body.names:
                return owner.body.names[name]
        return None

    def derives(self, *names: str) -> bool:
        """Say whether one of the library classes with these last names is among its ancestors."""
        return any(
            isinstance(base, Ref) and base.name.rsplit(".", 1)[-1] in names
            for owner in self.lineage()
            for base in owner.bases
        )


@dataclass(eq=False)
class Instance(Value):
    """An object of a user's class.

    Attributes:
        cls: its class.
        attributes: what was assigned to it.
        super_of: set on what `super()` returns: the class whose method is running.
        born: when it was made.
        loose: whether its attributes may have been changed in a way that is not known.
        self_value: set on what `super()` returns: the object itself.
    """

    cls: UserClass
    attributes: dict[str, Value] = field(default_factory=dict)
    super_of: UserClass | None = None
    self_value: Value | None = None
    born: int = field(default_factory=now)
    loose: bool = False


@dataclass(eq=False)
class Layer(Value):
    """A Keras layer that the script makes.

    Attributes:
        name: class name, e.g. "Dense".
        args: the arguments by name.
        node: the call that makes it, None where the layer is made by an argument ("softmax").
        slots: width variables by argument name.
        sizes: widths that follow from other widths of the network, by argument name.
        computed: variables of those that the script computes, by argument name.
        inner: the layer that a wrapper (Bidirectional, TimeDistributed) wraps.
        applied: the tensor that it was first called on.
    """

    name: str
    args: Arguments
    node: cst.CSTNode | None
    slots: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, Dim] = field(default_factory=dict)
    computed: dict[str, int] = field(default_factory=dict)
    inner: Value | None = None
    applied: Tensor | None = None


@dataclass(eq=False)
class Tensor(Value):
    """A symbolic tensor.

    Attributes:
        shape: sizes without the batch, None when not even the rank is known.
        producer: the layer or model that made it.
        sources: the tensors it was made from.
    """

    shape: Shape | None
    producer: Value | None = None
    sources: tuple[Tensor, ...] = ()

    @property
    def last(self) -> Dim:
        """Return the size of the last axis."""
        return self.shape[-1] if self.shape else Dim.fixed(None)


@dataclass(eq=False)
class Model(Value):
    """A Keras model.

    Attributes:
        node: the call that makes it.
        layers: its layers in order; nested models stand among them.
        outputs: its output tensors, where they are known.
        inputs: its input tensors.
        instance: the object, when it is of a user's class.
        sequential: whether layers are added to it.
    """

    node: cst.CSTNode | None
    layers: list[Value] = field(default_factory=list)
    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    instance: Instance | None = None
    sequential: bool = False
    loaded: bool = False
    compiled: Arguments | None = None


@dataclass(frozen=True)
class Star:
    """Where an argument stands that comes through `*` or `**`: its own expression, and the one behind the star."""

    node: cst.BaseExpression | None
    through: cst.BaseExpression


@dataclass(eq=False)
class Arguments:
    """The arguments of a call.

    Attributes:
        positional: values in order.
        keywords: values by name.
        nodes: the expression of each, by index or name.
        open: whether more came from * or ** of something unknown.
        stars: how those are written that came from * or ** of something known.
    """

    positional: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    nodes: dict[int | str, cst.BaseExpression] = field(default_factory=dict)
    open: bool = False
    stars: dict[int | str, Star] = field(default_factory=dict)

    def get(self, name: str, position: int | None = None) -> Value | None:
        """Return an argument by name or position, None when it was not given."""
        if name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None

    def node(self, name: str, position: int | None = None) -> cst.BaseExpression | None:
        """Return the expression of an argument."""
        if name in self.nodes:
            return self.nodes[name]
        return self.nodes.get(position) if position is not None and name not in self.keywords else None


def constant(value: Value | None) -> Any:
    """Return a known number, text or truth value; None for anything else."""
    return value.value if isinstance(value, Const) else None


def whole(value: Value | None) -> int | None:
    """Return a known whole number, None for anything else."""
    found = constant(value)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def plain(value: Value | None) -> Any:
    """Return a constant, or a tuple of such, as a Python object; raises ValueError when a part is not known."""
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Seq) and not value.loose:
        return tuple(plain(item) for item in value.items)
    if isinstance(value, Mapping) and not value.loose:
        return {key: plain(item) for key, item in value.items.items()}
    raise ValueError
