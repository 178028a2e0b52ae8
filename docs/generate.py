"""Write the pages of docs/ that are generated from the code: `make docs`."""

from __future__ import annotations

from pathlib import Path

from sknc.diagnostics import all_rules
from sknc.emit import render_template

HERE = Path(__file__).resolve().parent


def pages() -> dict[str, str]:
    """Return every generated page by its name."""
    return {"diagnostics.md": render_template("diagnostics.md.j2", rules=all_rules())}


def main() -> None:
    """Write the pages."""
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
