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
    wrong="sknc split train.py -m 4  # 10 classes\n",
    right="sknc split train.py -m 3  # or 6, 10, 15, ...\n",
)
NOT_CUT = rule(
    "SKN302",
    "error",
    "a task that cannot be cut",
    "{problem}",
    "{hint}",
    why="Multiclass decomposition makes groups of classes, and needs three classes to make more than one"
    " pair of groups (section 3.1 of the Skynnet paper).",
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
    why="Each submodel of a regression learns a part of the output of its own, at least one value"
    " (section 3.3 of the Skynnet paper).",
    wrong="model.add(Dense(4))  # -m 6\n",
    right="model.add(Dense(4))  # -m 4\n",
)
NOT_BINARY = rule(
    "SKN305",
    "error",
    "a binary block with more than two outputs",
    "a binary network has one output (sigmoid) or two (softmax), not {width}",
    "mark the block MULTICLASS, or REGRESSION where the outputs are independent labels",
    why="Binary decomposition cuts the rows, not the classes, and takes the more certain of two submodels"
    " (section 3.2 of the Skynnet paper).",
    wrong=_BLOCK.format("BINARYCLASS", "model.add(Dense(10, activation='softmax'))"),
    right=_BLOCK.format("MULTICLASS", "model.add(Dense(10, activation='softmax'))"),
)
BAD_RULE = rule(
    "SKN306",
    "error",
    "a composition that does not fit the kind",
    "'{rule}' does not compose {kind} submodels",
    "{hint}",
    why="product and coupling put class probabilities together, certainty two binary submodels,"
    " concatenation the parts of a regression.",
    wrong="#SKYNNET:BEGIN_REGRESSION compose=product\n",
    right="#SKYNNET:BEGIN_REGRESSION\n",
)
NOT_REDUCED = rule(
    "SKN307",
    "warning",
    "a network whose layers all keep their size",
    "no layer of this network is narrowed: {reason}",
    "the submodels train on less data, but are as large as the original",
    why="Smaller submodels are what makes a split worthwhile. Where no layer can be narrowed, only the"
    " share of the data is smaller.",
    wrong="model.add(my_block(Dense(64)))  # what my_block does is not known\n",
    right="model.add(Dense(64))\n",
)
CAPPED = rule(
    "SKN308",
    "info",
    "a factor that is capped",
    "widths are divided by {used} instead of {factor}, so that the smallest layer keeps 2",
    "ask for fewer submodels to keep factor and widths together",
    why="The factor is capped so that the layers stay in proportion (section 3.1 of the Skynnet paper):"
    " AlexNet's smallest layer has 96 filters, so its factor is 48 at most.",
    wrong="model.add(Dense(6, 'relu'))  # -m 45: F is 5, but 6 / 5 would leave 2 of 6\n",
    right="model.add(Dense(10, 'relu'))\n",
)
KEEP_OUTPUT = rule(
    "SKN309",
    "error",
    "an output layer marked to keep its size",
    "the output layer cannot keep its size: each submodel has outputs of its own",
    "remove #SKYNNET:KEEP from this line",
    why="Every submodel answers for its own classes or values, so its output layer has their number of units.",
    wrong="model.add(Dense(10, 'softmax'))  #SKYNNET:KEEP\n",
    right="model.add(Dense(10, 'softmax'))\n",
)
PATCHES = rule(
    "SKN310",
    "info",
    "image-shaped outputs",
    "the {requested} submodels give patches of a grid of {rows} x {columns}",
    "nothing needs to be done",
    why="An image-shaped output is cut in patches, whose rows and columns are chosen so that the patches"
    " are square and alike.",
    wrong="outputs = Conv2D(3, 3, padding='same')(x)  # 32 x 32 x 3, -m 4\n",
    right="outputs = Conv2D(3, 3, padding='same')(x)  # patches of 16 x 16\n",
)
SOFTMAX_CUT = rule(
    "SKN311",
    "warning",
    "a softmax that is cut",
    "the output is a softmax: each submodel's part of it sums to one by itself, so that what is composed does not",
    "let the marker say MULTICLASS where the outputs are classes, or take another activation",
    why="Each submodel of a regression learns some of the outputs, with the activation that they have (section 3.3).",
    wrong=_BLOCK.format("REGRESSION", "model.add(Dense(10, activation='softmax'))"),
    right=_BLOCK.format("MULTICLASS", "model.add(Dense(10, activation='softmax'))"),
)
