"""What can happen to a tensor: the words that schedules and plans are made of."""

from __future__ import annotations

from dataclasses import dataclass

KEEP = "keep"
RECOMPUTE = "recompute"
HOST = "host"
DISK = "disk"
ACTIONS = (KEEP, RECOMPUTE, HOST, DISK)


@dataclass(frozen=True, slots=True)
class Span:
    """Steps through which a tensor is on the device.

    Attributes:
        start: the first step, counted from 0.
        end: the last one. The tensor leaves after it; when only a recomputation of that step reads it, right after
            that.
        by: how it comes: RECOMPUTE, HOST, DISK, or KEEP for the step that makes it in the first place.
    """

    start: int
    end: int
    by: str = KEEP
