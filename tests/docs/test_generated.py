"""The generated pages are those that the code makes now."""

from pathlib import Path

import pytest

from docs.generate import pages

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", pages())
def test_up_to_date(name):
    assert (DOCS / name).read_text(encoding="utf-8") == pages()[name], "run `make docs`"
