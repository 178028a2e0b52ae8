"""Each program's own place for what the user's code writes."""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import Any

from .context import Context, session

COMPOSER = "compose"


def _own(context: Context | None) -> bool:
    # The composer is the user's script with another model in it: what it writes goes where the script says.
    return context is not None and not (context.mode == "composed" and context.program.stem == COMPOSER)


def _inside(text: str) -> Path:
    """Returns a relative path without ways out, distinct for distinct places."""
    place = os.path.normpath(text)
    if os.path.isabs(place):
        here = os.getcwd()
        if os.path.commonpath([here, place]) == here:
            # os.path.join(os.getcwd(), "x") and "x" are one file in the script, so they are one here.
            place = os.path.relpath(place, here)
        else:
            place = os.path.join("_root", os.path.splitdrive(place)[1].lstrip("\\/"))
    parts = ["_up" if part == ".." else part for part in PurePath(place).parts]
    return Path(*parts) if parts else Path()


def own_path(context: Context, text: str) -> str:
    """Returns the place under a block's `out` folder that stands for a path of the script.

    Args:
        context: the block.
        text: a relative or absolute path; one that is already inside stays.
    """
    root = str(context.out)
    full = os.path.abspath(text)
    if full == root or full.startswith(root + os.sep):
        return text
    mapped = os.path.join(root, str(_inside(text)))
    return mapped + os.sep if text.endswith(("/", os.sep)) else mapped


def path(p: Any) -> Any:
    """Returns this program's own path for something that the user's code writes.

    Args:
        p: a str, bytes or Path; anything else (an open file, None) is returned as it is.

    Returns:
        A path of the same type under DIR/artifacts/<own>/out; its parent folder exists. In the composer,
        `p` itself.
    """
    context = session().current
    if context is None or not _own(context) or not isinstance(p, (str, bytes, os.PathLike)) or not p:
        return p
    given = os.fspath(p)
    mapped = own_path(context, os.fsdecode(given))
    Path(mapped if mapped.endswith(os.sep) else os.path.dirname(mapped)).mkdir(parents=True, exist_ok=True)
    if isinstance(p, bytes):
        return os.fsencode(mapped)
    return mapped if isinstance(p, str) else Path(mapped)


def load(p: Any) -> Any:
    """Returns the path to read `p` from: the program's own file where it wrote one, else `p` itself.

    Args:
        p: what `path` takes.
    """
    mine = path(p)
    if isinstance(mine, (str, bytes, os.PathLike)) and os.path.exists(mine):
        return mine
    return p
