"""The HTML report as a browser shows it: its pictures are there, nothing is fetched, nothing goes wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from sknc.cli import main
from sknc.report.memory_plots import PICTURES

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --window-size=1200,3000 --enable-logging=stderr"
).split()
# Set where the browser has to be there.
NEEDED = "SKNC_BROWSER_NEEDED"
# Written into the page's head, as the report has no script: nothing may be fetched, and whatever is tried is told.
LOOK = """<meta http-equiv="Content-Security-Policy"
content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<script>
const fetched = [];
addEventListener("securitypolicyviolation", (event) => fetched.push(event.blockedURI));
addEventListener("load", () => setTimeout(() => {
    const shown = [...document.querySelectorAll("img, svg")].map((element) => {
        const box = element.getBoundingClientRect();
        const drawn = element.checkVisibility() && (element.tagName !== "IMG" || element.naturalWidth > 0);
        return { x: box.x, y: box.y, width: box.width, height: box.height, drawn };
    });
    const found = document.createElement("pre");
    found.id = "found";
    found.textContent = JSON.stringify({ shown, fetched, text: document.body.innerText });
    document.body.append(found);
}));
</script>"""


@pytest.fixture(scope="module")
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        assert not os.environ.get(NEEDED), f"{NEEDED} is set, and none of {', '.join(BROWSERS)} is there"
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    return found


def opened(browser: str, page: Path, *more: str) -> tuple[str, list[str]]:
    """What the browser prints of a page, and the lines of its console."""
    profile = page.parent / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    done = subprocess.run(
        [browser, *OPTIONS, f"--user-data-dir={profile}", *more, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def look(browser: str, page: Path) -> tuple[dict[str, Any], list[str]]:
    """What a browser measures on a page, and its console."""
    looked = page.with_name("looked.html")
    looked.write_text(page.read_text(encoding="utf-8").replace("<head>", f"<head>{LOOK}"), encoding="utf-8")
    text, console = opened(browser, looked, "--dump-dom")
    match = re.search(r'<pre id="found">(.*?)</pre>', text, re.DOTALL)
    assert match, text[-2000:]
    found: dict[str, Any] = json.loads(unescape(match[1]))
    return found, console


def test_the_pictures_are_seen(browser: str, tmp_path: Path) -> None:
    from matplotlib import image

    page, seen = tmp_path / "report.html", tmp_path / "seen.png"
    arguments = ["memplan", "paper:alexnet", "--batch", "200", "--budget", "1.9GiB"]
    assert main([*arguments, "--format", "html", "-o", str(page)]) == 0
    found, console = look(browser, page)
    assert console == []
    assert found["fetched"] == []
    assert [entry["drawn"] for entry in found["shown"]] == [True] * len(PICTURES)
    assert all(entry["width"] > 600 and entry["height"] > 200 for entry in found["shown"])
    assert "POOL5 backward" in found["text"]
    # And they are painted: enough of each box has a colour.
    opened(browser, page, f"--screenshot={seen}")
    pixels = image.imread(seen)[:, :, :3]
    for entry in found["shown"]:
        left, top, width, height = (int(entry[name]) for name in ("x", "y", "width", "height"))
        box = pixels[top : top + height, left : left + width]
        coloured = (box.max(axis=2) - box.min(axis=2) > 0.2).mean()
        assert coloured > 0.002, entry


def test_the_look_finds_what_is_wrong_with_a_page(browser: str, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    images = '<img src="https://sknc.invalid/a.png"><img src="b.png"><svg width="0"></svg>'
    page.write_text(f"<!doctype html><head></head>{images}<script>nothing.at.all</script>")
    found, console = look(browser, page)
    assert [entry["drawn"] for entry in found["shown"]] == [False, False, True]
    assert found["shown"][2]["width"] == 0
    assert len(found["fetched"]) == 2
    assert any("nothing is not defined" in line for line in console)
