"""Write what the golden cases expect anew: `make golden`, or `python -m tests.golden.regenerate NAME...`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.golden.harness import cases, compile_case, outcome, read, render


def main(names: list[str]) -> None:
    """Write the cases with these names, or all."""
    for path in cases():
        if names and path.stem not in names:
            continue
        case = read(path)
        with tempfile.TemporaryDirectory() as folder:
            found = outcome(case, compile_case(case, Path(folder)), Path(folder))
        text = render(case, found).encode("utf-8")
        if text != path.read_bytes():
            path.write_bytes(text)
            print(f"written: {path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
