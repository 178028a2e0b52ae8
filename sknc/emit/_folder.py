"""Replacing an output folder so that nobody ever sees half of it, and nothing that sknc did not write is lost.

The new folder is written whole beside the old one and exchanged with it; then what sknc did not write (artifacts,
results, a user's notes) is moved over, and the old one is removed. A journal inside the new folder says how far this
is, so that the next command on the folder can finish it:

    beside it, journal "writing"  -> it is dropped: the old folder still stands
    in place, journal "complete"  -> what is left to move is moved, the old folder is removed
    (only where the system cannot exchange) nothing in place -> the complete one is put there
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from sknc.emit import _exchange
from sknc.emit._compare import compare
from sknc.emit._manifest import MANIFEST, parse_manifest, read_manifest
from sknc.errors import EnvironmentProblem, FolderNotOurs, UnknownSchema, UsageError

_JOURNAL = ".sknc-write.json"
_CACHE = "__pycache__"
_TOKEN = "[0-9a-f]{12}"


def write(folder: str | os.PathLike[str], files: Mapping[str, bytes]) -> bool:
    """Make an output folder hold these files, in one step.

    Args:
        folder: the output folder. Made when it is not there, replaced when sknc made it. What sknc did not write in it
            (artifacts above all) stays.
        files: bytes by POSIX path inside the folder, the manifest among them.

    Returns:
        False when the folder already held just these files, and was left alone.

    Raises:
        FolderNotOurs: the folder holds something, and sknc did not make it.
        UnknownSchema: a newer sknc made it.
        UsageError: the folder cannot be an output folder, or a path leads out of it.
        EnvironmentProblem: the system does not let us write.
    """
    target = _target(folder)
    names = [_checked(name) for name in files]
    parse_manifest(files[MANIFEST])
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _exchange.locked(target.parent):
            _recover(target)
            earlier = _earlier(target)
            if earlier is not None and not compare(target, files):
                return False
            foreign = _foreign(target, earlier or frozenset(), names)
            _replace(target, files, foreign)
    except OSError as error:
        raise _cannot_write(target, error) from error
    return True


def recover(folder: str | os.PathLike[str]) -> None:
    """Finish or undo a write that was cut short. Every command calls this before it looks at an output folder.

    Args:
        folder: the output folder; it need not exist.

    Raises:
        EnvironmentProblem: there is something to finish, and the system does not let us.
    """
    try:
        target = Path(os.path.realpath(folder))
    except ValueError:  # a NUL in the name: there is no such folder
        return
    try:
        if (target / _JOURNAL).exists() or any(_siblings(target)):
            with _exchange.locked(target.parent):
                _recover(target)
    except OSError as error:
        raise _cannot_write(target, error) from error


def _target(folder: str | os.PathLike[str]) -> Path:
    """Resolve an output folder; a link to a folder is followed, so that the link stays."""
    try:
        target = Path(os.path.realpath(folder))
    except ValueError as error:
        raise UsageError(f"{os.fspath(folder)!r} cannot be the name of a folder: {error}") from None
    if target.is_file() or (target.exists() and not target.is_dir()):
        raise UsageError(f"the output {folder} is a file", "name a folder with -o")
    if target.is_symlink():
        raise UsageError(f"the output {folder} is a link that leads in a circle", "name a folder with -o")
    here = Path(os.path.realpath(os.curdir))
    if target == here or target in here.parents:
        raise UsageError(
            f"the output {folder} is the folder this command runs in, or holds it, and cannot be replaced",
            "run the command from outside of it",
        )
    return target


def _checked(name: str) -> str:
    """Refuse a path that leads out of the folder, or to what sknc keeps there itself."""
    path = PurePosixPath(name)
    parts = path.parts
    bad = path.is_absolute() or ".." in parts or not parts or "\\" in name or "\0" in name or str(path) != name
    if bad or parts[0] in ("artifacts", _JOURNAL):
        raise UsageError(f"{name!r} is no name for a file of an output folder")
    return name


def _earlier(target: Path) -> frozenset[str] | None:
    """Return what an earlier split wrote in the folder: None where there is no folder, or an empty one."""
    if not target.exists() or not any(target.iterdir()):
        return None
    if not os.access(target, os.W_OK | os.X_OK):  # else artifacts could not be moved out of it
        raise EnvironmentProblem(f"cannot write {target}: Permission denied", "name another folder with -o")
    try:
        return frozenset(read_manifest(target)["files"]) | {MANIFEST}
    except UnknownSchema:
        raise
    except EnvironmentProblem:
        raise FolderNotOurs(
            f"{target} holds files that sknc did not make, so it is not replaced",
            "name another folder with -o, or move the files away",
        ) from None


def _foreign(target: Path, earlier: frozenset[str], names: list[str]) -> list[str]:
    """Return what the folder holds that no split wrote: whole folders where it can, so that they move in one step."""
    found: list[str] = []

    def look(folder: Path, prefix: str) -> None:
        for entry in sorted(os.scandir(folder), key=lambda each: each.name):
            name = prefix + entry.name
            if name in earlier or entry.name == _CACHE or name == _JOURNAL:
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and any(each.startswith(f"{name}/") for each in earlier):
                look(Path(entry.path), f"{name}/")
            else:
                found.append(name)

    if target.exists():
        look(target, "")
    for name in found:
        clash = next((each for each in names if each == name or each.startswith(f"{name}/")), None)
        if clash is not None:
            raise FolderNotOurs(
                f"{target / name} was not written by sknc, and a split would write {clash} over it",
                f"move {name} away, or name another folder with -o",
            )
    return found


def _replace(target: Path, files: Mapping[str, bytes], foreign: list[str]) -> None:
    """Write the new folder beside the old one and put it in its place."""
    token = secrets.token_hex(6)
    new = _sibling(target, "new", token)
    new.mkdir()
    try:
        (new / _JOURNAL).touch(exist_ok=False)
        _fill(new, files)
        if target.exists():
            shutil.copymode(target, new)
        _note(new, {"token": token, "foreign": foreign})
        _put_in_place(target, new, token)
        _finish(target)
    except BaseException:  # Ctrl-C as well: what a kill leaves for the next command is put right at once
        with contextlib.suppress(OSError):
            _recover(target)
        raise


def _fill(new: Path, files: Mapping[str, bytes]) -> None:
    """Write all files and have them on disk."""
    folders = {new}
    for name, content in files.items():
        path = new / name
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(new)):
            raise UsageError(f"{name!r} leads out of the output folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        folders.add(path.parent)
        path.write_bytes(content)
    _exchange.sync_all([new / name for name in files])
    _exchange.sync_all(sorted(folders))


def _note(new: Path, journal: Mapping[str, Any]) -> None:
    """Declare a new folder complete."""
    draft = new / f"{_JOURNAL}.draft"
    draft.write_text(json.dumps(journal), encoding="utf-8")
    _exchange.sync(draft)
    draft.replace(new / _JOURNAL)
    _exchange.sync(new)


def _put_in_place(target: Path, new: Path, token: str) -> None:
    """Put a complete new folder where the old one is, if there is one."""
    if not target.exists() or not any(target.iterdir()):
        new.replace(target)
    elif not _exchange.exchange(new, target):
        target.replace(_sibling(target, "old", token))
        new.replace(target)
    _exchange.sync(target.parent)


def _finish(target: Path) -> None:
    """Move over what is not ours, remove the old folder, and end the journal."""
    journal = _journal(target)
    if journal is None:
        return
    for state in ("new", "old"):
        old = _sibling(target, state, journal["token"])
        if old.is_dir():
            for name in journal["foreign"]:
                _move(old / name, target / name)
            _exchange.sync(target)
            # All that counts is moved; an old program that cannot be removed must not block every later command.
            shutil.rmtree(old, ignore_errors=True)
    (target / _JOURNAL).unlink()
    _exchange.sync(target)
    _exchange.sync(target.parent)


def _move(old: Path, new: Path) -> None:
    """Move one entry. Where something stands there by now, as when a run wrote artifacts meanwhile, that stays."""
    if not os.path.lexists(old):
        return
    if not os.path.lexists(new):
        new.parent.mkdir(parents=True, exist_ok=True)
        old.replace(new)
    elif old.is_dir() and new.is_dir() and not old.is_symlink() and not new.is_symlink():
        for entry in sorted(old.iterdir()):
            _move(entry, new / entry.name)


def _recover(target: Path) -> None:
    """Finish or undo what an earlier write left; the lock is held."""
    if not os.path.lexists(target):
        _restore(target)
    _finish(target)
    for left in _siblings(target):
        if (left / _JOURNAL).exists() or not any(left.iterdir()):
            _drop(left)


def _restore(target: Path) -> None:
    """Put a folder in place where there is none: the new one when it is complete, else the old one."""
    siblings = list(_siblings(target))
    for new in siblings:
        journal = _journal(new)
        if journal is not None and _sibling(target, "old", journal["token"]).is_dir():
            new.replace(target)
            return
    for old in siblings:
        if not (old / _JOURNAL).exists() and (old / MANIFEST).exists():
            old.replace(target)
            return


def _journal(folder: Path) -> dict[str, Any] | None:
    """Return the journal of a complete folder, or None; one that leads elsewhere is not ours."""
    try:
        journal = json.loads((folder / _JOURNAL).read_bytes())
        token, foreign = journal["token"], [PurePosixPath(name) for name in journal["foreign"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    inside = not any(name.is_absolute() or ".." in name.parts for name in foreign)
    return journal if inside and isinstance(token, str) and re.fullmatch(_TOKEN, token) else None


def _drop(left: Path) -> None:
    """Remove a folder that never got in place. The journal goes last: without it, it would look like an old folder."""
    for entry in left.iterdir():
        if entry.name == _JOURNAL:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    (left / _JOURNAL).unlink(missing_ok=True)
    left.rmdir()


def _sibling(target: Path, state: str, token: str) -> Path:
    return target.with_name(f".{target.name}.sknc-{state}-{token}")


def _siblings(target: Path) -> list[Path]:
    """Return the folders that writes of this output folder left beside it."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.sknc-(new|old)-{_TOKEN}")
    try:
        with os.scandir(target.parent) as entries:
            return sorted(Path(each.path) for each in entries if pattern.fullmatch(each.name))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def _cannot_write(target: Path, error: OSError) -> EnvironmentProblem:
    reason = error.strerror or str(error)
    return EnvironmentProblem(f"cannot write {target}: {reason}", "name another folder with -o")
