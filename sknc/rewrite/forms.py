"""The forms in which a block appears in programs: a submodel's, the composed one, the original."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from sknc.decompose.factor import reduce_epochs
from sknc.decompose.widths import Width
from sknc.rewrite import inputs, paths, training, widths
from sknc.rewrite.copies import copies, holds
from sknc.rewrite.layout import last_future
from sknc.rewrite.text import Edit, Hole, wrap
from sknc.script.files import own_files
from sknc.script.reading import BlockReading
from sknc.script.source import Source
from sknc.script.values import whole

BEGIN = "begin"
"""The hole that takes the call which begins a block."""


def submodel(
    source: Source,
    reading: BlockReading,
    decided: dict[int, Width],
    factor: float,
    epochs: float,
    output_known: bool,
    local: bool,
    patch: bool,
) -> tuple[list[Edit], training.Ending]:
    """Return the edits of a submodel's program in its block.

    Args:
        source: the script.
        reading: the block.
        decided: what becomes of each width; empty for the original at full width.
        factor: what widths are divided by.
        epochs: what epochs are divided by.
        output_known: see `widths.edits`.
        local: whether inputs are cut, too.
        patch: whether the output's Reshape is cut to the patch.

    Returns:
        The edits and where the program ends.
    """
    edits = widths.edits(source, reading, decided, factor, output_known) if decided else []
    edits += training.fit_edits(source, reading) + (training.look_edits(source, reading) if decided else [])
    edits += training.evaluation_edits(source, reading) if decided else []
    edits += epochs_edits(source, reading, epochs)
    edits += paths.reading_edits(source, reading) + paths.writing_edits(source, reading)
    if local:
        edits += inputs.edits(source, reading)
    if patch:
        edits += inputs.reshape_edits(source, reading)
    if reading.generator_node is not None:
        edits += wrap(*source.span(reading.generator_node), "skn_runtime.generator_classes(", ")")
    ending = training.ending(source, reading, own_files(source, reading.events))
    return _placed(source, reading, [*edits, *ending.edits]), ending


def composed(source: Source, reading: BlockReading) -> list[Edit]:
    """Return the edits of a block whose model is the composed one."""
    edits = training.composed_edits(source, reading) + paths.reading_edits(source, reading)
    return [*_placed(source, reading, [*edits, _end(source, reading, "")]), *paths.late_edits(source, reading)]


def original(source: Source, reading: BlockReading, last: bool) -> list[Edit]:
    """Return the edits of a block that trains the original, to compare with; the script ends with its last block."""
    edits = training.fit_edits(source, reading)
    edits += paths.reading_edits(source, reading) + paths.writing_edits(source, reading)
    return _placed(source, reading, [*edits, _end(source, reading, "; skn_runtime.finish()" if last else "")])


def _end(source: Source, reading: BlockReading, more: str) -> Edit:
    """The END marker's line measures what was composed."""
    names = "globals()"
    if any(isinstance(parent, cst.FunctionDef) for parent in reading.block.parents):
        names = "{**globals(), **locals()}"
    last = reading.block.statements[-1]
    if isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return):
        # Nothing behind a return is reached: what the function leaves with is measured before it does.
        at = source.span(last.body[-1])[0]
        return Edit(at, at, (f"skn_runtime.end({names}){more}; ",), 0)
    at = reading.block.end.start
    return Edit(at, at, (f"skn_runtime.end({names}){more}  ",))


def _placed(source: Source, reading: BlockReading, edits: Iterable[Edit]) -> list[Edit]:
    """Keep the edits that stand in the block, put copies of what stands elsewhere at its begin."""
    found = list(edits)
    begin = reading.block.begin.start
    start = Edit(begin, begin, (Hole(BEGIN), "  "))
    future = last_future(reading.block.statements)
    if future is not None:
        at = source.span(future)[1]
        start = Edit(at, at, ("; ", Hole(BEGIN)))
    inside = [e for e in found if begin <= e.start and e.end <= _reach(reading)]
    inside = [e for e in inside if not any(holds(source, d, e) for d in reading.reach)]
    return [start, *copies(source, reading, found), *inside]


def _reach(reading: BlockReading) -> int:
    return reading.block.end.end + 2  # the line end behind the marker, where `finish` may be put


def epochs_edits(source: Source, reading: BlockReading, factor: float) -> list[Edit]:
    """Divide the epochs of a block's trainings (Table 2, epochs)."""
    if factor <= 1:
        return []
    if reading.epochs_node is not None and reading.dialect:
        return _epochs(source, reading.epochs_node, None, factor)
    found: list[Edit] = []
    for event in training.sites(reading.fits):
        for name, position in (("epochs", 3), ("initial_epoch", 10)):
            node = event.args.node(name, position)
            values = {whole(e.args.get(name, position)) for e in reading.fits if e.node is event.node}
            if node is None or (name == "initial_epoch" and None in values):
                continue  # an epoch that comes from a history is one of the narrow training already
            found += _epochs(source, node, values.pop() if len(values) == 1 else None, factor)
    return found


def _epochs(source: Source, node: cst.BaseExpression, known: int | None, factor: float) -> list[Edit]:
    start, end = source.span(node)
    if isinstance(node, cst.Integer):
        known = int(node.evaluated_value)
    if known is not None:
        return [Edit(start, end, (str(reduce_epochs(known, factor)),))]
    return wrap(start, end, "skn_runtime.epochs(", f", {widths.number(factor)})")
