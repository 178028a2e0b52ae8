"""What an output folder says there is to run, and what of it has been run.

Reads the manifest with suspicion: people edit files, and a manifest that leads outside its folder must not
start a program there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sknc.emit import MANIFEST, read_manifest, recover
from sknc.engines.base import Task
from sknc.errors import EnvironmentProblem, FolderNotOurs, InputProblem

RESULTS = "results.json"
ARTIFACTS = "artifacts"
ORIGINAL = "original.py"


@dataclasses.dataclass(frozen=True)
class Program:
    """A program of the folder: its task, what it answers for ("0-2, 5"), and which lines are the user's."""

    task: Task
    share: str = ""
    lines: tuple[tuple[int, int, int], ...] = ()


@dataclasses.dataclass(frozen=True)
class Block:
    """A block's submodels, to be trained before those of a later block."""

    index: int
    kind: str
    programs: tuple[Program, ...]
    compose: str = ""


@dataclasses.dataclass(frozen=True)
class Split:
    """An output folder.

    `source` is the user's script as the manifest names it; `changed` are files that are not what the split
    wrote.
    """

    folder: Path
    source: str
    blocks: tuple[Block, ...]
    composers: tuple[Program, ...]
    original: Program | None
    changed: tuple[str, ...]

    @property
    def submodels(self) -> list[Program]:
        """Every submodel's program, in the order of the manifest."""
        return [program for block in self.blocks for program in block.programs]


def read(folder: str | os.PathLike[str]) -> Split:
    """Read an output folder.

    Args:
        folder: where `sknc split` wrote.

    Returns:
        What is in it.

    Raises:
        InputProblem: there is no such folder, or a program is missing.
        FolderNotOurs: it holds no manifest.
        UnknownSchema: its manifest is of another version.
        EnvironmentProblem: its manifest is damaged.
    """
    path = Path(folder)
    manifest = manifest_of(path)
    try:
        return _split(path, manifest)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error


def manifest_of(path: Path) -> dict[str, Any]:
    """Return an output folder's manifest, after finishing a split that was cut short.

    Args:
        path: the folder.

    Raises:
        InputProblem: there is no such folder.
        FolderNotOurs: it holds no manifest.
        UnknownSchema: its manifest is of another version.
        EnvironmentProblem: its manifest is damaged.
    """
    recover(path)
    hint = "name a folder that sknc split has written"
    if not path.is_dir():
        raise InputProblem(f"{path} {'is a file' if path.exists() else 'does not exist'}", hint)
    if not (path / MANIFEST).exists():
        raise FolderNotOurs(f"{path} is not a folder that sknc made: it has no {MANIFEST}", hint)
    return read_manifest(path)


def _damaged(path: Path, why: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"{path / MANIFEST} is damaged or was edited ({why})",
        hint="split the script again; what is trained is kept",
    )


def _split(path: Path, manifest: Mapping[str, Any]) -> Split:
    source = str(manifest["source"]["file"])
    beside = _beside(path, source)
    blocks: list[Block] = []
    composers: dict[str, Program] = {}
    for said in manifest["blocks"]:
        index = int(said["index"])
        programs = tuple(_submodel(path, index, entry, beside) for entry in said["programs"])
        blocks.append(Block(index, str(said["kind"]), programs, str(said.get("compose") or "")))
        name = str(said["composer"])
        composers.setdefault(name, _composer(path, name, manifest, beside))
    if not any(block.programs for block in blocks):
        raise ValueError("it names no submodels")
    names = [program.task.name for block in blocks for program in block.programs]
    if len(set(names)) < len(names):
        raise ValueError("a program is named twice")
    original = _original(path, manifest, beside) if (path / ORIGINAL).is_file() else None
    blocks.sort(key=lambda block: block.index)
    changed = _changed(path, manifest["files"])
    return Split(path, source, tuple(blocks), tuple(composers.values()), original, changed)


def _submodel(path: Path, block: int, entry: Mapping[str, Any], beside: Path | None) -> Program:
    name = str(entry["file"])
    program = _inside(path, name)
    home = path / ARTIFACTS / f"{program.stem}-{digest(program)[:12]}"
    task = Task(name, program, "submodel", home, home / "result.json", block, modules=beside)
    return Program(task, _share(entry), _lines(entry.get("lines")))


def _composer(path: Path, name: str, manifest: Mapping[str, Any], beside: Path | None) -> Program:
    home = path / ARTIFACTS / "compose"
    task = Task(name, _inside(path, name), "composer", home, home / "result.json", stream=True, modules=beside)
    return Program(task, lines=_lines_of(name, manifest))


def _original(path: Path, manifest: Mapping[str, Any], beside: Path | None) -> Program:
    program = _inside(path, ORIGINAL)
    home = path / ARTIFACTS / f"original-{digest(program)[:12]}"
    task = Task(ORIGINAL, program, "original", home, home / "result.json", modules=beside)
    return Program(task, lines=_lines_of(ORIGINAL, manifest))


def _lines_of(name: str, manifest: Mapping[str, Any]) -> tuple[tuple[int, int, int], ...]:
    return _lines((manifest.get("lines") or {}).get(name))


def _lines(said: Any) -> tuple[tuple[int, int, int], ...]:
    return tuple((int(first), int(origin), int(count)) for first, origin, count in said or ())


def _beside(path: Path, source: str) -> Path | None:
    """Return the folder of the user's script, from which it may import modules of the user's own.

    The manifest does not say where the script was, so that it is the same everywhere: it is looked for where
    people stand when they split, and beside the output folder.
    """
    name = Path(source).name
    return next((place for place in (Path.cwd(), path.absolute().parent) if (place / name).is_file()), None)


def _inside(path: Path, name: str) -> Path:
    if Path(name).name != name or name in ("", ".", ".."):
        raise ValueError(f"{name!r} is not the name of a file of this folder")
    program = path / name
    if not program.is_file():
        raise InputProblem(
            f"{program} is missing", hint="split the script again; what is trained of the others is kept"
        )
    return program


def _share(entry: Mapping[str, Any]) -> str:
    classes = entry.get("classes")
    if classes is not None:
        return ranges([int(number) for number in classes])
    outputs = entry.get("outputs")
    return "" if outputs is None else json.dumps(outputs, ensure_ascii=False)


def ranges(numbers: Sequence[int]) -> str:
    """Return numbers as people write them: "0-2, 5, 6".

    Args:
        numbers: whole numbers in rising order.

    Returns:
        The text; three or more that follow each other become a range.
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(str(number) for number in run) for run in runs]
    return ", ".join(parts)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes: what its artifacts are filed under."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _changed(path: Path, files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files that are not what the split wrote; those that are missing are not asked about here."""
    found = []
    for name, known in sorted(files.items()):
        file = path / name
        if file.is_file() and digest(file) != known:
            found.append(name)
    return tuple(found)


def result(program: Program) -> dict[str, Any] | None:
    """Return what a finished program wrote about its training, or None when it is not finished.

    Args:
        program: a submodel or the original.

    Returns:
        The contents of its result.json; None also when that cannot be read, so that it is trained again.
    """
    said = read_json(program.task.result)
    # The folder's name holds a part of the hash only; the result names all of it.
    return said if said is not None and said.get("program") == digest(program.task.program) else None


def read_json(path: Path) -> dict[str, Any] | None:
    """Return a JSON object from a file, or None when there is none to be had."""
    try:
        # A number that JSON does not know (NaN, Infinity) is no measure.
        said = json.loads(path.read_bytes(), parse_constant=lambda _: None)
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) else None
