"""What `sknc split` tells when it is done."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sknc.runtime.memory.units import format_size

Block = Mapping[str, Any]


def show_summary(blocks: Sequence[Block], folder: str, written: bool, budget: int | None = None) -> None:
    """Print one table a block, and what to do next.

    Args:
        blocks: what the manifest says about each block.
        folder: the output folder, as it was named.
        written: False when the folder held just these files already.
        budget: bytes that each program may hold while it trains, None for no bound.
    """
    # In a file there is no edge of the screen that would fold long names.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    for block in blocks:
        console.print(_table(block, len(blocks) > 1, budget))
    programs = sum(len(block["programs"]) for block in blocks)
    many = f"{programs} submodel program{'s' if programs > 1 else ''}"
    done = f"{many} written to {folder}" if written else f"{folder} was up to date: {many}"
    console.print(Text(done), soft_wrap=True)
    console.print(Text(f"next: sknc run {folder}"), soft_wrap=True)


def _table(block: Block, numbered: bool, budget: int | None) -> Table:
    """Return a block's decisions: M, G, F, what is composed how, and every width that changed."""
    title = f"block {block['index'] + 1}: {_task(block)}" if numbered else _task(block)
    table = Table(title=title, title_justify="left", show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column()
    for name, value in _decisions(block):
        table.add_row(Text(name), Text(value))
    if budget is not None:
        table.add_row(Text("budget"), Text(f"{format_size(budget)} for each training; planned when it runs first"))
    for layer, old, new in _widths(block):
        table.add_row(Text(f"  {layer}"), Text(f"{old} -> {new}" if str(old) != new else f"{old} (kept)"))
    return table


def _task(block: Block) -> str:
    """Name the kind of task, and how many classes it has."""
    kind = str(block["kind"]).replace("_", " ")
    classes = block.get("classes")
    return f"{kind}, {classes} classes" if isinstance(classes, int) and kind == "multiclass" else kind


def _decisions(block: Block) -> list[tuple[str, str]]:
    """Return M, G, F and the programs, in words."""
    taken, asked = block["submodels"], block.get("requested")
    rows = [("submodels", f"{taken}" if asked in (None, taken) else f"{taken} ({asked} were asked for)")]
    groups = block.get("groups") or []
    if groups:
        sizes = ", ".join(str(len(group)) for group in groups[:12]) + (" ..." if len(groups) > 12 else "")
        rows.append(("groups", f"{len(groups)} of {sizes} classes"))
    factor, used = block.get("factor"), block.get("width_factor")
    if factor is not None:
        capped = f"; widths by {used:g}" if used is not None and used != factor else ""
        rows.append(("factor", f"{factor:g}{capped}"))
    rule = f"{block.get('compose')}, in" if len(block["programs"]) > 1 else "what is one program as it is:"
    rows.append(("composed by", f"{rule} {block.get('composer')}"))
    files = [program["file"] for program in block["programs"]]
    rows.append(("programs", files[0] if len(files) == 1 else f"{files[0]} ... {files[-1]}"))
    return rows


def _widths(block: Block) -> list[tuple[str, str, str]]:
    """Return each layer's width in the script and in the submodels; those may differ where groups do."""
    found: dict[str, tuple[Any, list[Any]]] = {}
    for program in block["programs"]:
        for layer, (old, new) in program.get("widths", {}).items():
            news = found.setdefault(layer, (old, []))[1]
            if new not in news:
                news.append(new)
    return [(layer, str(old), _range(news)) for layer, (old, news) in found.items()]


def _range(values: list[Any]) -> str:
    """Return "5", "4 to 6", or the expressions themselves."""
    if len(values) > 1 and all(isinstance(value, int) for value in values):
        return f"{min(values)} to {max(values)}"
    return ", ".join(str(value) for value in values)
