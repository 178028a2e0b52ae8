"""What `fit` takes besides arrays, as a share of itself: the parts common to all, and tf.data datasets."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import ProgramError
from ..frameworks import tensorflow
from ..marks import mark_made
from .arrays import Rows, leaves, map_leaves
from .selectors import Selector
from .streams import (
    Failures,
    Survey,
    numpy_rows,
    pack,
    patience,
    rebatch,
    scaled_steps,
    selected,
    survey,
    unpack,
)


@dataclass(frozen=True)
class Wanted:
    """What is asked of a source.

    Args:
        selector: the share.
        where: "training" or "validation", for messages.
        steps: the steps of an epoch, where the script says them.
        failures: where errors inside tf.data are kept.
    """

    selector: Selector
    where: str
    steps: int | None
    failures: Failures


@dataclass(frozen=True)
class Source:
    """A share of a dataset, sequence or generator.

    Args:
        data: what Keras gets as x; None where the share has no rows.
        steps: the scaled number of steps, or None.
        sample: one selected batch, for checks.
    """

    data: Any
    steps: int | None
    sample: Rows | None = None


def kind_of(x: Any) -> str:
    """Returns "dataset", "sequence", "generator" or "arrays".

    Args:
        x: the first argument of `fit`, or validation data that is no tuple.

    Raises:
        ProgramError: Keras takes this type, but no share of it can be made.
    """
    names = [(c.__name__, str(c.__module__)) for c in type(x).__mro__]
    if any(n == "DatasetV2" and "tensorflow" in m for n, m in names):
        return "dataset"
    if any(n == "PyDataset" and m.startswith("keras") for n, m in names):
        return "sequence"
    if isinstance(x, types.GeneratorType):
        return "generator"
    if any("torch.utils.data" in m or m.startswith("grain") or n.startswith("Distributed") for n, m in names):
        raise ProgramError(
            f"no share can be selected from a {type(x).__name__}",
            "pass numpy arrays, a tf.data.Dataset, a keras PyDataset or a generator",
        )
    return "arrays"


def _signature(batches: list[tuple[Any, ...]]) -> Any:
    """The tensor specs of numpy batches: lengths that differ between two batches are open."""
    tf = tensorflow()
    others = iter(leaves(list(batches[-1])))

    def spec(leaf: Any) -> Any:
        other = next(others)
        sizes = [a if a == b else None for a, b in zip(leaf.shape[1:], other.shape[1:], strict=True)]
        kind = tf.string if leaf.dtype.kind in "OSU" else tf.as_dtype(leaf.dtype)
        return tf.TensorSpec([None, *sizes], kind)

    return tuple(map_leaves(spec, part) for part in batches[0])


def _open_signature(signature: Any, spec: Any) -> Any:
    """Opens the lengths that a dataset itself leaves open, though two batches agreed on them."""
    tf = tensorflow()
    known = iter([item.shape for item in leaves(list(spec))])

    def widen(item: Any) -> Any:
        shape = next(known)
        if shape.rank is None or shape.rank != len(item.shape):
            return item
        sizes = [
            None if full is None else mine for mine, full in zip(item.shape.as_list(), shape.as_list(), strict=True)
        ]
        return tf.TensorSpec([None, *sizes[1:]], item.dtype)

    return tuple(map_leaves(widen, part) for part in signature)


def as_dataset(
    epoch_batches: Callable[[], Iterator[Any]],
    peek_batches: Callable[[], Iterator[Any]],
    wanted: Wanted,
    found: Survey,
    dataset: Any = None,
) -> Source:
    """Returns a tf.data.Dataset of a share's full batches, made anew each epoch.

    Args:
        epoch_batches: the user's batches of one epoch.
        peek_batches: the same without consequences, to learn shapes from.
        wanted: what is asked for.
        found: what the survey found; some row at least.
        dataset: the user's data set, where there is one; it is known to be read then.
    """
    tf = tensorflow()
    limit = patience(wanted.steps)

    def share_of(batches: Iterator[Any]) -> Iterator[Rows]:
        return rebatch(selected(batches, wanted.selector, wanted.where, limit), found.batch_size)

    sample = list(itertools.islice(share_of(peek_batches()), 2))
    signature = _signature([pack(rows) for rows in sample])
    if dataset is not None:
        signature = _open_signature(signature, dataset.element_spec)

    def epoch() -> Iterator[Any]:
        return wanted.failures.watch(lambda: (pack(rows) for rows in share_of(epoch_batches())))

    made = tf.data.Dataset.from_generator(epoch, output_signature=signature).prefetch(tf.data.AUTOTUNE)
    mark_made(made, dataset, found.batch_size)
    return Source(made, scaled_steps(wanted.steps, found.fraction), sample[0])


def _single_rows(spec: Any, rank: int | None) -> bool:
    """Whether a dataset's elements are single rows: seen by scalar labels, or by inputs of one rank less."""
    first, target = leaves(spec[0])[0], leaves(spec[1])[0]
    if getattr(getattr(target, "shape", None), "rank", None) == 0:
        return True
    found = getattr(getattr(first, "shape", None), "rank", None)
    return rank is not None and found is not None and found == rank - 1


def dataset_share(x: Any, wanted: Wanted, batch_size: int | None, rank: int | None) -> Source:
    """Returns a submodel's share of a tf.data.Dataset.

    Args:
        x: the dataset, of batches or of single rows.
        wanted: what is asked for.
        batch_size: for a dataset of single rows.
        rank: rank of the model's first input, which tells batches from rows; None where it is not known.

    Raises:
        ProgramError: the elements cannot be read.
    """
    unpack(x.element_spec)
    if _single_rows(x.element_spec, rank):
        x = x.batch(batch_size or 32)
    if not wanted.selector.filters:
        return _cut_dataset(x, wanted)
    found = survey(x, wanted.selector, wanted.where, wanted.steps)
    if not found.found:
        return Source(None, None)
    return as_dataset(lambda: iter(x), lambda: iter(x), wanted, found, x)


def _cut_dataset(x: Any, wanted: Wanted) -> Source:
    tf = tensorflow()
    # The first batch is cut in plain Python, where targets that cannot be cut say so without a graph around them.
    samples = [wanted.selector.select(numpy_rows(batch), wanted.where) for batch in x.take(1)]
    if not samples:
        return Source(None, None)

    def change(*batch: Any) -> tuple[Any, ...]:
        return pack(wanted.selector.select(unpack(batch), wanted.where))

    made = x.map(tf.autograph.experimental.do_not_convert(change), num_parallel_calls=tf.data.AUTOTUNE)
    return Source(made, wanted.steps, samples[0])
