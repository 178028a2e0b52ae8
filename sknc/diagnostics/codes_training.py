"""What can be wrong with how a block trains its network, and with what happens to it afterwards (SKN2xx)."""

from __future__ import annotations

from sknc.diagnostics._registry import rule

_BLOCK = "#SKYNNET:BEGIN_MULTICLASS\n{}\n#SKYNNET:END\n"
_NET = "model = build({})\nmodel.compile('adam', 'sparse_categorical_crossentropy')\nmodel.fit(x, y)"
_INDENTED = "for units in (32, 64):\n    " + _NET.format("units").replace("\n", "\n    ")

TRAINED_AGAIN = rule(
    "SKN226",
    "error",
    "a line that trains several networks",
    "this line trains a new network each time: {how}",
    "let the script train one network: write one round without the loop, with that round's values, and mark it; for a"
    " k-fold evaluation or a search split a script for each round by itself",
    why="Each block becomes a set of submodels of one network. Where a loop builds and trains one in each round (the"
    " folds of a cross-validation, the sizes of a search), the programs could not know which round they belong to.",
    wrong=_BLOCK.format(_INDENTED),
    right="units = 64\n" + _BLOCK.format(_NET.format("units")),
)
OTHER_NAME = rule(
    "SKN227",
    "error",
    "training under another name",
    "'{name}' is the fit of a network here, called without the network's name",
    "call fit as a method of the model: model.fit(...)",
    why="The call of fit is replaced by one that trains the submodel. It has to stand where the model that it trains"
    " is named.",
    wrong=_BLOCK.format("train = model.fit\ntrain(x, y)"),
    right=_BLOCK.format("model.fit(x, y)"),
)
TAKEN_APART = rule(
    "SKN228",
    "error",
    "a trained network that is taken apart",
    "{what} the network that line {line} trained",
    "use the trained network as a whole: predict, evaluate and save work on it; the composition of submodels does not"
    " have the original's layers and weights",
    why="After a split the trained layers live in several narrow submodels. The composed network has one input and one"
    " output, as the original has, but none of its inner layers: none can be taken off or put on, and its"
    " weights fit no other network.",
    wrong=_BLOCK.format("model.fit(x, y)") + "model.pop()\nfeatures = model.predict(x)\n",
    right=_BLOCK.format("model.fit(x, y)") + "classes = model.predict(x)\n",
)
REMOVED_ARGUMENT = rule(
    "SKN229",
    "error",
    "an argument that Keras renamed",
    "{name}= is not an argument of {of} in Keras 3",
    "write {instead}=",
    why="Keras 1 spelled it so: the script does not run as it is, split or not.",
    wrong="model = keras.Model(input=x, output=y)\n",
    right="model = keras.Model(inputs=x, outputs=y)\n",
)
DEFAULT_CLASSES = rule(
    "SKN230",
    "info",
    "a number of classes from the command line",
    "the number of classes is {classes}, the default of {option}",
    "say it with --classes N, or classes=N behind the marker, if it is another",
    why="Programs run without command line arguments, so what the script reads from there takes its default.",
    wrong="parser.add_argument('--classes', type=int, default=10)\n",
    right="#SKYNNET:BEGIN_MULTICLASS classes=10\n",
)
OUTPUT_OUTSIDE = rule(
    "SKN235",
    "error",
    "an output layer that is written outside the block",
    "the output layer has to keep its size: {reason}",
    "move the lines that make it, or its size, into the block; a builder may stay outside if it is a function (def, not"
    " lambda) that the block calls by its name",
    why="Nothing outside a block is changed. The block gets narrowed copies of the functions and classes that it calls"
    " by their names; a lambda or a dictionary of settings has no such copy.",
    wrong="build = lambda: keras.Sequential([Dense(64), Dense(10, activation='softmax')])\n"
    + _BLOCK.format("model = build()"),
    right="def build():\n    return keras.Sequential([Dense(64), Dense(10, activation='softmax')])\n\n\n"
    + _BLOCK.format("model = build()"),
)
