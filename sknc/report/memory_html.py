"""The memory report as one self-contained HTML file: pictures inline, no scripts, nothing fetched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sknc.report.memory_plots import PICTURES, draw, svg
from sknc.report.memory_text import TITLES, what_to_do
from sknc.runtime.memory.units import format_size

_CAPTIONS = {
    "memory": "Memory of the data tensors by step: baseline, liveness, offload, recomputation and the limits.",
    "tensors": "Live tensors by step.",
    "types": "Share of bytes and of forward work by layer type.",
    "pools": "What each pool holds over time, parameters and all else included.",
}


def memory_html(report: Mapping[str, Any]) -> str:
    """The page for a memory report.

    Args:
        report: what `sknc memplan --format json` writes.

    Returns:
        The text of an HTML file.

    Raises:
        MissingExtra: when matplotlib is not installed.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(size=format_size, advice=what_to_do, pictures=_pictures, layers=_layers)
    template = environment.get_template("memory.html.j2")
    return template.render(target=report["target"], programs=report.get("programs", [report]), titles=TITLES)


def _pictures(report: Mapping[str, Any]) -> list[tuple[str, Markup]]:
    # The SVG is matplotlib's own, with every text in it escaped by matplotlib.
    return [(_CAPTIONS[name], Markup(svg(draw(report, name)))) for name in PICTURES]


def _layers(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a layer: its forward step and its backward step."""
    backward = {step["layer"]: step for step in report["steps"] if step["pass"] == "backward"}
    return [
        {
            "layer": step["layer"],
            "type": step["type"],
            "made": step["made_bytes"],
            "forward": step,
            "backward": backward[step["layer"]],
        }
        for step in report["steps"]
        if step["pass"] == "forward"
    ]
