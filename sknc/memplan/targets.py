"""What a TARGET names."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from sknc.errors import UsageError

APPLICATIONS = "keras.applications."
PAPER = "paper:"
_CALLABLE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_HINT = (
    "write a marked script, a folder that `sknc split` made, module:callable, a .keras file, "
    "keras.applications.NAME or paper:NAME"
)


@dataclass(frozen=True, slots=True)
class Target:
    """A target.

    Attributes:
        kind: 'paper', 'application', 'callable', 'file', 'script' or 'folder'.
        name: the network, the application, module:callable or the path.
    """

    kind: str
    name: str


def read_target(text: str) -> Target:
    """Tell what a TARGET is.

    Args:
        text: as the user wrote it.

    Returns:
        The target.

    Raises:
        UsageError: when it is none, or the file is not there.
    """
    if text.startswith(PAPER):
        return Target("paper", text.removeprefix(PAPER))
    if text.startswith(APPLICATIONS):
        return Target("application", text.removeprefix(APPLICATIONS))
    path = Path(text)
    if path.is_dir():
        if not (path / "manifest.json").is_file():
            raise UsageError(f"'{text}' is a folder without a manifest.json", _HINT)
        return Target("folder", text)
    if path.suffix in (".keras", ".py"):
        if not path.is_file():
            raise UsageError(f"there is no file '{text}'", _HINT)
        if path.suffix == ".py":
            check_marked(path)
        return Target("file" if path.suffix == ".keras" else "script", text)
    if _CALLABLE.fullmatch(text):
        return Target("callable", text)
    raise UsageError(f"'{text}' is no target that can be planned", _HINT)


def check_marked(path: Path) -> None:
    """Refuse a script without a block.

    Args:
        path: the script.

    Raises:
        UsageError: when it cannot be read or has no marker; its status is 1, a finding in the input.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"'{path}' cannot be read: {error}") from error
    if not re.search(r"^\s*#+\s*SKYNNET\s*:\s*BEGIN", text, re.MULTILINE):
        raise UsageError(
            f"'{path}' has no block that trains a network",
            "mark it with #SKYNNET:BEGIN_MULTICLASS and #SKYNNET:END",
            status=1,
        )


def programs_of(folder: Path) -> list[Path]:
    """The submodel programs of a split folder.

    Args:
        folder: a folder that `sknc split` made.

    Returns:
        Their paths, in the manifest's order.

    Raises:
        UsageError: when the manifest cannot be read.
    """
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        found = [folder / program["file"] for block in manifest["blocks"] for program in block["programs"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"'{folder / 'manifest.json'}' is no manifest: {error}") from error
    if not found:
        raise UsageError(f"'{folder / 'manifest.json'}' names no program that could be planned")
    return found
