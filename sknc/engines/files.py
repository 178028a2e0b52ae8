"""Writing and removing what runs produce."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sknc.engines import lock
from sknc.engines.folder import ARTIFACTS, RESULTS, manifest_of


@dataclasses.dataclass(frozen=True)
class Removed:
    """What was removed: names in the folder, files, bytes; links whose targets were left alone."""

    names: tuple[str, ...]
    files: int
    bytes: int
    links: tuple[str, ...] = ()


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file in one step: a reader sees the old one or the new one.

    Args:
        path: the file; its folder must exist.
        content: what `json` can write.

    Raises:
        EnvironmentProblem: the folder cannot be written, or the disk is full.
    """
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2, ensure_ascii=False, allow_nan=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes it private; this one is for whoever may read the folder.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = ""
    except OSError as error:
        raise lock.cannot_write(path.parent, error) from error
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current


def clean(folder: str | os.PathLike[str]) -> Removed:
    """Remove what runs produced in an output folder; the programs stay.

    Args:
        folder: a folder that `sknc split` wrote.

    Returns:
        What was removed.

    Raises:
        FolderNotOurs: it has no manifest; nothing is touched.
        EnvironmentProblem: a run is at work there, or something cannot be removed.
    """
    path = Path(folder)
    manifest_of(path)
    if not _produced(path):
        return Removed((), 0, 0)
    with lock.acquire(path, "clean"):
        return remove_produced(path)


def remove_produced(path: Path) -> Removed:
    """Remove artifacts/, results.json and compiled copies. The caller holds the lock.

    Args:
        path: the output folder.

    Returns:
        What was removed. A link is removed, what it leads to is not.
    """
    names: list[str] = []
    links: list[str] = []
    files = size = 0
    try:
        for found in _produced(path):
            name = found.relative_to(path).as_posix()
            if found.is_symlink():
                links.append(name)
                found.unlink()
                continue
            count, total = _weigh(found)
            files, size = files + count, size + total
            if found.is_dir():
                shutil.rmtree(found)
                name += "/"
            else:
                found.unlink()
            names.append(name)
    except OSError as error:
        raise lock.cannot_write(path, error) from error
    return Removed(tuple(names), files, size, tuple(links))


def _produced(path: Path) -> list[Path]:
    candidates = [path / ARTIFACTS, path / RESULTS]
    runtime = path / "skn_runtime"
    if not runtime.is_symlink():
        candidates += sorted([path / "__pycache__", *runtime.rglob("__pycache__")])
    # A run that was killed while it wrote may have left its unfinished copy.
    candidates += sorted(path.glob(f".{RESULTS}.*"))
    return [found for found in candidates if found.is_symlink() or found.exists()]


def _weigh(path: Path) -> tuple[int, int]:
    """Return the number of files below a path and their bytes; the lock and links weigh nothing."""
    count = size = 0
    for file in _files(path):
        if file.name != lock.NAME and not file.is_symlink():
            count, size = count + 1, size + file.lstat().st_size
    return count, size


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, _, names in os.walk(path):
        yield from (Path(folder) / name for name in names)


def forget_runs(path: Path) -> None:
    """Remove what earlier runs left, for a run from the start. The caller holds the lock.

    Args:
        path: the output folder.

    Raises:
        EnvironmentProblem: something cannot be removed.
    """
    try:
        for found in sorted((path / ARTIFACTS).iterdir()):
            if found.name == lock.NAME:
                continue
            if found.is_dir() and not found.is_symlink():
                shutil.rmtree(found)
            else:
                found.unlink()
        (path / RESULTS).unlink(missing_ok=True)
    except OSError as error:
        raise lock.cannot_write(path, error) from error
