"""Sizes in bytes, read and written."""

from __future__ import annotations

import operator
import re
from typing import Any

from .errors import PlanError

_FACTORS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_FACTORS |= {f"{unit}i": 1024 ** (power + 1) for power, unit in enumerate("kmgt")}
_MOST = 2.0**63
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Read a size.

    Args:
        text: a number with a unit: 8GiB, 500MB, 1.5 GiB, 4096.

    Returns:
        Bytes, rounded down.

    Raises:
        PlanError: when the text is no size, or is not above zero.
    """
    match = _SIZE.fullmatch(text)
    if match is None or match[2].lower() not in _FACTORS:
        raise PlanError(f"'{text}' is no size; write for example 8GiB, 500MB or a number of bytes")
    size = float(match[1]) * _FACTORS[match[2].lower()]
    if size < 1:
        raise PlanError(f"a size must be above zero, not '{text}'")
    if size > _MOST:
        raise PlanError(f"'{text if len(text) <= 40 else f'{text[:40]}...'}' is more than any machine has")
    return int(size)


def budget_of(given: Any) -> int:
    """Read a budget.

    Args:
        given: bytes as any kind of number, or a size as text.

    Returns:
        Bytes.

    Raises:
        PlanError: when it is no size, or not above zero.
    """
    try:
        size = parse_size(given) if isinstance(given, str) else int(given)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError(f"a budget is a number of bytes or a size such as '8GiB', not {given!r}") from error
    if size <= 0:
        raise PlanError(f"a budget must be above zero, not {given}")
    return size


def batch_of(given: Any) -> int:
    """Read a batch size.

    Args:
        given: any kind of whole number.

    Returns:
        Samples in a batch.

    Raises:
        PlanError: when it is no whole number, or not above zero.
    """
    try:
        size = operator.index(given)
    except TypeError as error:
        raise PlanError(f"a batch size is a whole number, not {given!r}") from error
    if size < 1:
        raise PlanError(f"a batch has at least one sample, not {size}")
    return size


def format_size(size: int) -> str:
    """Write a size for people.

    Args:
        size: bytes.

    Returns:
        Bytes, KiB, MiB or GiB: the largest unit of which there is at least one.
    """
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if abs(size) >= 1024**power:
            return f"{size / 1024**power:.{2 if power == 3 else 1}f} {unit}"
    return f"{size} B"
