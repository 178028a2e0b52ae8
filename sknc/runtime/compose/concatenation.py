"""Composition of a regression block: the parts laid in order (Skynnet, section 3.5, step 4.3, and section 3.4).

    y = [f_1(x), f_2(x), ..., f_M(x)]

Parts lie along the last axis, or, for image-shaped targets, are the patches of a grid over the two image axes
(the first two after the batch), row by row. Local regression composes alike; only there the input is cut as the
output is, submodel i seeing patch i.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from ..data.cuts import bounds, image_axes


def reference(parts: Sequence[NDArray[Any]], grid: Sequence[int] | None = None) -> NDArray[Any]:
    """Lay the parts in order, in numpy.

    Args:
        parts: Each submodel's output.
        grid: Rows and columns of patches; None for parts of the last axis.

    Returns:
        The whole output.

    Raises:
        ValueError: The number of parts is not the grid's, or the parts do not fit together.
    """
    if grid is None:
        return np.concatenate(list(parts), axis=-1)
    down, along = _axes(parts[0])
    lines = [np.concatenate(list(line), axis=along) for line in _lines(parts, grid)]
    return np.concatenate(lines, axis=down)


def graph(parts: Sequence[Any], grid: Sequence[int] | None = None) -> Any:
    """Lay the parts in order, with built-in Keras operations.

    Args:
        parts: Each submodel's output as a Keras tensor.
        grid: Rows and columns of patches; None for parts of the last axis.

    Returns:
        The whole output as a Keras tensor.

    Raises:
        ValueError: The number of parts is not the grid's, or the parts do not fit together.
    """
    if grid is None:
        return ops.concatenate(list(parts), axis=-1)
    down, along = _axes(parts[0])
    lines = [ops.concatenate(list(line), axis=along) for line in _lines(parts, grid)]
    return ops.concatenate(lines, axis=down)


def cut(whole: Any, parts: int, grid: Sequence[int] | None = None) -> list[Any]:
    """Cut an input into the submodels' parts, with built-in Keras operations; the inverse of `graph`.

    Args:
        whole: The whole input as a Keras tensor.
        parts: Number of submodels.
        grid: Rows and columns of patches; None for parts of the last axis.

    Returns:
        One Keras tensor for each submodel; sizes differ by at most one, longer ones first.

    Raises:
        ValueError: The axis to cut has no fixed length, or one shorter than the number of parts.
    """
    if grid is None:
        return _along(whole, parts, len(whole.shape) - 1)
    if grid[0] * grid[1] != parts:
        raise ValueError(f"{parts} submodels do not fill a grid of {grid[0]} x {grid[1]} patches")
    down, along = _axes(whole)
    return [patch for line in _along(whole, grid[0], down) for patch in _along(line, grid[1], along)]


def _axes(value: Any) -> tuple[int, int]:
    """Return the two image axes."""
    return image_axes(len(value.shape), keras.config.image_data_format() == "channels_last")


def _along(whole: Any, parts: int, axis: int) -> list[Any]:
    """Cut one axis as numpy.array_split does."""
    length = whole.shape[axis]
    if length is None or length < parts:
        raise ValueError(f"cannot cut axis {axis} of an input of shape {tuple(whole.shape)} into {parts} parts")
    if parts == 1:
        return [whole]
    return list(ops.split(whole, [bounds(length, part, parts)[0] for part in range(1, parts)], axis=axis))


def _lines(parts: Sequence[Any], grid: Sequence[int]) -> list[Sequence[Any]]:
    """Arrange the patches in the grid's rows."""
    rows, columns = grid
    if rows * columns != len(parts):
        raise ValueError(f"{len(parts)} submodels do not fill a grid of {rows} x {columns} patches")
    return [parts[row * columns : (row + 1) * columns] for row in range(rows)]
