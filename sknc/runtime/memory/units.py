"""Sizes in bytes, read and written."""

from __future__ import annotations

import re

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
