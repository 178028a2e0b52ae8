"""What a data set that Python code makes batches for cannot say of itself: what it reads, and how large batches are."""

from __future__ import annotations

from typing import Any

_READS, _BATCH = "_skynnet_reads", "_skynnet_batch"


def mark_made(dataset: Any, source: Any, batch_size: int | None) -> None:
    """Notes on a `tf.data.Dataset` what it is made from.

    Args:
        dataset: the data set.
        source: what is read, None for nothing that holds memory.
        batch_size: of its batches, None where it is not known.
    """
    setattr(dataset, _READS, source)
    setattr(dataset, _BATCH, batch_size)


def read_by(dataset: Any) -> Any:
    """Returns what a data set was noted to read, None for nothing.

    Args:
        dataset: anything.
    """
    return getattr(dataset, _READS, None)


def noted_batch(dataset: Any) -> int | None:
    """Returns the batch size that was noted on a data set, None for none.

    Args:
        dataset: anything.
    """
    found = getattr(dataset, _BATCH, None)
    return None if found is None else int(found)
