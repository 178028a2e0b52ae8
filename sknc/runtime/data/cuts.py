"""Where a regression's targets are cut: parts of the last axis, or patches of the two image axes."""

from __future__ import annotations

from typing import Any

from ..errors import ProgramError
from .shares import Share


def bounds(size: int, index: int, parts: int) -> tuple[int, int]:
    """Returns the start and stop of one part, with the sizes that numpy.array_split gives.

    Args:
        size: length of the axis.
        index: which part.
        parts: how many parts.

    Raises:
        ProgramError: there are more parts than entries.
    """
    if size < parts:
        raise ProgramError(
            f"an axis of {size} cannot be cut into {parts} parts",
            f"split with -m {size} or fewer" if size > 1 else "a scalar target cannot be split; use -m 1",
        )
    quotient, rest = divmod(size, parts)
    start = index * quotient + min(index, rest)
    return start, start + quotient + (1 if index < rest else 0)


def image_axes(rank: int, channels_last: bool = True) -> tuple[int, int]:
    """Returns the two image axes of an array with a batch axis.

    Args:
        rank: the array's rank, 3 (no channel axis) or 4.
        channels_last: keras's image data format.

    Raises:
        ProgramError: an array of this rank holds no images.
    """
    if rank == 3 or (rank == 4 and channels_last):
        return 1, 2
    if rank == 4:
        return 2, 3
    raise ProgramError(f"patches need images (rows, height, width[, channels]); this array has rank {rank}")


def cut_box(share: Share, shape: tuple[int | None, ...], channels_last: bool = True) -> dict[int, tuple[int, int]]:
    """Returns the (start, stop) of a share on each axis that it cuts.

    Args:
        share: a regression share that is not whole.
        shape: the array's shape with its batch axis.
        channels_last: keras's image data format.

    Returns:
        The cuts by axis.

    Raises:
        ProgramError: the array cannot be cut so.
    """
    if share.part is None:
        raise ProgramError(f"a {share.kind} share without a part cuts nothing")
    index, parts = share.part
    if share.grid is not None:
        first, second = image_axes(len(shape), channels_last)
        row, column = divmod(index, share.grid[1])
        return {
            first: bounds(_known(shape, first), row, share.grid[0]),
            second: bounds(_known(shape, second), column, share.grid[1]),
        }
    if len(shape) < 2 or (shape[-1] == 1 and parts > 1):
        raise ProgramError(f"the target is one number per row; it cannot be cut into {parts} parts", "split with -m 1")
    return {len(shape) - 1: bounds(_known(shape, len(shape) - 1), index, parts)}


def _known(shape: tuple[int | None, ...], axis: int) -> int:
    size = shape[axis]
    if size is None:
        raise ProgramError(f"axis {axis} of the data has no known length, so that it cannot be cut")
    return int(size)


def slices(box: dict[int, tuple[int, int]], rank: int) -> tuple[slice, ...]:
    """Returns the index that takes a box out of an array.

    Args:
        box: (start, stop) by axis.
        rank: the array's rank.
    """
    return tuple(slice(*box[axis]) if axis in box else slice(None) for axis in range(rank))


def cut(share: Share, value: Any, channels_last: bool = True) -> Any:
    """Returns a share's part of an array or tensor with a batch axis.

    Args:
        share: a regression share.
        value: a numpy array or a tensor.
        channels_last: keras's image data format.

    Raises:
        ProgramError: the value cannot be cut so.
    """
    shape = tuple(value.shape)
    return value[slices(cut_box(share, shape, channels_last), len(shape))]
