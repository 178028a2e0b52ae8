"""What goes into a folder besides the programs: the runtime, the manifest, and what templates make."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sknc.emit._manifest import MANIFEST, build_manifest
from sknc.errors import EnvironmentProblem

if TYPE_CHECKING:
    import jinja2

_PACKAGE = Path(__file__).resolve().parent.parent
RUNTIME = "skn_runtime"


def assemble(
    programs: Mapping[str, bytes],
    blocks: Sequence[Mapping[str, Any]],
    source_file: str,
    source: bytes,
    lines: Mapping[str, Any] | None = None,
) -> dict[str, bytes]:
    """Complete a compilation to the files of an output folder.

    Args:
        programs: the programs, by name.
        blocks: what the manifest says about each block.
        source_file: the script.
        source: the script's bytes.
        lines: see `build_manifest`.

    Returns:
        Programs, runtime and manifest.
    """
    files = {**programs, **runtime_files()}
    files[MANIFEST] = build_manifest(source_file, source, blocks, files, lines)
    return files


def runtime_files() -> dict[str, bytes]:
    """Return the runtime that travels with the programs, byte for byte as it stands in sknc."""
    root = _PACKAGE / "runtime"
    found: dict[str, bytes] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            if not name.endswith((".pyc", ".pyo")):
                path = Path(folder, name)
                found[f"{RUNTIME}/{path.relative_to(root).as_posix()}"] = path.read_bytes()
    return found


def render_template(template: str, **values: object) -> str:
    """Fill in one of the templates.

    Args:
        template: its file name, e.g. "diagnostics.md.j2".
        **values: a value for every name in it; a name that is missing is an error, not a blank.

    Returns:
        The text, its final newline kept.
    """
    return _environment().get_template(template).render(**values)


@functools.cache
def _environment() -> jinja2.Environment:
    """Make the template environment; Jinja2 is loaded only where something is rendered."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_template_folder()),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # programs and Markdown, never HTML
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _template_folder() -> Path:
    """Return where the templates are: inside an installed package, at the top of a checkout."""
    for folder in (_PACKAGE / "_templates", _PACKAGE.parent / "templates"):
        if folder.is_dir():
            return folder
    raise EnvironmentProblem("the templates of sknc are missing", "install sknc again")
