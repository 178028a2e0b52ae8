"""Files that a block writes and reads: which of them are its own."""

from __future__ import annotations

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


def own_files(source: Source, events: Iterable[Event]) -> list[Event]:
    """Return the events of a block that read files which the block writes itself."""
    every = list(events)
    written: set[str] = set()
    for event in every:
        if event.what in ("path", "writer"):
            written |= _keys(source, event)
    return [e for e in every if e.what in ("exists", "load", "weights", "read") and _keys(source, e) & written]
