"""A submodel's share of a Python generator, which can be read once only."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import LabelError
from .arrays import unwrap
from .labels import as_array
from .selectors import ClassSelector, LocalSelector
from .sources import Source, Wanted
from .streams import (
    SURVEYED,
    numpy_rows,
    pack,
    patience,
    rebatch,
    scaled_steps,
    selected,
    survey,
)


def generator_share(x: Iterator[Any], wanted: Wanted, fraction: float | None = None) -> Source:
    """Returns a submodel's share of a generator of batches.

    Args:
        x: the generator.
        wanted: what is asked for.
        fraction: the share of an epoch's rows where it is known; None measures it.
    """
    selector = wanted.selector
    read: list[Any] = []

    def reading() -> Iterator[Any]:
        for batch in x:
            read.append(batch)
            yield batch

    measured = wanted.steps if fraction is None and selector.filters else None
    found = survey(reading(), selector, wanted.where, measured)
    if not found.found:
        return Source(None, None)

    def batches() -> Iterator[tuple[Any, ...]]:
        pieces = selected(itertools.chain(read, x), selector, wanted.where, patience(wanted.steps))
        return (pack(rows) for rows in (rebatch(pieces, found.batch_size) if selector.filters else pieces))

    used = 1.0 if not selector.filters else found.fraction if fraction is None else fraction
    sample = selector.stream(wanted.where)(numpy_rows(read[0]), 0)
    return Source(wanted.failures.watch(batches), scaled_steps(wanted.steps, used), sample)


def counted_within(x: Iterator[Any], selector: ClassSelector) -> tuple[ClassSelector, Iterator[Any]]:
    """Finds out how a generator that was called with this submodel's classes counts its labels.

    Such a generator (the original tool's dialect) may yield the ids that it was given, or places in the
    list of them. The labels of its first batches tell.

    Args:
        x: the generator.
        selector: the share.

    Returns:
        The selector to use, and the generator with the batches that were looked at.

    Raises:
        LabelError: the labels fit both ways of counting.
    """
    classes = selector.share.classes
    size, total = len(classes), selector.labels.total
    read: list[Any] = []
    seen: set[int] = set()
    for batch in itertools.islice(x, SURVEYED):
        read.append(batch)
        array = as_array(unwrap(numpy_rows(batch).y, None)[0])
        if array.ndim == 2 and array.shape[1] in (size, total) and size != total and array.shape[1] > 1:
            local = array.shape[1] == size
            return _chosen(selector, local), itertools.chain(read, x)
        seen.update(int(label) for label in np.unique(array))
        if not seen <= set(classes) or not seen <= set(range(size)):
            break
    places = set(range(size))
    if seen <= places and seen <= set(classes) and set(classes) != places:
        raise LabelError(
            f"the generator's labels {sorted(seen)} may be ids of classes {list(classes)} or places among them",
            "let the generator yield the ids of the classes",
        )
    return _chosen(selector, seen <= places and not seen <= set(classes)), itertools.chain(read, x)


def _chosen(selector: ClassSelector, local: bool) -> ClassSelector:
    return LocalSelector(selector.share, selector.labels) if local else selector
