"""Notebooks as scripts: their code cells in order."""

from __future__ import annotations

from sknc.errors import InputProblem, MissingExtra

_HARMLESS_CELLS = ("%%time", "%%timeit", "%%capture")


def as_script(content: bytes, name: str) -> bytes:
    """Turn a notebook into a script.

    Args:
        content: the bytes of the .ipynb file.
        name: the file, for messages.

    Returns:
        The code cells as UTF-8, each behind a line `# %%`; lines for IPython (`%matplotlib`, `!pip`) become comments.

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
        cells = [cell["source"] for cell in book["cells"] if cell["cell_type"] == "code"]
    except Exception as error:  # noqa: BLE001  # nbformat raises whatever its parsers raise
        raise InputProblem(f"{name} is not a notebook: {error}", "save it again with Jupyter") from None
    return "".join(f"# %%\n{_plain(cell)}\n\n" for cell in cells).encode()


def _plain(cell: str) -> str:
    """Comment out what only IPython understands."""
    lines = cell.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and not first.startswith(_HARMLESS_CELLS):
        return "\n".join(f"# {line}" for line in lines)
    return "\n".join(f"# {line}" if line.lstrip().startswith(("%", "!")) else line for line in lines)
