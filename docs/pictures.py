"""Draw the pictures of the README: `python -m docs.pictures`."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
BLUE, ORANGE, GREY = "#31688e", "#e07b39", "#777777"
_ROW = re.compile(r"\| (\w+)(?: M=(\d+))? \| ([\w, ]+) \| ([\d.]+) ± ([\d.]+) \|")


def split_picture() -> None:
    """Ten classes in four groups, six submodels of two groups each, one composed model (the paper's Figure 2)."""
    groups = [(0, 1), (2, 3, 4), (5, 6), (7, 8, 9)]
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    figure, axes = plt.subplots(figsize=(9, 3.4))
    axes.axis("off")
    box = {"boxstyle": "round,pad=0.35", "edgecolor": BLUE, "facecolor": "white"}
    for row, group in enumerate(groups):
        axes.text(0.5, 5.2 - row * 1.45, "classes " + " ".join(map(str, group)), ha="center", va="center", bbox=box)
    for row, pair in enumerate(pairs):
        y = 5.5 - row
        axes.text(4.2, y, f"submodel_{row:02d}.py", ha="center", va="center", bbox={**box, "edgecolor": ORANGE})
        for group in pair:
            axes.plot([1.35, 3.2], [5.2 - group * 1.45, y], color=GREY, linewidth=0.8, zorder=0)
        axes.annotate("", (6.9, 3.0), (5.2, y), arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 0.8})
    axes.text(7.9, 3.0, "compose.py:\none keras.Model\nof 10 classes", ha="center", va="center", bbox=box)
    axes.set_xlim(-0.8, 9)
    axes.set_ylim(0, 6.1)
    _save(figure, "split")


def composition_picture() -> None:
    """Accuracy of the original and of compositions, from the table in benchmarks.md."""
    found: dict[str, dict[tuple[int, str], tuple[float, float]]] = defaultdict(dict)
    section = (HERE / "benchmarks.md").read_text("utf-8").partition("## Composition")[2].partition("\n## ")[0]
    for match in _ROW.finditer(section):
        data, count, rule, mean, spread = match.groups()
        found[data][int(count or 1), rule] = (float(mean), float(spread))
    figure, every = plt.subplots(1, len(found), figsize=(9, 2.8), layout="constrained")
    for axes, (data, rows) in zip(every, found.items(), strict=True):
        mean, spread = rows[1, "original"]
        axes.axhspan(mean - spread, mean + spread, color=GREY, alpha=0.25, linewidth=0)
        axes.axhline(mean, color=GREY, label="original")
        for rule, colour in (("coupling", BLUE), ("product", ORANGE)):
            _line(axes, rule, colour, rows)
        axes.set_title(data, fontsize=10)
        axes.set_xticks([3, 6, 10])
        axes.set_xlabel("submodels M")
    every[0].set_ylabel("accuracy %")
    every[0].legend(fontsize=8, loc="lower left")
    _save(figure, "composition")


def _line(axes: Any, rule: str, colour: str, rows: dict[tuple[int, str], tuple[float, float]]) -> None:
    counts = [count for count in (3, 6, 10) if (count, rule) in rows]
    means = [rows[count, rule][0] for count in counts]
    spreads = [rows[count, rule][1] for count in counts]
    axes.errorbar(counts, means, spreads, color=colour, marker="o", markersize=3, capsize=2, label=rule)


def _save(figure: Any, name: str) -> None:
    # Without dates and random ids the files change only when the pictures do.
    mpl.rcParams["svg.hashsalt"] = "sknc"
    figure.savefig(HERE / "img" / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    split_picture()
    composition_picture()
