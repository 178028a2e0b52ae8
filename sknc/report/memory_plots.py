"""Pictures of a memory report, drawn with matplotlib (the extra `plot`)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sknc.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MIB = 2**20
PICTURES = ("memory", "tensors", "types", "pools")
_COLORS = {
    "baseline": "#888888",
    "liveness": "#1f5fa8",
    "offload": "#c8651b",
    "recompute": "#2c8a4b",
    "plan": "#7b3fa0",
}


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, apart from any window system.

    Args:
        width: inches.
        height: inches.

    Returns:
        The figure.

    Raises:
        MissingExtra: when matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("plot", "a picture of a memory plan", "matplotlib") from error
    return Figure(figsize=(width, height), layout="constrained")


def draw(report: Mapping[str, Any], picture: str) -> Figure:
    """Draw one picture of a report.

    Args:
        report: what `sknc memplan --format json` writes, of one training step.
        picture: one of PICTURES.

    Returns:
        The figure.
    """
    drawers = {"memory": _memory, "tensors": _tensors, "types": _types, "pools": _pools}
    figure = new_figure(10, 4.2)
    drawers[picture](figure.subplots(), report)
    return figure


def svg(figure: Figure) -> str:
    """A figure as an SVG element to put into a page.

    Args:
        figure: the figure.

    Returns:
        The text from `<svg` on.
    """
    target = io.StringIO()
    figure.savefig(target, format="svg", metadata={"Date": None})
    text = target.getvalue()
    return text[text.index("<svg") :]


def save_picture(report: Mapping[str, Any], path: Path) -> None:
    """Write the picture of memory by step; the file's suffix says how.

    Args:
        report: what `sknc memplan --format json` writes; of several programs the first is drawn.
        path: a file that ends in .png or .svg.
    """
    one = report.get("programs", [report])[0]
    draw(one, "memory").savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)


def _steps(axes: Axes, report: Mapping[str, Any]) -> list[int]:
    numbers = [step["step"] for step in report["steps"]]
    forward = sum(step["pass"] == "forward" for step in report["steps"])
    axes.axvline(forward + 0.5, color="#bbbbbb", linewidth=1)
    axes.set_xlabel(f"step (forward 1 to {forward}, then backward)")
    axes.set_xlim(1, max(2, len(numbers)))
    return numbers


def _curves(report: Mapping[str, Any], key: str) -> dict[str, list[int]]:
    steps = report["steps"]
    curves = {"liveness": [step[key] for step in steps]}
    for name in ("offload", "recompute", "plan"):
        if steps and name in steps[0]:
            curves[name] = [step[name][key] for step in steps]
    return curves


def _memory(axes: Axes, report: Mapping[str, Any]) -> None:
    numbers = _steps(axes, report)
    base = report["peaks"]["baseline"]["bytes"] / MIB
    axes.axhline(base, color=_COLORS["baseline"], label=f"baseline {base:.0f}")
    for name, values in _curves(report, "live_bytes").items():
        most = max(values, default=0) / MIB
        axes.plot(numbers, [value / MIB for value in values], color=_COLORS[name], label=f"{name} {most:.0f}")
    axes.axhline(
        report["layer_max"] / MIB,
        color="black",
        linestyle=":",
        label=f"largest layer {report['layer_max'] / MIB:.0f}",
    )
    plan = report.get("plan")
    if plan is not None:
        fixed = report["predicted_peak"] - report["peaks"]["liveness"]["bytes"]
        left = (plan["budget"]["device"] - fixed) / MIB
        if left > 0:
            axes.axhline(left, color="red", linestyle="--", label=f"budget for data {left:.0f}")
    axes.set_ylabel("data tensors, MiB")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)


def _tensors(axes: Axes, report: Mapping[str, Any]) -> None:
    numbers = _steps(axes, report)
    for name, values in _curves(report, "live_tensors").items():
        axes.plot(numbers, values, color=_COLORS[name], label=name)
    axes.axhline(report["peaks"]["baseline"]["live_tensors"], color=_COLORS["baseline"], label="baseline")
    axes.set_ylabel("live tensors")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)


def _types(axes: Axes, report: Mapping[str, Any]) -> None:
    rows = report["types"][:12][::-1]
    sizes = sum(row["bytes"] for row in report["types"]) or 1
    work = sum(row["forward_flops"] for row in report["types"]) or 1
    places = list(range(len(rows)))
    axes.barh(
        [place + 0.2 for place in places],
        [100 * row["bytes"] / sizes for row in rows],
        height=0.38,
        color=_COLORS["liveness"],
        label="bytes",
    )
    axes.barh(
        [place - 0.2 for place in places],
        [100 * row["forward_flops"] / work for row in rows],
        height=0.38,
        color=_COLORS["offload"],
        label="forward work",
    )
    axes.set_yticks(places, [row["type"] for row in rows])
    axes.set_xlabel("% of all")
    axes.legend(fontsize=8)


def _pools(axes: Axes, report: Mapping[str, Any]) -> None:
    numbers = _steps(axes, report)
    fixed = report["predicted_peak"] - report["peaks"]["liveness"]["bytes"]
    planned = bool(report["steps"]) and "plan" in report["steps"][0]
    held = [step["plan"]["live_bytes"] if planned else step["live_bytes"] for step in report["steps"]]
    axes.plot(numbers, [(value + fixed) / MIB for value in held], color=_COLORS["plan"], label="device")
    for pool, color in (("host", _COLORS["offload"]), ("disk", _COLORS["recompute"])):
        values = [step["plan"][f"{pool}_bytes"] if planned else 0 for step in report["steps"]]
        axes.plot(numbers, [value / MIB for value in values], color=color, label=pool)
    axes.set_ylabel("held in the pool, MiB")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
