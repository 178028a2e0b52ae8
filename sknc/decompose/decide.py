"""What a block is cut into: shares, groups and factors, from its kind and sizes alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from sknc.decompose.combine import combine
from sknc.decompose.rules import TABLE, Kind
from sknc.decompose.shares import choose_grid, part_bounds

COMPOSITIONS: dict[Kind, tuple[str, ...]] = {
    "multiclass": ("coupling", "product"),
    "binary": ("certainty",),
    "regression": ("concatenation",),
    "local_regression": ("concatenation",),
}
"""How each kind is composed; the first is the default, as measured (docs/benchmarks.md)."""


@dataclass(frozen=True)
class Share:
    """What one submodel is given.

    Attributes:
        arguments: for `skn_runtime.begin`, besides block and kind.
        listed: how a composer's list of programs names it.
        manifest: its entries in the manifest.
        output: the width of its output layer, None when it stays as it is or is known at run time only.
        part: [index, parts] where the output's width is known at run time only.
        patch: (rows, columns) of its patch of an image-shaped output, where those are known.
    """

    arguments: dict[str, Any]
    listed: list[Any]
    manifest: dict[str, Any]
    output: int | None = None
    part: tuple[int, int] | None = None
    patch: tuple[int, int] | None = None


@dataclass(frozen=True)
class Decision:
    """How a block is cut.

    Attributes:
        kind: its kind.
        requested: how many submodels were asked for.
        factor: F, before the cap of widths.
        groups: groups of classes; empty but for multiclass.
        shares: one for each submodel.
        common: arguments that the composer needs, besides its programs.
        cut_output: whether the output layer's width is the share's.
        grid: (rows, columns) for image-shaped outputs.
    """

    kind: Kind
    requested: int
    factor: float
    shares: tuple[Share, ...]
    groups: tuple[tuple[int, ...], ...] = ()
    common: dict[str, Any] = field(default_factory=dict)
    cut_output: bool = True
    grid: tuple[int, int] | None = None

    @property
    def whole(self) -> bool:
        """Whether the one submodel is the original."""
        return len(self.shares) == 1


def whole(kind: Kind, classes: int | None) -> Decision:
    """Return the identity: one submodel that is the original (any kind)."""
    of = {"of": classes} if kind == "multiclass" and classes is not None else {}
    of = {"of": 2} if kind == "binary" else of
    manifest: dict[str, Any] = {"share": []}
    if kind == "multiclass" and classes is not None:
        manifest = {"classes": list(range(classes)), "share": []}
    share = Share({**of, "whole": True}, [], manifest)
    groups = (tuple(range(classes)),) if kind == "multiclass" and classes is not None else ()
    return Decision(kind, 1, 1.0, (share,), groups, {**of, "whole": True}, cut_output=False)


def multiclass(classes: int, requested: int) -> Decision:
    """Cut a multiclass task into pairs of groups (3.1).

    Args:
        classes: N.
        requested: M^, more than 1.

    Returns:
        The decision; the identity when no more than one submodel is possible.

    Raises:
        NotDecomposable: two classes or fewer.
    """
    found = combine(classes, requested)
    if found.whole:
        return whole("multiclass", classes)
    shares = tuple(
        Share(
            {"of": classes, "classes": list(own)},
            list(own),
            {"classes": list(own), "share": list(own)},
            len(own),
        )
        for own in found.programs()
    )
    return Decision("multiclass", requested, found.factor, shares, found.groups, {"of": classes})


def binary(requested: int) -> Decision:
    """Cut a binary task into two halves of its rows (3.2)."""
    shares = tuple(
        Share({"of": 2, "half": index}, [index], {"classes": [0, 1], "share": [index, 2]}) for index in (0, 1)
    )
    return Decision("binary", requested, 2.0, shares, (), {"of": 2}, cut_output=False)


def regression(kind: Kind, requested: int, width: int | None) -> Decision:
    """Cut a regression's last axis into parts (3.3).

    Args:
        kind: regression or local regression.
        requested: M.
        width: the size of the axis, None when it is known at run time only.
    """
    bounds = part_bounds(width, requested) if width is not None else []
    shares = []
    for index in range(requested):
        part = (index, requested)
        outputs: dict[str, Any] = {"outputs": list(bounds[index])} if bounds else {"outputs": None}
        size = bounds[index][1] - bounds[index][0] if bounds else None
        manifest = {**outputs, "share": list(part)}
        shares.append(Share({"part": list(part)}, list(part), manifest, size, part))
    return Decision(kind, requested, float(requested), tuple(shares))


def patches(kind: Kind, requested: int, height: int | None, width: int | None) -> Decision:
    """Cut an image-shaped target into a grid of patches (3.3; Figure 3)."""
    grid = choose_grid(requested, height or 1 << 10, width or 1 << 10)
    shares = []
    for index in range(requested):
        row, column = divmod(index, grid[1])
        outputs: list[list[int]] | None = None
        size: tuple[int, int] | None = None
        if height is not None and width is not None:
            outputs = [list(part_bounds(height, grid[0])[row]), list(part_bounds(width, grid[1])[column])]
            size = (outputs[0][1] - outputs[0][0], outputs[1][1] - outputs[1][0])
        part = (index, requested)
        arguments = {"grid": list(grid), "part": list(part)}
        shares.append(Share(arguments, list(part), {"outputs": outputs, "share": list(part)}, None, part, size))
    common = {"grid": list(grid)}
    return Decision(kind, requested, float(requested), tuple(shares), (), common, cut_output=False, grid=grid)


def with_labels(decision: Decision) -> Decision:
    """Tell the programs that the outputs are labels of their own (a multilabel task)."""
    shares = tuple(replace(share, arguments={**share.arguments, "labels": True}) for share in decision.shares)
    return replace(decision, shares=shares, common={**decision.common, "labels": True})


def flat_patches(decision: Decision, channels: int) -> Decision:
    """Let the layer that gives an image as one row of numbers give its patch alone.

    Args:
        decision: a cut into patches of known sizes.
        channels: the numbers of a pixel.
    """
    shares = [replace(s, output=s.patch[0] * s.patch[1] * channels) for s in decision.shares if s.patch is not None]
    return replace(decision, shares=tuple(shares), cut_output=True)


def default_rule(kind: Kind) -> str:
    """Return how a kind is composed when nothing is said."""
    assert kind in TABLE["composition"].__dataclass_fields__  # the kinds are the table's columns
    return COMPOSITIONS[kind][0]
