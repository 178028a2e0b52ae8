"""From a script to an output folder: compile, complete, write. Behind `sknc split` and `sknc.split`."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sknc.diagnostics import Diagnostic, has_errors, in_order
from sknc.errors import FindingsError, InputProblem, UsageError

if TYPE_CHECKING:
    from sknc.pipeline import Compilation

__all__ = [
    "Prepared",
    "SplitResult",
    "check_script",
    "default_folder",
    "prepare",
    "read_budget",
    "read_script",
    "split_script",
    "write_folder",
]


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A script that was compiled: every file of its output folder, and nothing written yet."""

    script: Path
    source: bytes
    files: dict[str, bytes]
    blocks: list[dict[str, Any]]
    diagnostics: list[Diagnostic]
    source_lines: list[str]

    @property
    def refused(self) -> bool:
        """Whether the script has errors; then there are no files."""
        return has_errors(self.diagnostics)

    @property
    def programs(self) -> dict[str, bytes]:
        """The programs alone, in the order in which they run: the submodels and the composer of each block."""
        names = [
            name for block in self.blocks for name in (*(each["file"] for each in block["programs"]), block["composer"])
        ]
        return {name: self.files[name] for name in dict.fromkeys(names) if name in self.files}


@dataclasses.dataclass(frozen=True)
class SplitResult:
    """What a split wrote.

    Attributes:
        folder: the output folder.
        written: False when it held just these files already.
        blocks: what the manifest says about each block.
        diagnostics: the findings that did not stop the split.
    """

    folder: Path
    written: bool
    blocks: list[dict[str, Any]]
    diagnostics: list[Diagnostic]


def read_script(path: str | os.PathLike[str]) -> bytes:
    """Read a script, or a notebook as one.

    Args:
        path: the script.

    Returns:
        Its bytes.

    Raises:
        MissingExtra: it is a notebook, and what reads those is not installed.
        InputProblem: it is missing, a folder, or cannot be read.
    """
    script = Path(path)
    try:
        content = script.read_bytes()
        if script.suffix == ".ipynb":
            from sknc.notebooks import as_script

            return as_script(content, str(script))
        return content
    except FileNotFoundError:
        raise InputProblem(f"{script} does not exist", _near(script)) from None
    except IsADirectoryError:
        raise InputProblem(f"{script} is a folder", "name the Python script inside it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputProblem(f"cannot read {str(script)!r}: {reason}") from None


def _near(script: Path) -> str:
    """Say which file may have been meant."""
    import difflib

    try:
        names = [path.name for path in script.parent.glob("*.py")]
    except OSError:
        names = []
    found = difflib.get_close_matches(script.name, names, n=1, cutoff=0.75)
    return f"did you mean {script.with_name(found[0])}?" if found else "name a Python script that has #SKYNNET markers"


def default_folder(script: str | os.PathLike[str]) -> Path:
    """Return the output folder of a script that names none: `<script stem>_split` in the working folder."""
    return Path(f"{Path(script).stem}_split")


def prepare(
    path: str | os.PathLike[str],
    *,
    submodels: int,
    classes: int | None = None,
    compose: str | None = None,
    budget: int | None = None,
) -> Prepared:
    """Compile a script; nothing is written, and nothing of the script is run.

    Args:
        path: the script.
        submodels: how many are wanted, at least 1.
        classes: number of classes, where the script does not say.
        compose: how predictions are put together.
        budget: memory budget of the programs, in bytes.

    Returns:
        Every file of the output folder; none when the script has errors.

    Raises:
        InputProblem: the script cannot be read.
        UsageError: a number below 1.
    """
    if submodels < 1:
        raise UsageError(f"{submodels} submodels cannot be made", "ask for 1 (the original) or more")
    if classes is not None and classes < 1:
        raise UsageError(f"there cannot be {classes} classes", "give the number of classes of the output layer")
    source = read_script(path)
    # Reading scripts loads LibCST, which takes longer than everything else that `sknc --help` needs.
    from sknc.emit import assemble
    from sknc.pipeline import compile_script

    made: Compilation = compile_script(
        Path(path), submodels=submodels, classes=classes, compose=compose, budget=budget, raw=source
    )
    diagnostics = in_order(made.diagnostics)
    refused = has_errors(diagnostics)
    files = {} if refused else assemble(made.files, made.blocks, str(path), source, made.lines)
    return Prepared(Path(path), source, files, list(made.blocks), diagnostics, list(made.source_lines))


def check_script(
    path: str | os.PathLike[str],
    *,
    submodels: int | None = None,
    classes: int | None = None,
    compose: str | None = None,
    budget: int | None = None,
) -> Prepared:
    """Compile a script for its findings alone.

    Args:
        path: the script.
        submodels: how many are wanted. Without a number, findings that another one would avoid do not count: three
            is the fewest that cuts a multiclass task, two the fewest for the other kinds.
        classes: number of classes, where the script does not say.
        compose: how predictions are put together.
        budget: memory budget of the programs, in bytes.

    Returns:
        The compiled script with its findings.

    Raises:
        InputProblem: the script cannot be read.
    """
    first = 3 if submodels is None else submodels
    made = prepare(path, submodels=first, classes=classes, compose=compose, budget=budget)
    undecided = any(found.severity == "error" and found.code.startswith("SKN3") for found in made.diagnostics)
    if submodels is None and undecided:
        made = prepare(path, submodels=2, classes=classes, compose=compose, budget=budget)
    return made


def write_folder(prepared: Prepared, folder: Path) -> bool:
    """Write a compiled script's output folder.

    Args:
        prepared: what `prepare` returned, without errors.
        folder: the output folder.

    Returns:
        False when the folder held just these files already.

    Raises:
        SkncError: the folder is not ours, a run is at work in it, or it cannot be written.
    """
    from sknc.emit import write
    from sknc.engines.lock import refuse_if_held

    script, target = Path(os.path.realpath(prepared.script)), Path(os.path.realpath(folder))
    if target in script.parents and (target / "manifest.json").exists():
        raise UsageError(f"{prepared.script} lies inside the output folder {folder}", "name another folder with -o")
    refuse_if_held(folder, "split into")
    return write(folder, prepared.files)


def split_script(
    path: str | os.PathLike[str],
    *,
    submodels: int,
    output: str | os.PathLike[str] | None,
    classes: int | None,
    compose: str | None,
    budget: int | str | None,
) -> SplitResult:
    """Split a script; see `sknc.split`."""
    folder = default_folder(path) if output is None else Path(output)
    size = read_budget(budget) if isinstance(budget, str) else budget
    prepared = prepare(path, submodels=submodels, classes=classes, compose=compose, budget=size)
    if prepared.refused:
        count = sum(found.severity == "error" for found in prepared.diagnostics)
        raise FindingsError(f"{path} has {count} error{'s' if count > 1 else ''}", prepared.diagnostics)
    return SplitResult(folder, write_folder(prepared, folder), prepared.blocks, prepared.diagnostics)


def read_budget(text: str) -> int:
    """Read a memory budget.

    Args:
        text: a size such as "8GiB".

    Returns:
        Bytes.

    Raises:
        UsageError: when it is no size.
    """
    from sknc.runtime.memory.errors import PlanError
    from sknc.runtime.memory.units import parse_size

    try:
        return parse_size(text)
    except PlanError as error:
        raise UsageError(str(error)) from None
