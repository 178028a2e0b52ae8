"""Edits of paths: what a submodel saves goes to a place of its own, and is read back from there."""

from __future__ import annotations

from sknc.rewrite.text import Edit, wrap
from sknc.rewrite.training import function_edit, method_edits, sites
from sknc.script.files import own_files, path_node
from sknc.script.reading import BlockReading
from sknc.script.source import Source


def reading_edits(source: Source, reading: BlockReading) -> list[Edit]:
    """Let the runtime answer whether a file of the block's own exists, and load it."""
    found: list[Edit] = []
    for event in sites(own_files(source, reading.events)):
        if event.what == "exists" and event.name == "method":
            found += method_edits(source, event.node, "skn_runtime.exists")
        elif event.what == "exists":
            found.append(function_edit(source, event.node, "skn_runtime.exists"))
        elif event.what == "read":
            node = path_node(event)
            found += wrap(*source.span(node), "skn_runtime.load(", ")") if node is not None else []
        elif event.what == "load":
            found.append(function_edit(source, event.node, "skn_runtime.load_model"))
        else:
            found += method_edits(source, event.node, "skn_runtime.load_weights")
    return found


def late_edits(source: Source, reading: BlockReading) -> list[Edit]:
    """Let the composer's code behind the block take the composed model for a file that the training wrote."""
    found: list[Edit] = []
    for event in sites(event for event in reading.late if event.what in ("load", "weights")):
        if event.what == "load":
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
