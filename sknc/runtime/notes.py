"""What a program tells the person who runs it, each thing once."""

from __future__ import annotations

import sys

_told: set[str] = set()


def tell(message: str) -> None:
    """Prints a line that starts with `skynnet:`, unless the same was printed before.

    Args:
        message: one line of text.
    """
    if message not in _told:
        _told.add(message)
        sys.stdout.write(f"skynnet: {message}\n")
        sys.stdout.flush()
