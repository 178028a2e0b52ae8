"""What part of a block's task one program has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ProgramError

KINDS = ("multiclass", "binary", "regression", "local_regression")


@dataclass(frozen=True)
class Share:
    """The share of one program.

    Args:
        kind: multiclass, binary, regression or local_regression.
        of: multiclass: the number of classes N; binary: 2; regression: None or the targets' width.
        classes: multiclass: the ids of this submodel's classes, in the order of its outputs.
        half: binary: 0 or 1.
        part: regression: (index, number of parts).
        grid: regression: (rows, columns) of patches over the two image axes; None cuts the last axis.
        labels: the parts are those of a multilabel target.
        whole: nothing is selected; the program is the original at full width.
    """

    kind: str
    of: int | None = None
    classes: tuple[int, ...] = ()
    half: int | None = None
    part: tuple[int, int] | None = None
    grid: tuple[int, int] | None = None
    labels: bool = False
    whole: bool = False

    def describe(self) -> dict[str, Any]:
        """Returns the share as result.json keeps it."""
        return {
            "classes": list(self.classes),
            "half": self.half,
            "part": None if self.part is None else list(self.part),
            "grid": None if self.grid is None else list(self.grid),
            "labels": self.labels,
            "whole": self.whole,
        }


def _pair(name: str, value: Sequence[int]) -> tuple[int, int]:
    numbers = tuple(int(item) for item in value)
    if len(numbers) != 2:
        raise ProgramError(f"{name} must hold two numbers, not {list(value)}")
    return numbers[0], numbers[1]


def make_share(
    kind: str,
    *,
    of: int | None = None,
    classes: Sequence[int] | None = None,
    half: int | None = None,
    part: Sequence[int] | None = None,
    grid: Sequence[int] | None = None,
    labels: bool = False,
    whole: bool = False,
) -> Share:
    """Returns the share that the arguments of `begin` describe, checked.

    Args:
        kind: one of KINDS.
        of: the number of classes.
        classes: the ids of the classes.
        half: 0 or 1.
        part: [index, number of parts].
        grid: [rows, columns].
        labels: whether the targets are labels of a multilabel task.
        whole: whether nothing is selected.

    Raises:
        ProgramError: the arguments do not fit together.
    """
    if kind not in KINDS:
        raise ProgramError(f"unknown kind {kind!r}: it is one of {', '.join(KINDS)}")
    share = Share(
        kind=kind,
        of=None if of is None else int(of),
        classes=tuple(int(c) for c in classes or ()),
        half=half,
        part=None if part is None else _pair("part", part),
        grid=None if grid is None else _pair("grid", grid),
        labels=labels,
        whole=whole,
    )
    if not whole:
        _check(share)
    return share


def _check(share: Share) -> None:
    if share.kind == "multiclass":
        total = share.of or 0
        if not share.classes or len(set(share.classes)) != len(share.classes):
            raise ProgramError(f"a multiclass share needs distinct classes, not {list(share.classes)}")
        if min(share.classes) < 0 or max(share.classes) >= total:
            raise ProgramError(f"classes {list(share.classes)} are not all among 0..{total - 1}")
    elif share.kind == "binary":
        if share.half not in (0, 1):
            raise ProgramError(f"a binary share is half 0 or half 1, not {share.half!r}")
    else:
        if share.part is None:
            raise ProgramError(f"a {share.kind} share needs part=[index, number of parts]")
        index, parts = share.part
        if not 0 <= index < parts:
            raise ProgramError(f"part {index} is not among 0..{parts - 1}")
        if share.grid is not None and share.grid[0] * share.grid[1] != parts:
            raise ProgramError(f"a grid of {share.grid[0]} x {share.grid[1]} has no {parts} parts")
