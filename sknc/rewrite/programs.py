"""All programs of a script: one for each submodel of each block, the composer, and the original to compare with."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sknc.rewrite import forms
from sknc.rewrite.inputs import COLUMNS, PATCH, ROWS
from sknc.rewrite.text import Edit, Template, template
from sknc.rewrite.widths import OUTPUT
from sknc.script.reading import BlockReading
from sknc.script.source import Source
from sknc.settle import Settled

COMPOSER = "compose.py"
ORIGINAL = "original.py"


@dataclass(frozen=True)
class Programs:
    """The programs of a script.

    Attributes:
        files: their bytes by name.
        blocks: the manifest's entries of the blocks.
        lines: which lines of the composer and the original are which of the script.
    """

    files: dict[str, bytes]
    blocks: list[dict[str, Any]]
    lines: dict[str, list[list[int]]]


Begin = Callable[[str, Mapping[str, str]], str]
"""Writes the call that begins a block, from the function's name and its arguments as Python text."""


def check(name: str, program: bytes) -> None:
    """Make sure that a program is Python, before anything is written.

    Raises:
        RuntimeError: it is not, which is a bug of sknc.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user's own text may well give some
            compile(program, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise RuntimeError(f"{name} would not be Python: {error}") from error


def write_programs(source: Source, settled: Sequence[Settled], budget: int | None, begin: Begin) -> Programs:
    """Write all programs of a script.

    Args:
        source: the script.
        settled: its blocks.
        budget: bytes that each program may hold while it trains, None for no bound.
        begin: writes the call that begins a block.

    Returns:
        The programs and what the manifest says of them.
    """
    writer = _Writer(source, budget, begin)
    blocks = [writer.block(one) for one in settled]
    writer.finish(settled)
    return Programs(writer.files, blocks, writer.lines)


class _Writer:
    def __init__(self, source: Source, budget: int | None, begin: Begin) -> None:
        self.source, self.budget, self._begin = source, budget, begin
        self.lines: dict[str, list[list[int]]] = {}
        self.files: dict[str, bytes] = {}
        self.composed: list[Edit] = []
        self.begins: dict[str, str] = {}

    def call(self, function: str, arguments: Mapping[str, Any]) -> str:
        return self._begin(function, {name: repr(value) for name, value in arguments.items()})

    def block(self, settled: Settled) -> dict[str, Any]:
        """Write the submodels of one block; later blocks see its composed model."""
        index = settled.reading.block.index
        entries: list[dict[str, Any]] = []
        listed: list[list[Any]] = []
        templates: dict[int | None, Template] = {}
        for share in settled.decision.shares:
            name = f"submodel_{len(self.files):02d}.py"
            fresh = share.output not in templates
            if fresh:
                templates[share.output] = self._submodel(settled, share.output)
            arguments = {"block": index, "kind": settled.reading.kind, **share.arguments}
            if self.budget is not None:
                arguments["budget"] = self.budget
            part = f"part={list(share.part or ())!r}"
            grid = f", grid={list(settled.decision.grid)!r}" if settled.decision.grid else ""
            values = {
                **self.begins,
                _begin(index): self.call("begin", arguments),
                OUTPUT: part if share.output is None else str(share.output),
                PATCH: part + grid,
                ROWS: str((share.patch or (0, 0))[0]),
                COLUMNS: str((share.patch or (0, 0))[1]),
            }
            program = templates[share.output].render(values)
            if fresh:
                check(name, program)
            self.files[name] = program
            listed.append([name, hashlib.sha256(program).hexdigest(), share.listed])
            lines = templates[share.output].lines(values)
            widths = settled.named_widths(share.output)
            entries.append({"file": name, **share.manifest, "widths": widths, "lines": lines})
        self._compose(settled, listed)
        return _entry(settled, entries)

    def _submodel(self, settled: Settled, output: int | None) -> Template:
        reading = settled.reading
        edits, ending = forms.submodel(
            self.source,
            reading,
            settled.widths(output) if not settled.decision.whole else {},
            settled.width_factor,
            settled.epochs,
            settled.output_known,
            reading.kind == "local_regression" and not settled.decision.whole,
            settled.decision.grid is not None and settled.output is not None,
        )
        edits = [*self.composed, *_renamed(edits, reading)]
        return template(self.source, edits, ending.end, (ending.tail,) if ending.tail else ())

    def _compose(self, settled: Settled, listed: list[list[Any]]) -> None:
        reading = settled.reading
        arguments = {
            "block": reading.block.index,
            "kind": reading.kind,
            **settled.decision.common,
            **({"rule": settled.rule} if reading.kind == "multiclass" else {}),
            "measures": list(reading.block.begin.measures),
            "programs": listed,
        }
        self.begins[_begin(reading.block.index)] = self.call("begin_composed", arguments)
        self.composed += _renamed(forms.composed(self.source, reading), reading)

    def finish(self, settled: Sequence[Settled]) -> None:
        """Write the composer and the original."""
        self._keep(COMPOSER, self.composed, self.begins)
        self._keep(ORIGINAL, *self._original(settled))

    def _keep(self, name: str, edits: Sequence[Edit], begins: Mapping[str, str]) -> None:
        program = template(self.source, edits)
        self.files[name] = program.render(begins)
        self.lines[name] = program.lines(begins)
        check(name, self.files[name])

    def _original(self, settled: Sequence[Settled]) -> tuple[list[Edit], dict[str, str]]:
        edits: list[Edit] = []
        begins: dict[str, str] = {}
        for index, one in enumerate(settled):
            reading = one.reading
            last = index == len(settled) - 1
            edits += _renamed(forms.original(self.source, reading, last), reading)
            of = {name: value for name, value in one.decision.common.items() if name in ("of", "labels")}
            arguments = {"block": reading.block.index, "kind": reading.kind, **of}
            arguments["measures"] = list(reading.block.begin.measures)
            begins[_begin(reading.block.index)] = self.call("begin_original", arguments)
        return edits, begins


def _begin(index: int) -> str:
    return f"{forms.BEGIN}{index}"


def _renamed(edits: Sequence[Edit], reading: BlockReading) -> list[Edit]:
    """Give the hole of a block's begin the block's number, so that several blocks can stand in one program."""
    from sknc.rewrite.text import Hole

    name = _begin(reading.block.index)
    return [
        Edit(e.start, e.end, tuple(Hole(name) if p == Hole(forms.BEGIN) else p for p in e.pieces), e.order)
        for e in edits
    ]


def _entry(settled: Settled, programs: list[dict[str, Any]]) -> dict[str, Any]:
    """The manifest's entry of a block."""
    decision, reading = settled.decision, settled.reading
    return {
        "index": reading.block.index,
        "kind": reading.kind,
        "classes": decision.common.get("of"),
        "requested": decision.requested,
        "submodels": len(decision.shares),
        "groups": [list(group) for group in decision.groups],
        "factor": decision.factor,
        "width_factor": settled.width_factor,
        "compose": settled.rule,
        "composer": COMPOSER,
        "programs": programs,
    }
