"""The original tool's dialect: class ids that a user's own generator is called with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..context import current
from ..errors import ProgramError


def generator_classes(value: Any) -> Any:
    """Returns the class ids, out of the user's list, that this submodel trains on.

    Args:
        value: the user's list or array of class ids, each class once or more often.

    Returns:
        This submodel's ids in the user's order, as a list, or as an array where one was given.

    Raises:
        ProgramError: the ids are not the classes of the block, or none of them is this submodel's.
    """
    context = current()
    share = context.share
    if share.whole or share.kind != "multiclass":
        return value
    ids = np.asarray(value).ravel()
    distinct = np.unique(ids)
    total = share.of or 0
    if len(distinct) > total:
        raise ProgramError(f"the list of classes holds {len(distinct)} classes, this block has {total}")
    if ids.dtype.kind in "iu" and len(distinct) and distinct[0] >= 0 and distinct[-1] < total:
        wanted = np.asarray(share.classes)
    elif len(distinct) == total:
        # Ids of another form (1..N, names): the k-th smallest is class k.
        wanted = distinct[np.asarray(share.classes)]
    else:
        raise ProgramError(
            f"the list of classes {list(distinct[:5])}... is not 0..{total - 1} and does not hold all {total}"
        )
    mine = ids[np.isin(ids, wanted)]
    if len(mine) == 0:
        raise ProgramError(f"the list of classes holds none of this submodel's classes {list(share.classes)}")
    context.generator_classes = True
    return mine if isinstance(value, np.ndarray) else mine.tolist()
