"""What moves between the device and the pools while a model is called, and when.

A pool's `store(...)` puts one tensor away and says how it is fetched. In which order that happens is decided
here, for all pools alike: with `ahead`, a segment's inputs are fetched while the backward pass of the segment
after it computes, and the computation goes on while they are put away.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from ...frameworks import tensorflow
from .segments import Held

# Makes a tensor anew that was put away.
Fetch = Callable[[], Any]


class Store(Protocol):
    """One pool during one call of a model."""

    def put(self, tensor: Any, key: int) -> tuple[list[Any], Fetch]:
        """Puts a tensor away; returns what has to have happened for it to be there, and what fetches it.

        Args:
            tensor: any dense tensor.
            key: its key in the flat graph.
        """
        ...


class Counts:
    """How much was moved to and from one pool, counted by the steps themselves."""

    _numbers = itertools.count()

    def __init__(self) -> None:
        tf = tensorflow()
        self.number = next(self._numbers)
        with tf.init_scope(), tf.device("/device:CPU:0"):
            self.written = tf.Variable(0, dtype="int64", trainable=False)
            self.read = tf.Variable(0, dtype="int64", trainable=False)
            self.calls = tf.Variable(0, dtype="int64", trainable=False)

    def moved(self) -> Moved:
        """Returns what was moved since the beginning."""
        return Moved(int(self.written), int(self.read), {self.number: int(self.calls)})


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes that were moved.

    Attributes:
        written: put away.
        read: fetched.
        calls_of: by a pool's number, the training calls of the model that moved something there.
    """

    written: int = 0
    read: int = 0
    calls_of: Mapping[int, int] = field(default_factory=dict)

    def __add__(self, other: Moved) -> Moved:
        return Moved(self.written + other.written, self.read + other.read, self._calls(other, 1))

    def __sub__(self, other: Moved) -> Moved:
        return Moved(self.written - other.written, self.read - other.read, self._calls(other, -1))

    def _calls(self, other: Moved, sign: int) -> dict[int, int]:
        pools = self.calls_of.keys() | other.calls_of.keys()
        return {pool: self.calls_of.get(pool, 0) + sign * other.calls_of.get(pool, 0) for pool in pools}

    @property
    def calls(self) -> int:
        """Training calls that moved something; one call may use several pools, so that these are not added up."""
        return max(self.calls_of.values(), default=0)

    @property
    def bytes(self) -> int:
        """Both ways together."""
        return self.written + self.read


def in_gradient_of_loop() -> bool:
    """Returns whether the gradient of a loop is being traced, where no variable can be read or assigned."""
    graph = tensorflow().compat.v1.get_default_graph()
    while graph is not None:
        if "WhileBodyGrad" in type(graph).__name__:
            return True
        graph = getattr(graph, "outer_graph", None)
    return False


@dataclass
class _Kept:
    """A segment whose inputs were put away."""

    fetches: list[Fetch]
    # The graph in which they are being fetched ahead, and the tensors there.
    graph: Any = None
    ahead: list[Any] | None = None


class Moving:
    """One call of a model.

    Args:
        stores: by a segment's mode, where its inputs go.
        resident: keys that are held by somebody else anyway, such as the input batch.
        ahead: whether to fetch one segment ahead.
    """

    def __init__(self, stores: Mapping[str, Store], resident: frozenset[int], ahead: bool) -> None:
        self.stores = stores
        self.resident = resident
        # In eager mode operations run one by one: nothing overlaps.
        self.ahead = ahead and not tensorflow().executing_eagerly()
        self.segments: list[_Kept] = []
        self._known: dict[int, Fetch] = {}
        self._now: list[Any] = []
        self._before: list[Any] = []

    def to(self, mode: str) -> Held:
        """Returns what keeps a segment's inputs.

        Args:
            mode: of the segment.
        """
        return _Into(self, self.stores[mode])

    def keep(self, store: Store, tensors: Mapping[int, Any]) -> Callable[[Sequence[Any]], list[Any]]:
        """Puts a segment's inputs away; what was put away already stays where it is.

        Args:
            store: where they go.
            tensors: by key.
        """
        for key, tensor in tensors.items():
            if key in self.resident:
                self._known.setdefault(key, partial(_itself, tensor))
            elif key not in self._known:
                waiting, fetch = store.put(tensor, key)
                self._known[key] = _with_gradient(fetch, tensor)
                self._now += waiting
        number = len(self.segments)
        self.segments.append(_Kept([self._known[key] for key in tensors]))
        return lambda after: self._fetched(number, after)

    def settled(self) -> list[Any]:
        """Returns what has to have happened before the computation goes on."""
        now, self._now = self._now, []
        if not self.ahead:
            return now
        waiting, self._before = self._before, now
        return waiting

    def _fetched(self, number: int, after: Sequence[Any]) -> list[Any]:
        tf = tensorflow()
        mine = self.segments[number]
        found = self._started(mine, after)
        mine.graph, mine.ahead = None, None
        if self.ahead and number:
            self._started(self.segments[number - 1], after)
        with tf.control_dependencies(after):
            return [tf.identity(tensor) for tensor in found]

    @staticmethod
    def _started(kept: _Kept, after: Sequence[Any]) -> list[Any]:
        """Starts fetching after something has happened, unless that was started before in this graph."""
        tf = tensorflow()
        graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        if kept.ahead is None or kept.graph is not graph:
            with tf.control_dependencies(after):
                kept.graph, kept.ahead = graph, [fetch() for fetch in kept.fetches]
        return kept.ahead


class _Into(Held):
    """Keeps a segment's inputs in one pool."""

    def __init__(self, moving: Moving, store: Store) -> None:
        self.moving = moving
        self.store = store

    def keep(self, tensors: Mapping[int, Any]) -> Callable[[Sequence[Any]], list[Any]]:
        return self.moving.keep(self.store, tensors)

    def settled(self) -> list[Any]:
        return self.moving.settled()


def _itself(tensor: Any) -> Any:
    return tensor


def _with_gradient(fetch: Fetch, tensor: Any) -> Fetch:
    """Makes gradients of what is fetched go to what was put away, for gradients of gradients.

    A graph that is being traced holds names, no memory: remembering the tensor there keeps nothing.
    """
    # `tf.custom_gradient` would do, if it did not make its result wait for its arguments.
    record = importlib.import_module("tensorflow.python.eager.record")

    def fetched() -> Any:
        with record.stop_recording():
            found = fetch()
        record.record_operation("Fetch", [found], [tensor], lambda gradient: [gradient])
        return found

    return fetched
