"""Copies of the script's own modules, so that programs find them wherever the folder is."""

from __future__ import annotations

import ast
from pathlib import Path

from sknc.script.source import Source

_TAKEN = ("skn_runtime",)


def local_modules(script: Path, source: Source, taken: set[str]) -> dict[str, bytes]:
    """Return the modules beside a script that it imports, and those that they import.

    Args:
        script: the script.
        source: its text.
        taken: names of files that the folder holds already.

    Returns:
        The files by their name in the output folder, byte for byte.
    """
    found: dict[str, bytes] = {}
    todo = [(script, source.buffer)]
    while todo:
        place, text = todo.pop()
        for name in sorted(_imports(text)):
            for file in _files(script.parent, place.parent, name):
                key = file.relative_to(script.parent).as_posix()
                if key not in found and key not in taken and file != script and name not in _TAKEN:
                    found[key] = file.read_bytes()
                    todo.append((file, found[key]))
    return dict(sorted(found.items()))


def _imports(text: bytes) -> set[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names.add(module)
            names |= {f"{module}.{alias.name}" if module.strip(".") else module + alias.name for alias in node.names}
    return names


def _files(root: Path, here: Path, name: str) -> list[Path]:
    """The files that a module name stands for under the script's folder, its packages' own files first."""
    base = root
    if name.startswith("."):
        level = len(name) - len(name.lstrip("."))
        base = here
        for _ in range(level - 1):
            base = base.parent
        name = name.lstrip(".")
        if base != root and root not in base.parents:
            return []
    parts = [part for part in name.split(".") if part]
    files: list[Path] = []
    for index in range(1, len(parts) + 1):
        place = base.joinpath(*parts[:index])
        files += [place / "__init__.py", place.with_suffix(".py") if place.suffix == "" else place]
    return [file for file in files if file.is_file() and file.suffix == ".py"]
