"""Files that a block writes and reads: which of them are its own."""

from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst

from sknc.script.interpreter import Event
from sknc.script.layers import FILE_WRITERS, WRITERS
from sknc.script.source import Source
from sknc.script.values import constant

_NAMES = ("filepath", "path", "filename", "file", "fname", "to_file", "path_or_buf", "name")


def path_node(event: Event) -> cst.BaseExpression | None:
    """Return the expression that names the path in a call that writes or reads one."""
    if event.what == "writer":
        return event.args.node(*WRITERS[event.name])
    position = FILE_WRITERS.get(event.name, 0)
    for name in _NAMES:
        if name in event.args.nodes:
            return event.args.nodes[name]
    return event.args.nodes.get(position)


def _keys(source: Source, event: Event) -> set[str]:
    """What identifies the path of an event: its text, and its value when that is known."""
    node = path_node(event)
    if node is None:
        return set()
    keys = {"text " + " ".join(source.text(node).split())}
    for position, one in event.args.nodes.items():
        if one is node:
            args = event.args
            value = constant(args.positional[position] if isinstance(position, int) else args.keywords[position])
            keys |= {f"value {value}"} if isinstance(value, str) else set()
    return keys


def own_files(source: Source, events: Iterable[Event], later: Iterable[Event] = ()) -> list[Event]:
    """Return the events of a block that read files which the block writes itself.

    Args:
        source: the script.
        events: of the block.
        later: events behind it, which may read such files as well.
    """
    every = list(events)
    written: set[str] = set()
    for event in every:
        if event.what in ("path", "writer"):
            written |= _keys(source, event)
    # Keras puts numbers into the braces of a checkpoint's name.
    patterns = [re.compile(_pattern(key)) for key in written if key.startswith("value ") and "{" in key]

    def own(event: Event) -> bool:
        keys = _keys(source, event)
        return bool(keys & written) or any(pattern.fullmatch(key) for pattern in patterns for key in keys)

    reads = ("exists", "load", "weights", "read")
    return [event for event in (*every, *later) if event.what in reads and own(event)]


def _pattern(key: str) -> str:
    return "".join("[^/]+" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{[^{}]*\})", key))
