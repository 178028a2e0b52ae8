"""A submodel's share of a keras PyDataset (formerly Sequence)."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ..frameworks import keras
from .sources import Source, Wanted, as_dataset
from .streams import numpy_rows, pack, survey


def _call(x: Any, name: str) -> None:
    # Older Keras has no on_epoch_begin.
    method = getattr(x, name, None)
    if method is not None:
        method()


def _numbers(x: Any) -> Iterator[int]:
    total = x.num_batches
    return iter(range(total)) if total is not None else itertools.count()


def epoch_batches(x: Any, shuffle: bool) -> Iterator[Any]:
    """Yields the batches of one epoch, read by as many threads as the sequence asks for.

    Args:
        x: the sequence.
        shuffle: whether the order of the batches is random.
    """
    _call(x, "on_epoch_begin")
    order = _numbers(x)
    if shuffle and x.num_batches is not None:
        order = iter(random.sample(range(x.num_batches), x.num_batches))
    workers = max(1, int(x.workers))
    if workers == 1:
        yield from (x[number] for number in order)
    else:
        with ThreadPoolExecutor(workers) as pool:
            ahead: deque[Future[Any]] = deque()
            for number in order:
                ahead.append(pool.submit(x.__getitem__, number))
                if len(ahead) > workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
    _call(x, "on_epoch_end")


def sequence_share(x: Any, wanted: Wanted, shuffle: bool) -> Source:
    """Returns a submodel's share of a sequence.

    Args:
        x: the sequence of batches.
        wanted: what is asked for.
        shuffle: whether the order of the batches changes each epoch.
    """
    if not wanted.selector.filters:
        made = _cut_sequence(x, wanted)
        return Source(made, wanted.steps, numpy_rows(made[0]))
    found = survey((x[i] for i in _numbers(x)), wanted.selector, wanted.where, wanted.steps)
    if not found.found:
        return Source(None, None)
    return as_dataset(lambda: epoch_batches(x, shuffle), lambda: (x[i] for i in _numbers(x)), wanted, found)


def _cut_sequence(x: Any, wanted: Wanted) -> Any:
    class Cut(keras().utils.PyDataset):  # type: ignore[misc]  # keras has no types
        """A sequence whose batches have their targets cut."""

        @property
        def num_batches(self) -> Any:
            return x.num_batches

        def __getitem__(self, index: int) -> tuple[Any, ...]:
            return pack(wanted.selector.select(numpy_rows(x[index]), wanted.where))

        def on_epoch_begin(self) -> None:
            _call(x, "on_epoch_begin")

        def on_epoch_end(self) -> None:
            _call(x, "on_epoch_end")

    # Threads in place of processes: forking a process that runs TensorFlow can hang.
    return Cut(workers=x.workers, use_multiprocessing=False, max_queue_size=x.max_queue_size)
