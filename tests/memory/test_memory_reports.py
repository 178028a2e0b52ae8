"""Pictures and the HTML page."""

from __future__ import annotations

import builtins
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sknc.cli import main
from sknc.errors import MissingExtra
from sknc.memplan import Request, make_report
from sknc.report.memory_html import memory_html
from sknc.report.memory_plots import PICTURES, draw, svg

BUDGET = 17 * 2**30 // 10


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return make_report(Request("paper:alexnet", batch=200, device=BUDGET))


class _Page(HTMLParser):
    """Collects what a browser would fetch, and the tags."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href") and not (value or "").startswith(("#", "data:")):
                self.fetched.append(f"{tag} {value}")


def test_the_page_stands_alone_with_its_pictures(report: dict[str, Any]) -> None:
    text = memory_html(report)
    page = _Page()
    page.feed(text)
    assert page.fetched == []
    assert "script" not in page.tags
    assert page.tags.count("svg") == len(PICTURES)
    rows = text.count("<tr><td>")
    assert rows >= 23 + 5 + 4
    assert "1.45 GiB" in text


@pytest.mark.parametrize("picture", PICTURES)
def test_pictures_draw_what_the_report_says(report: dict[str, Any], picture: str) -> None:
    figure = draw(report, picture)
    element = ET.fromstring(svg(figure))
    assert element.tag.endswith("svg")
    axes = figure.axes[0]
    if picture == "memory":
        lines = {str(line.get_label()).split()[0].rstrip(","): line for line in axes.get_lines()}
        assert {"baseline", "liveness", "offload", "recompute", "plan", "largest", "budget"} <= set(lines)
        drawn: Any = lines["liveness"].get_ydata()
        assert axes.get_ylabel() == "data tensors, GiB"
        heights = [value * 2**30 for value in drawn]
        assert heights == [step["live_bytes"] for step in report["steps"]]
    if picture == "types":
        assert {label.get_text() for label in axes.get_yticklabels()} == {row["type"] for row in report["types"]}


def test_names_cannot_break_the_page() -> None:
    content = make_report(Request("paper:alexnet", batch=1))
    content["target"] = "<script>alert(1)</script>"
    content["notes"] = ["a <b> note"]
    text = memory_html(content)
    assert "<script>" not in text
    assert "a &lt;b&gt; note" in text


def test_pictures_are_written_by_suffix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    png, vector, page = (tmp_path / name for name in ("memory.png", "memory.svg", "memory.html"))
    for path in (png, vector):
        assert main(["memplan", "paper:alexnet", "--batch", "200", "-o", str(path)]) == 0
        assert "one training step needs" in capsys.readouterr().out
    assert main(["memplan", "paper:alexnet", "--batch", "200", "--format", "html", "-o", str(page)]) == 0
    assert png.read_bytes().startswith(b"\x89PNG")
    assert re.search(r"<svg[^>]*>", vector.read_text())
    assert page.read_text().startswith("<!doctype html>")


def test_without_a_format_the_suffix_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, data, picture = (tmp_path / name for name in ("memory.html", "memory.json", "memory.svg"))
    target = ["memplan", "paper:alexnet", "--batch", "2"]
    assert main([*target, "-o", str(page)]) == main([*target, "-o", str(data)]) == 0
    assert page.read_text().startswith("<!doctype html>")
    assert json.loads(data.read_text())["batch"] == 2
    capsys.readouterr()
    assert main([*target, "--format", "json", "-o", str(picture)]) == 0
    assert json.loads(capsys.readouterr().out)["batch"] == 2
    first = picture.read_bytes()
    assert main([*target, "-o", str(picture)]) == 0
    assert picture.read_bytes() == first


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = ["memplan", "paper:alexnet", "--batch", "2", "--format", "json", "-o"]
    assert main([*target, "/dev/full"]) == 2
    assert "'/dev/full' cannot be written: No space left" in capsys.readouterr().err
    real = tmp_path / "real.json"
    real.write_text("old")
    real.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(real)
    assert main([*target, str(link)]) == 0
    assert link.is_symlink()
    assert (json.loads(real.read_text())["batch"], real.stat().st_mode & 0o777) == (2, 0o640)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "real.json"]


def test_a_file_that_cannot_be_written_is_told_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text("open('ran', 'w')\n#SKYNNET:BEGIN_MULTICLASS\n#SKYNNET:END\n")
    for output, said in ((tmp_path / "no" / "plan.json", "there is no folder"), (tmp_path, "it is a folder")):
        assert main(["memplan", str(script), "-o", str(output)]) == 2
        assert said in capsys.readouterr().err
    assert not Path("ran").exists()


def test_small_models_are_drawn_in_a_unit_of_their_own(report: dict[str, Any]) -> None:
    assert draw(report, "memory").axes[0].get_ylabel() == "data tensors, GiB"
    small = make_report(Request("paper:vgg16", batch=1))
    small = {**small, "layer_max": 3000, "steps": small["steps"][:1]}
    small["peaks"] = {**small["peaks"], "baseline": {"bytes": 4000, "step": 1, "live_tensors": 1}}
    assert draw(small, "memory").axes[0].get_ylabel() == "data tensors, KiB"


def test_pools_without_a_plan_show_each_technique() -> None:
    content = make_report(Request("paper:alexnet", batch=200))
    legend = draw(content, "pools").legends[0]
    names = [text.get_text().split(", peak")[0] for text in legend.get_texts()]
    assert names == ["device, liveness", "device, offload", "device, recompute", "host, offload", "host, recompute"]
    assert max(step["offload"]["host_bytes"] for step in content["steps"]) > 0


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, report: dict[str, Any]) -> None:
    plain = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return plain(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtra, match=r"sknc\[plot\]"):
        draw(report, "memory")
