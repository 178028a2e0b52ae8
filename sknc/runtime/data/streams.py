"""Batches that come one after the other: selected, put together to full batches again, and counted."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProgramError
from .arrays import Rows, count_rows, leaves, map_leaves
from .selectors import BatchSelector, Selector

# How many batches are looked through: to measure a share, and before giving up on finding any of its rows.
SURVEYED = 64
PATIENCE = 1000


def unpack(batch: Any) -> Rows:
    """Returns the parts of a batch as Keras takes them.

    Args:
        batch: (x, y) or (x, y, weights), as a tuple or list.

    Raises:
        ProgramError: the batch holds no targets.
    """
    if isinstance(batch, (tuple, list)) and len(batch) in (2, 3):
        return Rows(batch[0], batch[1], batch[2] if len(batch) == 3 else None)
    raise ProgramError(
        f"a batch must be (x, y) or (x, y, sample_weight), this one is a {type(batch).__name__}"
        + (f" of {len(batch)}" if isinstance(batch, (tuple, list)) else ""),
        "a model without targets cannot be split",
    )


def pack(data: Rows) -> tuple[Any, ...]:
    """Returns a batch for Keras; containers are tuples, as tf.data wants them.

    Args:
        data: the parts.
    """
    parts = (data.x, data.y) if data.weight is None else tuple(data)
    return tuple(_tuples(part) for part in parts)


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(_tuples(item) for item in value)
    return value


def to_numpy(value: Any) -> NDArray[Any]:
    """Returns an array in the memory of this process.

    Args:
        value: an array, a tensor, a list or a sparse matrix.

    Raises:
        ProgramError: the value is ragged or sparse.
    """
    name = type(value).__name__
    if name in ("RaggedTensor", "SparseTensor"):
        raise ProgramError(f"batches of type {name} cannot be put together again", "use dense, padded batches")
    if hasattr(value, "toarray"):
        value = value.toarray()
    return np.asarray(value)


def numpy_rows(batch: Any) -> Rows:
    """Returns a batch's parts as numpy arrays.

    Args:
        batch: what `unpack` takes.
    """
    return Rows(*(map_leaves(to_numpy, _listed(part)) for part in unpack(batch)))


def _listed(part: Any) -> Any:
    """A plain list of numbers is one array, not a container of scalars."""
    if isinstance(part, (list, tuple)) and part and not any(getattr(leaf, "shape", ()) for leaf in leaves(part)):
        return np.asarray(part)
    return part


def patience(steps: int | None) -> int | None:
    """Returns after how many batches without a row of the share it is given up; None for never.

    Args:
        steps: the steps of an epoch; None is said of data that ends by itself.
    """
    return None if steps is None else PATIENCE + 2 * steps


def selected(batches: Iterable[Any], selector: Selector, where: str, limit: int | None = None) -> Iterator[Rows]:
    """Yields this submodel's rows of each batch, without batches that have none.

    Args:
        batches: what `unpack` takes.
        selector: the share.
        where: "training" or "validation", for messages.
        limit: see `patience`.

    Raises:
        EmptyShareError: many batches passed without a row of the share.
    """
    pick: BatchSelector = selector.stream(where)
    first_row = 0
    idle = 0
    for batch in batches:
        data = numpy_rows(batch)
        picked = pick(data, first_row)
        first_row += count_rows(data.x)
        if count_rows(picked.x):
            idle = 0
            yield picked
        else:
            idle += 1
            if idle == limit:
                raise selector.empty(where)


def _alike(first: Rows, second: Rows) -> bool:
    ours, theirs = leaves(list(first)), leaves(list(second))
    return [leaf.shape[1:] for leaf in ours] == [leaf.shape[1:] for leaf in theirs]


def _joined(pieces: list[Rows]) -> Rows:
    if len(pieces) == 1:
        return pieces[0]
    flat = [leaves(list(piece)) for piece in pieces]
    columns = iter([np.concatenate(column) for column in zip(*flat, strict=True)])
    return Rows(*(map_leaves(lambda _leaf: next(columns), part) for part in pieces[0]))


def _part(data: Rows, start: int, stop: int) -> Rows:
    return Rows(*(map_leaves(lambda leaf: leaf[start:stop], part) for part in data))


def rebatch(pieces: Iterable[Rows], size: int) -> Iterator[Rows]:
    """Yields batches of one size out of batches of any size; the last may be smaller.

    Batches whose rows have different shapes (padded to the longest of each batch) are not put together.

    Args:
        pieces: numpy rows.
        size: rows in a batch.
    """
    waiting: list[Rows] = []
    held = 0
    for piece in pieces:
        if waiting and not _alike(waiting[0], piece):
            yield _joined(waiting)
            waiting, held = [], 0
        waiting.append(piece)
        held += count_rows(piece.x)
        if held < size:
            continue
        whole = _joined(waiting)
        full = held - held % size
        for start in range(0, full, size):
            yield _part(whole, start, start + size)
        held -= full
        waiting = [_part(whole, full, full + held)] if held else []
    if waiting:
        yield _joined(waiting)


@dataclass(frozen=True)
class Survey:
    """What the first batches of a stream hold.

    Args:
        batch_size: rows of the first batch.
        fraction: this submodel's rows among those of an epoch.
        found: whether any row was this submodel's.
    """

    batch_size: int
    fraction: float
    found: bool


def survey(batches: Iterable[Any], selector: Selector, where: str, steps: int | None) -> Survey:
    """Looks at the first batches of a stream.

    Args:
        batches: what `unpack` takes.
        selector: the share.
        where: "training" or "validation", for messages.
        steps: the steps of an epoch; None looks no further than the first row of the share.

    Returns:
        What was found. An epoch of up to SURVEYED batches is counted; a longer one is taken to hold
        each class equally often, so that the number of steps never depends on the order of the rows.
    """
    pick = selector.stream(where)
    wanted = 1 if steps is None else min(steps, SURVEYED)
    size = seen = kept = number = 0
    for batch in itertools.islice(batches, patience(steps)):
        number += 1
        data = numpy_rows(batch)
        rows = count_rows(data.x)
        size = size or rows
        kept += count_rows(pick(data, seen).x)
        seen += rows
        if kept and number >= wanted:
            break
    counted = steps is not None and number == steps
    return Survey(max(size, 1), kept / seen if counted else selector.expected, kept > 0)


def scaled_steps(steps: int | None, fraction: float) -> int | None:
    """Returns how many batches of a share stand for some of the whole; at least one.

    Args:
        steps: batches of the whole, or None.
        fraction: the share of the rows.
    """
    if steps is None:
        return None
    # A hair less than the product, so that 0.5 measured as 0.5000001 makes no extra step.
    return max(1, int(np.ceil(steps * fraction - 1e-6)))


class Failures:
    """Keeps an error that is raised inside tf.data, where only its text would come out again."""

    def __init__(self) -> None:
        self.first: ProgramError | None = None

    def watch(self, make: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        """Yields what an iterator yields, and remembers how it failed.

        Args:
            make: makes the iterator.
        """
        try:
            yield from make()
        except ProgramError as error:
            self.first = self.first or error
            raise
