"""Reading a script by running it in thought: known numbers are computed, Keras calls become layers and models.

Nothing of the user's is executed. Branches whose condition is not known are both followed, loops over known
values are unrolled, everything that cannot be known becomes `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import libcst as cst

from sknc.decompose.widths import Dim, WidthGraph
from sknc.script.markers import Block
from sknc.script.source import Source
from sknc.script.values import (
    UNKNOWN,
    Arguments,
    Const,
    Default,
    Env,
    Function,
    Instance,
    Layer,
    Mapping,
    Model,
    Seq,
    Size,
    Star,
    Tensor,
    UserClass,
    Value,
    now,
)

STEPS = 60_000
"""How many expressions are looked at outside blocks, and again for each block, before the rest counts as unknown."""
DEPTH = 40
RECURSION = 3
"""How often a function may stand among the calls that are being executed."""


@dataclass(frozen=True)
class Frame:
    """What is being executed: a call of a user's function, a loop, a try, or a branch."""

    what: str
    node: cst.CSTNode
    function: Function | None = None
    callee: cst.BaseExpression | None = None


@dataclass(frozen=True)
class Event:
    """A call that matters to the rewriting.

    Attributes:
        what: "fit", "compile", "use" (of a trained model), "path" (a file is written), "exists", "load", "weights".
        node: the call.
        target: the model it is called on, None when that is not known.
        args: its arguments.
        statement: the smallest statement it stands in.
        frames: what was being executed, outermost first, from the module on.
        block: index of the block it was executed in, None outside.
        order: a counter over all events.
    """

    what: str
    node: cst.Call
    target: Value | None
    args: Arguments
    statement: cst.CSTNode
    frames: tuple[Frame, ...]
    block: int | None
    order: int
    name: str = ""


@dataclass
class Interpreter:
    """The state of reading one script.

    Attributes:
        source: the script.
        blocks: its blocks.
        keeps: lines marked with KEEP; `kept_lines` are those on which a layer was found.
        dialect: for blocks in the original tool's dialect, the name that holds the number of outputs.
        epochs_nodes, generator_nodes: what `_EPOCHS` and `_DATA_TRAIN_GEN_Y` are set to in such a block.
        entry_frames: what was being executed when a block was entered.
        graph: widths of all layers that were made, and their equations.
        events: calls that matter, in order of execution.
        made_in: the block that each layer, model and object was made in; None is outside.
        slot_block: the block that each width belongs to.
        slot_frames: what was being executed when it was made.
        graphs: the graph as it stood at the last training of each block: what happens to tensors later is no matter.
        entered: how often each block was executed.
        peeks: how often a network was tried out on data.
        peeked: names of what that gave.
        looks: (block, number of events so far, statement) of statements that only look at that.
        handed: functions and classes that a block handed to code that cannot be seen, with that code's name.
        inner: where something of a layer's own is looked at, the layer, and after how many events.
        offered: functions and classes that code which cannot be seen may call.
        starred: widths of layers that came through `*` or `**`: how they are written, and the layer's call.
        own_sizes: sizes of weights that layers of the script's own classes give them, by the layer.
        defaults: widths that are the default of an option of the command line.
        tried: networks that were called on data, each with the number of events before that.
        made_by: how the class of an object was called.
        uncertain: when each branch or loop began of which it is not known whether it is executed.
        shared_names: names that functions set from inside (`global`), whose numbers are never taken for granted.
    """

    source: Source
    blocks: tuple[Block, ...]
    keeps: Collection[int] = ()
    dialect: dict[int, str] = field(default_factory=dict)
    epochs_nodes: dict[int, cst.BaseExpression] = field(default_factory=dict)
    generator_nodes: dict[int, cst.BaseExpression] = field(default_factory=dict)
    entry_frames: dict[int, tuple[Frame, ...]] = field(default_factory=dict)
    kept_lines: set[int] = field(default_factory=set)
    graph: WidthGraph = field(default_factory=WidthGraph)
    events: list[Event] = field(default_factory=list)
    made_in: dict[int, int | None] = field(default_factory=dict)
    made_order: dict[int, int] = field(default_factory=dict)
    kept_alive: list[Value] = field(default_factory=list)
    slot_block: dict[int, int | None] = field(default_factory=dict)
    slot_frames: dict[int, tuple[Frame, ...]] = field(default_factory=dict)
    graphs: dict[int, WidthGraph] = field(default_factory=dict)
    entered: dict[int, int] = field(default_factory=dict)
    objects: list[tuple[Value, tuple[Frame, ...]]] = field(default_factory=list)
    globals: Env = field(default_factory=Env)
    frames: list[Frame] = field(default_factory=list)
    block: int | None = None
    statement: cst.CSTNode | None = None
    star_imports: list[str] = field(default_factory=list)
    steps: int = 0
    uncertain: list[int] = field(default_factory=list)
    peeks: int = 0
    peeked: set[str] = field(default_factory=set)
    looks: list[tuple[int, int, cst.BaseSmallStatement]] = field(default_factory=list)
    handed: list[tuple[cst.CSTNode, str]] = field(default_factory=list)
    inner: list[tuple[cst.CSTNode, Value, int]] = field(default_factory=list)
    offered: list[Function | UserClass] = field(default_factory=list)
    starred: dict[int, tuple[Star, cst.CSTNode]] = field(default_factory=dict)
    own_sizes: dict[int, int] = field(default_factory=dict)
    defaults: dict[int, Default] = field(default_factory=dict)
    tried: list[tuple[Model, int]] = field(default_factory=list)
    made_by: dict[int, cst.BaseExpression] = field(default_factory=dict)
    shared_names: frozenset[str] = frozenset()
    _first: dict[int, int] = field(default_factory=dict)
    _last: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for block in self.blocks:
            self._first[id(block.statements[0])] = block.index
            self._last[id(block.statements[-1])] = block.index

    def exhausted(self) -> bool:
        """Count one step; True when reading has to come to an end."""
        self.steps += 1
        return self.steps > STEPS

    def before(self, statement: cst.CSTNode) -> None:
        """Note that a statement is about to be executed: it may be the first of a block."""
        index = self._first.get(id(statement))
        if index is not None:
            self.block = index
            self.entered[index] = self.entered.get(index, 0) + 1
            self.entry_frames[index] = tuple(self.frames)
            self.steps = 0

    def after(self, statement: cst.CSTNode) -> None:
        """Note that a statement was executed: it may be the last of a block."""
        index = self._last.get(id(statement))
        if index is not None and self.block == index:
            self.graphs.setdefault(index, self.graph.clone())
            self.block = None

    @contextmanager
    def inside(self, frame: Frame) -> Iterator[None]:
        """Execute something inside a call, loop, try or branch."""
        self.frames.append(frame)
        statement = self.statement
        try:
            yield
        finally:
            self.frames.pop()
            self.statement = statement

    def note(self, what: str, node: cst.Call, target: Value | None, args: Arguments, name: str = "") -> None:
        """Record an event."""
        statement = self.statement if self.statement is not None else node
        order = len(self.events)
        frames = tuple(self.frames)
        self.events.append(Event(what, node, target, args, statement, frames, self.block, order, name))

    def made(self, value: Value) -> None:
        """Remember where a layer, model or object was made."""
        self.made_in[id(value)] = self.block
        self.made_order[id(value)] = len(self.made_order)
        self.kept_alive.append(value)
        if isinstance(value, (Model, Layer, Instance)):
            self.objects.append((value, tuple(self.frames)))

    def add_slot(self, layer: Layer, argument: str, base: int | None, role: str, node: cst.CSTNode) -> int:
        """Add the width of a layer; a width outside blocks stays as it is."""
        variable = self.graph.slot(base, role, node, layer.name)  # type: ignore[arg-type]
        layer.slots[argument] = variable
        self.slot_block[variable] = self.block
        self.slot_frames[variable] = tuple(self.frames)
        return variable

    def fix_value(self, value: Value | None, why: str) -> None:
        """Keep the widths of all tensors in a value: something unknown happens to them."""
        if isinstance(value, Tensor) and value.shape:
            for dim in value.shape:
                self.graph.fix(dim, why)
        elif isinstance(value, Seq):
            for item in value.items:
                self.fix_value(item, why)

    def join(self, one: Value | None, other: Value | None) -> Value:
        """Return what a name may be after two branches: the more telling of both."""
        if one is other or other is None:
            return one if one is not None else UNKNOWN
        if one is None:
            return other
        if isinstance(one, Tensor) and isinstance(other, Tensor):
            return self._join_tensors(one, other)
        if isinstance(one, Model) and isinstance(other, Model):
            return one if other.loaded else other
        if type(one) is type(other) and same(one, other):
            return one
        if isinstance(one, Layer) and isinstance(other, Layer):
            return self._join_layers(one, other)
        if isinstance(one, (Function, UserClass)) and isinstance(other, (Function, UserClass)):
            return UNKNOWN
        # A network that is built on one branch and loaded or left out on the other is the one that matters.
        for value, rest in ((one, other), (other, one)):
            if isinstance(value, (Model, Layer, Function, UserClass, Instance)):
                return value
            if isinstance(value, Tensor) and not isinstance(rest, (Model, Layer)):
                self.fix_value(value, "another branch gives something that is not known")
                return value
        return UNKNOWN

    def begin_uncertain(self) -> None:
        """From here on it is not known whether what is executed really is."""
        self.uncertain.append(now())

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """Evaluate something of which it is not known whether it is evaluated."""
        regions = len(self.uncertain)
        self.begin_uncertain()
        try:
            yield
        finally:
            del self.uncertain[regions:]

    def is_uncertain(self, born: int) -> bool:
        """Say whether something made at a time is older than what is executed on a condition that is not known."""
        return bool(self.uncertain) and born < self.uncertain[-1]

    def forget(self, names: Iterable[str], env: Env) -> None:
        """Let names stand for something unknown, unless they are parts of a network."""
        for name in names:
            if isinstance(env.get(name), (Const, Default, Size, Seq, Mapping)):
                env.names[name] = UNKNOWN

    def join_all(self, values: list[Value]) -> Value:
        """Return what something may be that is one of several values."""
        result: Value | None = None
        for value in values:
            result = value if result is None else self.join(result, value)
        return UNKNOWN if result is None else result

    def _join_layers(self, one: Layer, other: Layer) -> Layer:
        """One of two layers: their widths stay equal, or both stay."""
        for name in {*one.slots, *other.slots}:
            dims = [Dim.var(layer.slots[name]) for layer in (one, other) if name in layer.slots]
            if len(dims) == 2 and self.graph.base(dims[0]) == self.graph.base(dims[1]) is not None:
                self.graph.equal(dims[0], dims[1], "another branch makes a layer of the same size")
            else:
                for dim in dims:
                    self.graph.fix(dim, "another branch makes another layer")
        return one

    def _join_tensors(self, one: Tensor, other: Tensor) -> Tensor:
        """One of two tensors: sizes that are the same stay equal, others are either of both, which many layers take."""
        if one.shape is None or other.shape is None or len(one.shape) != len(other.shape):
            for tensor in (one, other):
                self.fix_value(tensor, "two branches give different shapes")
            return Tensor(one.shape if one.shape == other.shape else None, one.producer, (one, other))
        dims = []
        for left, right in zip(one.shape, other.shape, strict=True):
            base = self.graph.base(left)
            if base is not None and base == self.graph.base(right):
                self.graph.equal(left, right, "it has the same size on two branches")
            dims.append(left if base == self.graph.base(right) else left.either(right))
        return Tensor(tuple(dims), one.producer, (one, other))


def same(one: Value, other: Value) -> bool:
    """Say whether two values are surely the same."""
    from sknc.script.making import keras_name
    from sknc.script.values import Ref, plain

    if isinstance(one, Ref) and isinstance(other, Ref):
        return keras_name(one.name) == keras_name(other.name)
    try:
        return bool(plain(one) == plain(other))
    except ValueError:
        return False
