"""Pictures of a memory report, drawn with matplotlib (the extra `plot`)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sknc.errors import MissingExtra
from sknc.runtime.memory.units import format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PICTURES = ("memory", "tensors", "types", "pools")
_COLORS = {
    "baseline": "#888888",
    "liveness": "#1f5fa8",
    "offload": "#c8651b",
    "recompute": "#2c8a4b",
    "plan": "#7b3fa0",
}
# Curves often lie on each other: a later one is thinner, so that the one below shows.
_WIDTHS = {"liveness": 3.2, "offload": 2.2, "recompute": 1.4, "plan": 1.4}
_UNITS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "bytes"))
# Without a salt of its own matplotlib names the parts of an SVG at random: the same report would not be the same bytes.
_SVG = {"svg.hashsalt": "sknc"}


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
    check_plotting()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def check_plotting() -> None:
    """Refuse to draw where matplotlib is missing; a caller asks before it works for minutes.

    Raises:
        MissingExtra: when matplotlib is not installed.
    """
    try:
        import matplotlib.figure  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise MissingExtra("plot", "a picture of a memory plan", "matplotlib") from error


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
    axes = figure.subplots()
    drawers[picture](axes, report)
    axes.spines[["top", "right"]].set_visible(False)
    # Beside the axes, where it hides no curve.
    figure.legend(loc="outside right upper", fontsize=9, frameon=False)
    return figure


def svg(figure: Figure) -> str:
    """A figure as an SVG element to put into a page.

    Args:
        figure: the figure.

    Returns:
        The text from `<svg` on; of equal figures it is the same.
    """
    text = _image(figure, "svg").decode("utf-8")
    return text[text.index("<svg") :]


def picture_bytes(report: Mapping[str, Any], kind: str) -> bytes:
    """The picture of memory by step as a file's content.

    Args:
        report: what `sknc memplan --format json` writes; of several programs the first is drawn.
        kind: 'png' or 'svg'.

    Returns:
        The bytes of the file.
    """
    one = report.get("programs", [report])[0]
    figure = draw(one, "memory")
    figure.suptitle(f"{one['target']}, batch {one['batch']}", fontsize=11)
    return _image(figure, kind)


def _image(figure: Figure, kind: str) -> bytes:
    from matplotlib import rc_context

    target = io.BytesIO()
    with rc_context(_SVG):
        figure.savefig(target, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return target.getvalue()


def _scale(axes: Axes, title: str, most: int) -> int:
    """Label the axis of bytes in the unit that suits its largest value; returns the unit's bytes."""
    size, unit = next((size, unit) for size, unit in _UNITS if most >= size or size == 1)
    axes.set_ylabel(f"{title}, {unit}")
    axes.set_ylim(0, max(1.05 * most / size, 1))
    return size


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
    levels = {"baseline": (report["peaks"]["baseline"]["bytes"], _COLORS["baseline"], "-")}
    levels["largest layer"] = (report["layer_max"], "black", ":")
    plan = report.get("plan")
    if plan is not None:
        left = plan["budget"]["device"] - _fixed(report)
        if left > 0:
            levels["budget for data"] = (left, "red", "--")
    curves = _curves(report, "live_bytes")
    unit = _scale(axes, "data tensors", max(level for level, _, _ in levels.values()))
    for name, values in curves.items():
        label = f"{name}, peak {format_size(max(values, default=0))}"
        heights = [value / unit for value in values]
        axes.plot(numbers, heights, color=_COLORS[name], linewidth=_WIDTHS[name], label=label)
    for name, (level, color, style) in levels.items():
        axes.axhline(level / unit, color=color, linestyle=style, label=f"{name} {format_size(level)}")


def _fixed(report: Mapping[str, Any]) -> int:
    """Bytes that the device holds beside the data tensors, the reserve included."""
    return int(report["predicted_peak"] - report["peaks"]["liveness"]["bytes"])


def _tensors(axes: Axes, report: Mapping[str, Any]) -> None:
    numbers = _steps(axes, report)
    for name, values in _curves(report, "live_tensors").items():
        label = f"{name}, at most {max(values, default=0)}"
        axes.plot(numbers, values, color=_COLORS[name], linewidth=_WIDTHS[name], label=label)
    count = report["peaks"]["baseline"]["live_tensors"]
    axes.axhline(count, color=_COLORS["baseline"], label=f"baseline {count}")
    axes.set_ylabel("live tensors")
    axes.set_ylim(bottom=0)


def _types(axes: Axes, report: Mapping[str, Any]) -> None:
    rows = report["types"][:12][::-1]
    places = list(range(len(rows)))
    for key, shift, color, label in (
        ("bytes", 0.2, "liveness", "bytes"),
        ("forward_flops", -0.2, "offload", "forward work"),
    ):
        whole = sum(row[key] for row in report["types"]) or 1
        bars = axes.barh(
            [place + shift for place in places],
            [100 * row[key] / whole for row in rows],
            height=0.38,
            color=_COLORS[color],
            label=label,
        )
        axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=8)
    axes.set_yticks(places, [row["type"] for row in rows])
    axes.set_xlabel("% of all")
    axes.set_xlim(0, 107)


def _pools(axes: Axes, report: Mapping[str, Any]) -> None:
    numbers, fixed = _steps(axes, report), _fixed(report)
    lines: list[tuple[str, list[int], str, str]] = []
    if report["steps"] and "plan" in report["steps"][0]:
        held = [step["plan"] for step in report["steps"]]
        lines.append(("device", [entry["live_bytes"] + fixed for entry in held], "plan", "-"))
        lines.append(("host", [entry["host_bytes"] for entry in held], "offload", "--"))
        lines.append(("disk", [entry["disk_bytes"] for entry in held], "recompute", ":"))
    else:
        for name, values in _curves(report, "live_bytes").items():
            lines.append((f"device, {name}", [value + fixed for value in values], name, "-"))
        for name in ("offload", "recompute"):
            values = [step[name]["host_bytes"] for step in report["steps"]]
            lines.append((f"host, {name}", values, name, "--"))
    unit = _scale(axes, "held in the pool", max((max(values, default=0) for _, values, _, _ in lines), default=0))
    for name, values, color, style in lines:
        label = f"{name}, peak {format_size(max(values, default=0))}"
        heights = [value / unit for value in values]
        axes.plot(numbers, heights, style, color=_COLORS[color], linewidth=_WIDTHS[color], label=label)
