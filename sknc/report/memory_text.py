"""The memory report for a terminal: the summary, the largest steps, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sknc.runtime.memory.units import format_size

LARGEST = 10
TITLES = {
    "baseline": "baseline (nothing freed)",
    "liveness": "liveness",
    "offload": "+ offload and prefetch",
    "recompute": "+ recomputation (cost-aware)",
}


def show_memory(report: Mapping[str, Any], console: Console) -> None:
    """Print a memory report.

    Args:
        report: what `sknc memplan --format json` writes.
        console: where to.
    """
    for one in report.get("programs", [report]):
        _show_one(one, console)


def _show_one(report: Mapping[str, Any], console: Console) -> None:
    head = f"{report['target']}, batch {report['batch']}, {report['layers']} layers"
    _line(console, f"{head}, accounting {report['accounting']}, {report['optimizer']}", "bold")
    _line(
        console,
        f"one training step needs {format_size(report['predicted_peak'])} on the device"
        f" ({report['predicted_peak']} bytes)",
    )
    console.print(_holdings(report))
    console.print(_techniques(report))
    _line(console, f"the largest layer alone: {format_size(report['layer_max'])}")
    console.print(_largest_steps(report))
    for advice in what_to_do(report):
        _line(console, f"- {advice}")
    for note in report["notes"]:
        _line(console, f"note: {note}", "yellow")


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style=style), soft_wrap=True)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number == 0 else "right", no_wrap=True)
    return table


def _holdings(report: Mapping[str, Any]) -> Table:
    table = _table("beside the data tensors", "size")
    names = ("parameters", "gradients", "optimizer", "input_pipeline")
    for name in names:
        size = report[f"{name}_bytes"]
        if size:
            # TensorFlow frees a gradient as soon as it is applied; the paper's runtime keeps all.
            passing = name == "gradients" and report["accounting"] == "tensorflow"
            title = "gradients (each until it is applied)" if passing else name.replace("_", " ")
            table.add_row(title, format_size(size))
    table.add_row("reserve", format_size(report["reserve"]))
    return table


def _techniques(report: Mapping[str, Any]) -> Table:
    table = _table("data tensors", "peak", "of baseline", "at step", "tensors", "layer")
    whole = max(1, report["peaks"]["baseline"]["bytes"])
    for name, title in TITLES.items():
        peak = report["peaks"][name]
        step = report["steps"][peak["step"] - 1] if name != "baseline" else None
        where = f"{step['layer']} {step['pass']}" if step else ""
        share = f"{100 * peak['bytes'] / whole:.1f}%"
        at = str(peak["step"]) if step else ""
        table.add_row(title, format_size(peak["bytes"]), share, at, str(peak["live_tensors"]), where)
    return table


def _largest_steps(report: Mapping[str, Any]) -> Table:
    table = _table("largest steps", "pass", "step", "held", "tensors")
    ranked = sorted(report["steps"], key=lambda step: (-step["live_bytes"], step["step"]))
    for step in ranked[:LARGEST]:
        table.add_row(
            step["layer"],
            step["pass"],
            str(step["step"]),
            format_size(step["live_bytes"]),
            str(step["live_tensors"]),
        )
    return table


def what_to_do(report: Mapping[str, Any]) -> list[str]:
    """Advice from a report's figures.

    Args:
        report: what `sknc memplan --format json` writes.

    Returns:
        One sentence each.
    """
    peaks, advice = report["peaks"], []
    plain = peaks["liveness"]["bytes"]
    for strategy, title in (("cost", "cost-aware"), ("speed", "speed-centric")):
        found = report["recompute"][strategy]
        # A saving that rounding hides is none.
        if found["peak"] < plain and format_size(found["peak"]) != format_size(plain):
            advice.append(
                f"{title} recomputation runs {found['extra']} forward steps again and brings "
                f"the data tensors from {format_size(plain)} to {format_size(found['peak'])}"
            )
    advice += _about_plan(report.get("plan"))
    batches = report.get("max_batch")
    if batches:
        words = ", ".join(f"{name} {size}" for name, size in batches["largest"].items())
        advice.append(f"the largest batch within {format_size(batches['budget'])}: {words}")
    return advice


def _about_plan(plan: Mapping[str, Any] | None) -> list[str]:
    if plan is None:
        return ["--budget SIZE makes a plan that keeps to SIZE"]
    asked = format_size(plan["budget"]["device"])
    if not plan["feasible"]:
        smallest = plan["smallest_budget"]
        least = f"{format_size(smallest)} ({smallest} bytes)"
        return [f"{asked} cannot be kept; the smallest budget that can is {least}"]
    slower = 100 * plan["added_seconds"] / plan["step_seconds"] if plan["step_seconds"] else 0.0
    held = ", ".join(f"{format_size(plan['peaks'][pool])} on the {pool}" for pool in ("device", "host", "disk"))
    done = f"{plan['recomputed_layers']} layers recomputed, {format_size(plan['moved_bytes'])} moved"
    return [f"the plan keeps to {asked}: {held}; {done}, about {slower:.1f}% more time a step"]
