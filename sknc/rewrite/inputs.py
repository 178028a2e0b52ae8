"""Edits of a local regression's input shape: `Input((64,))` becomes `Input((16,))` (Table 2, input dimension)."""

from __future__ import annotations

import libcst as cst

from sknc.rewrite.text import Edit, Hole, wrap
from sknc.rewrite.training import sites
from sknc.script.interpreter import Event
from sknc.script.reading import BlockReading
from sknc.script.source import Source
from sknc.script.values import Seq

PATCH = "patch"
"""The hole that takes the submodel's part and grid, as arguments of `skn_runtime.patch_shape`."""


def shape_node(event: Event) -> cst.BaseExpression | None:
    """Return the expression of an input shape."""
    position = 0 if event.name == "shape" else None
    for name in (event.name, "input_shape", "batch_shape", "batch_input_shape"):
        node = event.args.node(name, position)
        if node is not None:
            return node
    return None


ROWS, COLUMNS = "rows", "columns"
"""The holes that take the size of the submodel's patch."""


def reshape_edits(source: Source, reading: BlockReading) -> list[Edit]:
    """Return the edits of the Reshape that gives an image-shaped output: the size of the patch."""
    target = reading.output_reshape.args.get("target_shape", 0) if reading.output_reshape is not None else None
    if not isinstance(target, Seq):
        return []
    nodes = [node for node in target.nodes[-3:-1] if node is not None]
    return [Edit(*source.span(node), (Hole(name),)) for node, name in zip(nodes, (ROWS, COLUMNS), strict=True)]


def edits(source: Source, reading: BlockReading) -> list[Edit]:
    """Return the edits of a block's input shapes; each holds the hole `PATCH`."""
    found: list[Edit] = []
    for event in sites([e for e in reading.events if e.what == "input"]):
        node = shape_node(event)
        if node is not None:
            found += wrap(*source.span(node), "skn_runtime.patch_shape(", ", ", Hole(PATCH), ")")
    return found
