"""Edits of paths: what a submodel saves goes to a place of its own, and is read back from there."""

from __future__ import annotations

import libcst as cst

from sknc.rewrite.text import Edit, wrap
from sknc.rewrite.training import function_edit, method_edits, sites
from sknc.script.interpreter import Event
from sknc.script.layers import WRITERS
from sknc.script.reading import BlockReading
from sknc.script.source import Source
from sknc.script.values import constant

_NAMES = ("filepath", "path", "filename", "file", "fname", "to_file", "path_or_buf", "name")


def path_node(event: Event) -> cst.BaseExpression | None:
    """Return the expression that names the path in a call that writes or reads one."""
    if event.what == "writer":
        return event.args.node(*WRITERS[event.name])
    position = event.args.positional and (1 if event.name in ("joblib.dump", "dump") else 0)
    for name in _NAMES:
        if name in event.args.nodes:
            return event.args.nodes[name]
    return event.args.nodes.get(position if isinstance(position, int) else 0)


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


def own(source: Source, reading: BlockReading) -> list[Event]:
    """Return the reading events of a block that concern files which the block writes itself."""
    written: set[str] = set()
    for event in reading.events:
        if event.what in ("path", "writer"):
            written |= _keys(source, event)
    return [e for e in reading.events if e.what in ("exists", "load", "weights") and _keys(source, e) & written]


def reading_edits(source: Source, reading: BlockReading) -> list[Edit]:
    """Let the runtime answer whether a file of the block's own exists, and load it."""
    found: list[Edit] = []
    for event in sites(own(source, reading)):
        if event.what == "exists" and event.name == "method":
            found += method_edits(source, event.node, "skn_runtime.exists")
        elif event.what == "exists":
            found.append(function_edit(source, event.node, "skn_runtime.exists"))
        elif event.what == "load":
            found.append(function_edit(source, event.node, "skn_runtime.load_model"))
        else:
            found += method_edits(source, event.node, "skn_runtime.load_weights")
    return found


def writing_edits(source: Source, reading: BlockReading) -> list[Edit]:
    """Give everything that the block's own code writes a path of the submodel's own."""
    found: list[Edit] = []
    for event in sites([e for e in reading.events if e.what == "path"]):
        node = path_node(event)
        if node is not None:
            found += wrap(*source.span(node), "skn_runtime.path(", ")")
    return found
