"""Notebooks as scripts: their code cells in order."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from sknc.errors import InputProblem, MissingExtra
from sknc.ipython import python_lines
from sknc.script.cells import HEADER

# What IPython defines in every notebook, for programs that run without it.
_FALLBACKS = {
    "display": "def display(*shown, **_): print(*shown)  # in place of IPython's",
    "get_ipython": "def get_ipython(): return None  # as outside IPython",
}
# Lines with another encoding in a cell would be obeyed by Python; the first such line counts.
_FIRST = "# coding: utf-8\n"


def as_script(content: bytes, name: str) -> bytes:
    """Turn a notebook into a script.

    Args:
        content: the bytes of the .ipynb file.
        name: the file, for messages.

    Returns:
        The code cells as UTF-8, each behind a line `# %% cell N` with its number among all cells. What only IPython
        understands is Python or a comment, line by line; `display` and `get_ipython` are defined where they are used.

    Raises:
        MissingExtra: nbformat is not installed.
        InputProblem: the file is no notebook.
    """
    try:
        import nbformat
    except ImportError:
        raise MissingExtra("notebook", "reading a notebook", "nbformat") from None
    try:
        book = nbformat.reads(content.decode("utf-8"), as_version=4)
        cells = [(n, cell["source"]) for n, cell in enumerate(book["cells"], 1) if cell["cell_type"] == "code"]
    except Exception as error:  # noqa: BLE001  # nbformat raises whatever its parsers raise
        raise InputProblem(f"{name} is not a notebook: {error}", "save it again with Jupyter") from None
    texts = ["\n".join([HEADER.format(number), *python_lines(cell), "", ""]) for number, cell in cells]
    return _with_fallbacks(texts).encode()


def _with_fallbacks(texts: list[str]) -> str:
    """Join cells, and define what they use of IPython's names."""
    script = "".join(texts)
    needed = [line for name, line in _FALLBACKS.items() if name in script and _is_undefined(script, name)]
    if needed:
        # Imports from __future__ have to stay the first statements.
        futures = [at for at, text in enumerate(texts, 1) if re.search(r"^from __future__ ", text, re.MULTILINE)]
        at = max(futures, default=0)
        texts = [*texts[:at], *(f"{line}\n" for line in needed), "\n", *texts[at:]]
    return _FIRST + "".join(texts)


def _is_undefined(script: str, name: str) -> bool:
    """Say whether a script uses a name that it gives no meaning to."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = list(ast.walk(ast.parse(script)))
    except (SyntaxError, ValueError, RecursionError):
        return False  # told where the script is read
    return any(_names(node, name, True) for node in nodes) and not any(_names(node, name, False) for node in nodes)


def _names(node: Any, name: str, used: bool) -> bool:
    """Say whether a node uses a name, or else defines it."""
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Load) == used
    if used:
        return False
    if isinstance(node, ast.alias):
        return name == (node.asname or node.name.partition(".")[0])
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").startswith("IPython") and node.names[0].name == "*"
    if isinstance(node, ast.arg):
        return node.arg == name
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name
