"""manifest.json: what is in an output folder, and from which script."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sknc._version import __version__
from sknc.errors import EnvironmentProblem, UnknownSchema

MANIFEST = "manifest.json"
SCHEMA = 1
_PARTS: dict[str, type] = {"sknc": str, "source": dict, "blocks": list, "files": dict}


def build_manifest(
    source_file: str,
    source: bytes,
    blocks: Sequence[Mapping[str, Any]],
    files: Mapping[str, bytes],
    lines: Mapping[str, Any] | None = None,
) -> bytes:
    """Write a manifest.

    Args:
        source_file: the script; only its name is kept, so that a folder is the same wherever it was made.
        source: the script's bytes.
        blocks: one JSON object a block.
        files: every other file of the folder.
        lines: for programs that belong to no one block, which of their lines are which of the script.

    Returns:
        The manifest's bytes, which depend on nothing but the arguments and the version of sknc.
    """
    content = {
        "schema": SCHEMA,
        "sknc": __version__,
        "source": {"file": Path(source_file).name, "sha256": _sha256(source)},
        "blocks": list(blocks),
        **({"lines": dict(lines)} if lines else {}),
        "files": {name: _sha256(files[name]) for name in sorted(files) if name != MANIFEST},
    }
    return (json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the manifest of an output folder.

    Args:
        folder: the output folder.

    Returns:
        The manifest: "schema", "sknc", "source", "blocks", "files".

    Raises:
        UnknownSchema: it was written by an sknc that uses another schema.
        EnvironmentProblem: there is none, or it is damaged.
    """
    path = Path(folder) / MANIFEST
    hint = "name a folder that `sknc split` wrote"
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        what = "is not an output folder of sknc" if Path(folder).exists() else "does not exist"
        raise EnvironmentProblem(f"{folder} {what}: there is no {MANIFEST}", hint) from None
    except OSError as error:
        raise EnvironmentProblem(f"cannot read {path}: {error.strerror}") from None
    return parse_manifest(content, str(path))


def parse_manifest(content: bytes, name: str = MANIFEST) -> dict[str, Any]:
    """Read a manifest's bytes; `name` is for messages. Raises as `read_manifest` does."""
    try:
        manifest = json.loads(content)
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict) or "schema" not in manifest or "sknc" not in manifest:
        raise EnvironmentProblem(f"{name} is not a manifest of sknc", "split the script again, into a new folder")
    if manifest["schema"] != SCHEMA:
        raise UnknownSchema(
            f"{name} has schema {manifest['schema']!r}, written by sknc {manifest['sknc']};"
            f" sknc {__version__} knows schema {SCHEMA}",
            "use the sknc that wrote it, or split the script again into a new folder",
        )
    for part, kind in _PARTS.items():
        if not isinstance(manifest.get(part), kind):
            raise EnvironmentProblem(f"{name} is damaged: its {part!r} is missing or malformed")
    return manifest


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
