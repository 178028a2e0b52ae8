"""What a program tells the person who runs it, each thing once."""

from __future__ import annotations

_told: set[str] = set()


def tell(message: str) -> None:
    """Prints a line that starts with `skynnet:`, unless the same was printed before.

    Args:
        message: one line of text.
    """
    if message not in _told:
        _told.add(message)
        print(f"skynnet: {message}", flush=True)
