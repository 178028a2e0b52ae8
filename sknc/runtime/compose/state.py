"""What the composer knows about the block that it composes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..artifacts import compose_folder
from ..context import Context, open_block
from ..data.shares import Share, make_share
from ..errors import ProgramError
from .rules import RULES


@dataclass(frozen=True)
class Program:
    """One submodel's program.

    Args:
        path: The program.
        sha256: The hash of its text when the block was split.
        share: Its classes (multiclass), [part, M] (regression), half (binary), or [] when it is whole.
    """

    path: Path
    sha256: str
    share: Any


@dataclass
class Composition(Context):
    """A block whose model is composed.

    Args:
        rule: The rule of a multiclass block, one of RULES.
        programs: The submodels' programs.
        original: The user's own model, after `composed`.
        scores: Whether the model gives scores (logits, log-probabilities) rather than probabilities.
    """

    rule: str = "coupling"
    programs: tuple[Program, ...] = ()
    original: Any = None
    scores: bool = False

    @property
    def members(self) -> list[list[int]]:
        """Each submodel's classes."""
        return [[int(k) for k in program.share] for program in self.programs]


def begin_composed(
    file: str,
    *,
    block: int,
    kind: str,
    programs: Sequence[Sequence[Any]],
    of: int | None = None,
    rule: str = "coupling",
    measures: Sequence[str] = (),
    grid: Sequence[int] | None = None,
    labels: bool = False,
    whole: bool = False,
) -> Composition:
    """Begin a block whose model is put together from trained submodels.

    Args:
        file: The program's `__file__`.
        block: The block's index in the script.
        kind: multiclass, binary, regression or local_regression.
        programs: [file, SHA-256 of its text, share] of each submodel's program; files lie beside this one.
        of: multiclass: number of classes; binary: 2.
        rule: multiclass: how predictions are put together, "coupling" or "product".
        measures: "acc" and "loss", as the marker asks for.
        grid: regression: [rows, columns] of patches.
        labels: The parts are those of a multilabel target.
        whole: The only submodel is the original at full width.

    Returns:
        The block's context.

    Raises:
        ProgramError: The arguments do not fit together, or the block was begun before.
    """
    if rule not in RULES:
        raise ProgramError(f"unknown rule {rule!r}: it is one of {', '.join(RULES)}")
    if not programs:
        raise ProgramError("a composed block needs at least one submodel")
    program = Path(file).absolute()
    share = _share(kind, len(programs), of, grid, labels, whole)
    known = tuple(Program(program.parent / name, sha, part) for name, sha, part in programs)
    block_context = Composition(
        program, block, share, "composed", tuple(measures), compose_folder(program), rule=rule, programs=known
    )
    open_block(block_context)
    return block_context


def _share(kind: str, count: int, of: int | None, grid: Sequence[int] | None, labels: bool, whole: bool) -> Share:
    """Describe the whole task: the composer has all of it, and knows how it was cut."""
    checked = make_share(kind, of=of, grid=grid, labels=labels, whole=True)
    return Share(checked.kind, of=checked.of, grid=checked.grid, labels=labels, whole=whole or count == 1)
