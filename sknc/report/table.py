"""The table at the end of a run, and what is said about programs that failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sknc.engines import room
from sknc.engines.report import Report, Row, number
from sknc.report.compare import comparison
from sknc.report.progress import seconds

_STYLES = {"finished": "", "failed": "red", "stopped": "yellow", "waiting": "dim", "running": "dim"}
_WORDS = {"waiting": "not started", "running": "not finished"}


def show(report: Report, console: Console) -> None:
    """Print the table of a run.

    Args:
        report: the run's report.
        console: where to.
    """
    console.print(_table(report))
    if any(row.accuracy is not None or row.loss is not None for row in report.rows):
        note = "a submodel's accuracy and loss: on its own task, after its last epoch"
        console.print(Text(note, style="dim"), soft_wrap=True)
    for text in (*_planned_again(report), *_measured_on(report)):
        console.print(Text(text, style="dim"), soft_wrap=True)
    ratio = comparison(report)
    if ratio is not None:
        console.print(Text(str(ratio)), soft_wrap=True)


def show_failures(report: Report, console: Console) -> None:
    """Print, for each program that failed, why, the user's line, and the last lines of its log.

    Args:
        report: the run's report.
        console: where to.
    """
    for row in report.failures:
        attempts = "once" if row.attempts == 1 else f"{row.attempts} times"
        _line(console, f"{row.file} failed ({row.reason}; tried {attempts})", "bold red")
        if row.place is not None:
            _line(console, f"  at {row.place}")
        for text in row.tail:
            _line(console, f"  | {text}", "dim")
        _line(console, f"  all of it: {row.program.task.log}")


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style=style), soft_wrap=True)


def _table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    several = len(report.split.blocks) > 1
    status = any(row.status != "finished" for row in report.all_rows)
    peak = any(row.peak_bytes for row in report.all_rows)
    plan = any(row.planned_bytes for row in report.all_rows)
    names = ["program", "parameters", "seconds", "accuracy", "loss"]
    names += ["peak"] * peak + ["planned"] * plan + ["status"] * status
    for name in names:
        table.add_column(name, justify="left" if name in ("program", "status") else "right", no_wrap=True)
    for cells, style in _rows(report, several):
        table.add_row(*(cells[name] for name in names), style=style)
    return table


def _rows(report: Report, several: bool) -> Iterator[tuple[dict[str, str], str]]:
    for block in report.split.blocks:
        for row in report.rows_of(block):
            yield _cells(row.file, row), _STYLES[row.status]
        yield from _measured("composed", report.composed, block.index, several, _composer(report))
        if report.original is not None:
            yield from _measured("original", report.original_said, block.index, several, report.original)


def _planned_again(report: Report) -> Iterator[str]:
    """Yield a line for each program that was trained with a smaller plan than its budget allows."""
    for row in report.all_rows:
        if row.no_room is not None and row.status == "finished":
            planned = f", {room.size(row.planned_bytes)} planned" if row.planned_bytes is not None else ""
            yield f"{row.file}: {room.describe(row.no_room)}; trained with a smaller one{planned}"


def _measured_on(report: Report) -> Iterator[str]:
    """Yield what the composed models and the original were measured on, or why there is no figure."""
    several = len(report.split.blocks) > 1
    for block in report.split.blocks:
        where = f" (block {block.index + 1})" if several else ""
        who: dict[str, list[str]] = {}
        for name, said in (("composed", report.composed), ("original", report.original_said)):
            measures = block_measures(said, block.index)
            data = measures.get("data")
            if isinstance(data, str):
                figures = any(number(measures.get(key)) is not None for key in ("accuracy", "loss", "mse"))
                who.setdefault(f"measured on {data}" if figures else f"not measured: {data}", []).append(name)
        for what, names in who.items():
            yield f"{' and '.join(names)}{where}: {what}"


def _composer(report: Report) -> Row:
    """Return the composer that speaks for all: the first that is not finished, else the last."""
    rows = report.composer
    return next((row for row in rows if row.status != "finished"), rows[-1])


def _measured(
    name: str, said: Mapping[str, Any], index: int, several: bool, row: Row
) -> Iterator[tuple[dict[str, str], str]]:
    """Yield the row of the composed model or of the original, for one block."""
    measures = block_measures(said, index)
    label = f"{name} (block {index + 1})" if several else name
    cells = _cells(label, row)
    if name == "composed":
        # The composer trains nothing; its seconds are not comparable with any other.
        cells["seconds"] = ""
        cells["parameters"] = _whole(number(measures.get("parameters")))
    elif several:
        cells["seconds"] = _time(number(measures.get("seconds")))
        cells["parameters"] = _whole(number(measures.get("parameters")))
    else:
        cells["parameters"] = _whole(number(measures.get("parameters"))) or cells["parameters"]
    cells["accuracy"] = _measure(number(measures.get("accuracy"))) or (cells["accuracy"] if not several else "")
    cells["loss"] = _measure(number(measures.get("loss"))) or (cells["loss"] if not several else "")
    yield cells, "bold" if row.status == "finished" else _STYLES[row.status]


def block_measures(said: Mapping[str, Any], index: int) -> Mapping[str, Any]:
    """Return the measures of one block from what a composer or the original wrote.

    Args:
        said: its result.json; several blocks are in a list "blocks", each with its "block".
        index: the block.
    """
    blocks = said.get("blocks")
    if isinstance(blocks, list):
        for entry in blocks:
            if isinstance(entry, Mapping) and entry.get("block") == index:
                return entry
        return {}
    # Without a list it is of one block: the one that it names, or the only one.
    return said if said.get("block", index) == index else {}


def _cells(label: str, row: Row) -> dict[str, str]:
    return {
        "program": label,
        "parameters": _whole(row.parameters),
        "seconds": _time(row.seconds) if row.status in ("finished", "failed") else "",
        "accuracy": _measure(row.accuracy),
        "loss": _measure(row.loss),
        "peak": bytes_text(row.peak_bytes),
        "planned": bytes_text(row.planned_bytes),
        "status": _WORDS.get(row.status, row.status),
    }


def _whole(value: float | None) -> str:
    return "" if value is None else f"{int(value):,}"


def _time(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _measure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def bytes_text(value: int | None) -> str:
    """Return a number of bytes as people read it: "1.5 GiB"; "" for None."""
    if value is None:
        return ""
    size = float(value)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{value} bytes" if unit == "bytes" else f"{size:.1f} {unit}"


__all__ = ["block_measures", "bytes_text", "seconds", "show", "show_failures"]
