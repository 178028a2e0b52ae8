"""Scripts as public tutorials write them: right widths, or a clear refusal at the right line.

The first lines of a script say what is expected: `# widths: 64->32 32->16*3` (in the order of the layers, `expr` where
the run decides) or `# refused: CODE text of the line`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sknc.pipeline import compile_script
from tests.script.helpers import errors

FOLDER = Path(__file__).resolve().parents[1] / "corpus" / "tutorials"
SCRIPTS = sorted(FOLDER.glob("*.py"))


def said(text: str, what: str) -> str | None:
    """Return what a script's first comments say under a word."""
    found = re.search(rf"^# {what}: (.*)$", text, re.MULTILINE)
    return None if found is None else found[1].strip()


def expanded(words: str) -> list[str]:
    """Return widths one by one: `32->16*3` stands for three layers."""
    found = []
    for word in words.split():
        width, _, times = word.partition("*")
        found += [width] * int(times or 1)
    return found


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_tutorial(path: Path) -> None:
    text = path.read_text("utf-8")
    made = compile_script(path, int((said(text, "split") or "").removeprefix("-m ")))
    refused = said(text, "refused")
    if refused is not None:
        first = errors(made)[0]
        code, _, line = refused.partition(" ")
        assert first.code == code
        assert text.splitlines()[first.span.line - 1].strip().startswith(line)
        assert first.hint
        assert not made.files
        return
    assert not errors(made), [d.message for d in errors(made)]
    for name, content in made.files.items():
        compile(content, name, "exec")
    widths = made.blocks[0]["programs"][0]["widths"].values()
    shown = [f"{a}->{b}" if isinstance(a, int) and isinstance(b, int) else "expr" for a, b in widths]
    assert shown == expanded(said(text, "widths") or "")


def test_there_are_scripts_of_both_sorts() -> None:
    texts = [path.read_text("utf-8") for path in SCRIPTS]
    assert sum(said(text, "widths") is not None for text in texts) > 25
    assert sum(said(text, "refused") is not None for text in texts) > 8
