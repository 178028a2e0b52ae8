"""What can keep a task from being cut as it was asked for (SKN3xx)."""

from __future__ import annotations

from sknc.diagnostics._registry import rule

_BLOCK = "#SKYNNET:BEGIN_{}\n{}\n#SKYNNET:END\n"

OTHER_COUNT = rule(
    "SKN301",
    "info",
    "another number of submodels",
    "{requested} submodels were asked for, {taken} are made: {why}",
    "{hint}",
    why="Every two groups of classes make a submodel, so M is 1, 3, 6, 10, 15, 21, 28, ... (section 3.1 of the Skynnet"
    " paper); a binary task is always cut in two (3.2).",
)
NOT_CUT = rule(
    "SKN302",
    "error",
    "a task that cannot be cut",
    "{problem}",
    "{hint}",
    wrong=_BLOCK.format("MULTICLASS", "model.add(Dense(2, activation='softmax'))"),
    right=_BLOCK.format("BINARYCLASS", "model.add(Dense(2, activation='softmax'))"),
)
SCALAR = rule(
    "SKN303",
    "error",
    "a regression with one output",
    "this regression has a single output, which cannot be cut into {requested} parts",
    "train it whole with -m 1 (--budget keeps its memory small), or let the network give several values",
    why="Each submodel of a regression learns a part of the output (section 3.3).",
    wrong=_BLOCK.format("REGRESSION", "model.add(Dense(1))"),
    right=_BLOCK.format("REGRESSION", "model.add(Dense(24))"),
)
NARROW = rule(
    "SKN304",
    "error",
    "fewer outputs than submodels",
    "{width} outputs cannot be cut into {requested} parts",
    "ask for {width} submodels or fewer: -m {width}",
)
NOT_BINARY = rule(
    "SKN305",
    "error",
    "a binary block with more than two outputs",
    "a binary network has one output (sigmoid) or two (softmax), not {width}",
    "mark the block MULTICLASS, or REGRESSION where the outputs are independent labels",
    wrong=_BLOCK.format("BINARYCLASS", "model.add(Dense(10, activation='softmax'))"),
    right=_BLOCK.format("MULTICLASS", "model.add(Dense(10, activation='softmax'))"),
)
BAD_RULE = rule(
    "SKN306",
    "error",
    "a composition that does not fit the kind",
    "'{rule}' does not compose {kind} submodels",
    "{hint}",
)
NOT_REDUCED = rule(
    "SKN307",
    "warning",
    "a network whose layers all keep their size",
    "no layer of this network is narrowed: {reason}",
    "the submodels train on less data, but are as large as the original",
)
CAPPED = rule(
    "SKN308",
    "info",
    "a factor that is capped",
    "widths are divided by {used} instead of {factor}, so that the smallest layer keeps 2",
    "ask for fewer submodels to keep factor and widths together",
)
KEEP_OUTPUT = rule(
    "SKN309",
    "error",
    "an output layer marked to keep its size",
    "the output layer cannot keep its size: each submodel has outputs of its own",
    "remove #SKYNNET:KEEP from this line",
)
PATCHES = rule(
    "SKN310",
    "info",
    "image-shaped outputs",
    "the {requested} submodels give patches of a grid of {rows} x {columns}",
    "nothing needs to be done",
)
