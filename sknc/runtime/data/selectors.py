"""One selector a kind of share: from rows of the data to rows for this submodel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from ..errors import EmptyShareError, LabelError
from .arrays import Rows, count_rows, leaves, map_leaves, take, take_rows, unwrap
from .cuts import cut, cut_box, image_axes
from .labels import LabelMap, as_array, class_ids, is_one_hot, local_labels, one_hot_ids
from .select import alternate, binary_keys, class_rows, empty_share, half_rows, local_class_weight
from .shares import Share

# Rows of one batch and the number of its first row, to the rows that are kept.
BatchSelector = Callable[[Rows, int], Rows]


class Selector(Protocol):
    """What a kind of share does to data."""

    @property
    def filters(self) -> bool:
        """Whether rows are left out; otherwise only targets (and inputs) are cut."""

    @property
    def expected(self) -> float:
        """The part of the rows that is kept where classes are equally frequent."""

    def select(self, data: Rows, where: str, first_row: int = 0) -> Rows:
        """Returns this submodel's part of whole arrays; it may have no rows."""

    def stream(self, where: str) -> BatchSelector:
        """Returns the same for batches that come one after the other."""

    def class_weight(self, weights: Mapping[Any, float] | None) -> Mapping[Any, float] | None:
        """Returns class weights for the selected labels."""

    def empty(self, where: str) -> EmptyShareError:
        """Returns the error for data without a row of this submodel."""


class ClassSelector:
    """Rows of some classes, with labels counted within them.

    Args:
        share: a multiclass share.
        labels: how the block's labels name its classes.
    """

    filters = True

    def __init__(self, share: Share, labels: LabelMap) -> None:
        self.share = share
        self.labels = labels
        self.expected = len(share.classes) / labels.total

    def select(self, data: Rows, where: str, first_row: int = 0) -> Rows:
        """Returns the rows of the submodel's classes.

        Args:
            data: all rows.
            where: "training" or "validation", for messages.
            first_row: the number of the first row, for messages.

        Raises:
            LabelError: a label is none of the block's classes.
        """
        y, back = unwrap(data.y, count_rows(data.x))
        array = as_array(y)
        ids = class_ids(self.labels, array, where, first_row)
        rows = class_rows(ids, self.share.classes, self.labels.total)
        kept = take_rows(Rows(data.x, array, data.weight), rows)
        local = local_labels(kept.y, ids[rows], self.share.classes, self.labels.total)
        return kept._replace(y=back(local))

    def stream(self, where: str) -> BatchSelector:
        """Returns the selector of batches.

        Args:
            where: "training" or "validation", for messages.
        """
        return lambda data, first_row: self.select(data, where, first_row)

    def class_weight(self, weights: Mapping[Any, float] | None) -> Mapping[Any, float] | None:
        """Returns weights by local index.

        Args:
            weights: by label.
        """
        return local_class_weight(weights, self.labels, self.share.classes)

    def empty(self, where: str) -> EmptyShareError:
        """Returns the error that names the classes.

        Args:
            where: what was looked through.
        """
        return empty_share(self.share.classes, self.labels, where)


class HalfSelector:
    """One half of a binary task's rows; the labels stay.

    Args:
        share: a binary share.
    """

    filters = True
    expected = 0.5

    def __init__(self, share: Share) -> None:
        self.half = share.half or 0

    def select(self, data: Rows, where: str, first_row: int = 0) -> Rows:
        """Returns the half, stratified by label and shuffled with a fixed seed.

        Args:
            data: all rows.
            where: "training" or "validation", for messages.
            first_row: the number of the first row, for messages.

        Raises:
            LabelError: there are more than two classes.
        """
        y, back = unwrap(data.y, count_rows(data.x))
        rows = half_rows(binary_keys(y, where, first_row), self.half)
        return take_rows(data._replace(y=as_array(y)), rows)._replace(y=back(take(as_array(y), rows)))

    def stream(self, where: str) -> BatchSelector:
        """Returns a selector that deals each class's rows out in turn.

        Args:
            where: "training" or "validation", for messages.
        """
        counts = np.zeros(2, dtype=np.int64)

        def pick(data: Rows, first_row: int) -> Rows:
            y, back = unwrap(data.y, count_rows(data.x))
            array = as_array(y)
            keys = _stream_keys(array, where, first_row)
            rows = np.flatnonzero(alternate(keys, self.half, counts))
            return take_rows(data._replace(y=array), rows)._replace(y=back(take(array, rows)))

        return pick

    def class_weight(self, weights: Mapping[Any, float] | None) -> Mapping[Any, float] | None:
        """Returns the weights as they are.

        Args:
            weights: by label.
        """
        return weights

    def empty(self, where: str) -> EmptyShareError:
        """Returns the error that names the half.

        Args:
            where: what was looked through.
        """
        return EmptyShareError(f"the {where} data has no row for half {self.half} of this binary task")


def _stream_keys(array: Any, where: str, first_row: int) -> Any:
    """Returns 0 or 1 for each row of a batch; a batch alone cannot tell what its two labels are."""
    if is_one_hot(array, 2):
        return one_hot_ids(array, where, first_row)
    flat = array.reshape(len(array), -1)
    allowed = np.isin(flat, [-1, 0, 1]) if flat.dtype.kind in "iufb" else np.zeros(flat.shape, dtype=bool)
    if flat.shape[1] != 1 or not allowed.all():
        row = int(np.flatnonzero(~allowed.all(axis=1))[0]) if not allowed.all() else 0
        raise LabelError(
            f"label {array[row].tolist()!r} at row {row + first_row} of the {where} labels: a binary block has 0 and 1"
        )
    return (flat[:, 0] > 0).astype(np.int64)


class CutSelector:
    """All rows, with the part of the targets (local regression: and of the inputs) that is this submodel's.

    Args:
        share: a regression or local regression share.
        channels_last: keras's image data format.
    """

    filters = False
    expected = 1.0

    def __init__(self, share: Share, channels_last: bool = True) -> None:
        self.share = share
        self.channels_last = channels_last
        self.width = share.of
        self.full_shape: tuple[int | None, ...] = ()

    def select(self, data: Rows, where: str, first_row: int = 0) -> Rows:  # the protocol's
        """Returns all rows with their targets cut.

        Args:
            data: all rows.
            where: unused; targets carry no labels.
            first_row: unused.

        Raises:
            ProgramError: the targets cannot be cut into the parts.
        """
        y, back = unwrap(data.y, None if self._in_graph(data.x) else count_rows(data.x))
        target = y if hasattr(y, "__getitem__") and hasattr(y, "ndim") and not hasattr(y, "iloc") else as_array(y)
        piece = cut(self.share, target, self.channels_last)
        self.full_shape = tuple(target.shape)
        self.width = int(target.shape[-1])
        x = data.x
        if self.share.kind == "local_regression":
            # An autoencoder's inputs are its targets: one array, cut once.
            x = piece if x is y else map_leaves(lambda leaf: cut(self.share, self._table(leaf), self.channels_last), x)
        weight = map_leaves(lambda leaf: self._weight(leaf, tuple(target.shape)), data.weight)
        return Rows(x, back(piece), weight)

    @staticmethod
    def _in_graph(x: Any) -> bool:
        """Whether the rows are those of a tf.data function, which has no number of rows yet."""
        return any(getattr(leaf, "shape", (0,))[0] is None for leaf in leaves(x)[:1])

    @staticmethod
    def _table(leaf: Any) -> Any:
        return as_array(leaf) if hasattr(leaf, "iloc") else leaf

    def _weight(self, weight: Any, target: tuple[int, ...]) -> Any:
        """A weight for each pixel is cut as the pixels are; a weight for each row stays."""
        shape = tuple(getattr(weight, "shape", ()))
        if self.share.grid is None or len(shape) < 3:
            return weight
        axes = image_axes(len(shape), self.channels_last)
        if [shape[axis] for axis in axes] != [target[axis] for axis in image_axes(len(target), self.channels_last)]:
            return weight
        return cut(self.share, weight, self.channels_last)

    def stream(self, where: str) -> BatchSelector:
        """Returns the selector of batches.

        Args:
            where: for messages.
        """
        return lambda data, first_row: self.select(data, where, first_row)

    def class_weight(self, weights: Mapping[Any, float] | None) -> Mapping[Any, float] | None:
        """Returns weights by the label's index within the part, for a multilabel target.

        Args:
            weights: by label index.
        """
        if weights is None or not self.share.labels or self.share.part is None:
            return weights
        if self.width is None:
            return weights
        start, stop = next(iter(cut_box(self.share, (0, self.width)).values()))
        return {k - start: w for k, w in weights.items() if start <= k < stop}

    def empty(self, where: str) -> EmptyShareError:
        """Returns the error for data without rows.

        Args:
            where: what was looked through.
        """
        return EmptyShareError(f"the {where} data has no rows")


class LocalSelector(ClassSelector):
    """Batches that hold this submodel's classes only, with labels counted within them already."""

    def select(self, data: Rows, where: str, first_row: int = 0) -> Rows:  # the protocol's
        """Returns the rows as they are.

        Args:
            data: all rows.
            where: unused.
            first_row: unused.
        """
        return data
