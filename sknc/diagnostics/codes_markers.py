"""What can be wrong with the comments that mark a block (SKN1xx)."""

from __future__ import annotations

from sknc.diagnostics._registry import rule

_RIGHT = """\
#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(10, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x_train, y_train, epochs=5)
#SKYNNET:END
"""

NO_BLOCK = rule(
    "SKN101",
    "error",
    "no block in the script",
    "there is no #SKYNNET:BEGIN in this script",
    "put #SKYNNET:BEGIN above the lines that build and train the network and #SKYNNET:END below them",
    why="sknc changes nothing outside a block, so a script without one cannot be split.",
    wrong="model.fit(x_train, y_train, epochs=5)\n",
    right=_RIGHT,
)
MALFORMED = rule(
    "SKN102",
    "error",
    "a comment that looks like a marker but is none",
    "'{found}' is not a marker",
    "write {nearest}",
    why="A marker with a typo would be an ordinary comment, and the block would silently not be split; so anything"
    " that looks like a marker has to be one: upper case, a known kind, known suffixes.",
    wrong=_RIGHT.replace("MULTICLASS", "MULTICLAS"),
    right=_RIGHT,
)
BAD_KEY = rule(
    "SKN103",
    "error",
    "an unknown or badly written key in a marker",
    "'{found}' is not a setting of a block",
    "{fix}",
    why="After the kind a marker takes classes=N, compose=RULE and epochs=keep or epochs=reduce.",
    wrong=_RIGHT.replace("MULTICLASS", "MULTICLASS clases=10"),
    right=_RIGHT.replace("MULTICLASS", "MULTICLASS classes=10"),
)
NO_END = rule(
    "SKN104",
    "error",
    "a block without an end",
    "this block has no #SKYNNET:END",
    "put #SKYNNET:END after the block's last line, indented like this line",
    why="Without an end it is not known which code trains the network and which merely uses it.",
    wrong=_RIGHT.replace("#SKYNNET:END\n", ""),
    right=_RIGHT,
)
NO_BEGIN = rule(
    "SKN105",
    "error",
    "an end without a block",
    "this #SKYNNET:END closes no block",
    "put #SKYNNET:BEGIN above the block's first line, or remove this line",
    why="Markers come in pairs. One that is left over usually means that its BEGIN was removed or misspelt.",
    wrong=_RIGHT.split("\n", 1)[1],
    right=_RIGHT,
)
NESTED = rule(
    "SKN106",
    "error",
    "a block inside a block",
    "this block begins inside the block of line {line}",
    "close that block with #SKYNNET:END first: blocks stand one after the other",
    why="A block is one network with its training. Blocks stand one after the other; a later one may use"
    " what an earlier one made.",
    wrong=_RIGHT.replace("model.fit", "#SKYNNET:BEGIN_MULTICLASS\nmodel.fit"),
    right=_RIGHT,
)
CUTS = rule(
    "SKN107",
    "error",
    "a block that cuts a statement",
    "this marker stands inside the statement that starts at line {line}, its partner does not",
    "put both markers around whole statements of one indented suite",
    why="A block is a run of whole statements of one indented suite, because its lines are moved and"
    " replaced as statements.",
    wrong="#SKYNNET:BEGIN_MULTICLASS\nif True:\n    model = build()\n    #SKYNNET:END\n    model.fit(x, y)\n",
    right="#SKYNNET:BEGIN_MULTICLASS\nif True:\n    model = build()\n    model.fit(x, y)\n#SKYNNET:END\n",
)
INDENT = rule(
    "SKN108",
    "error",
    "a marker that is not indented like its block",
    "this marker is not indented like the statements of its block (line {line})",
    "indent it like that line",
    why="A line of code takes the marker's place in the programs, so it has to stand where a statement can stand.",
    wrong="def main():\n#SKYNNET:BEGIN_MULTICLASS\n    model.fit(x, y)\n    #SKYNNET:END\n",
    right="def main():\n    #SKYNNET:BEGIN_MULTICLASS\n    model.fit(x, y)\n    #SKYNNET:END\n",
)
NOT_ALONE = rule(
    "SKN109",
    "error",
    "a marker that shares its line with code",
    "a marker needs a line of its own",
    "move it to the line {where}",
    why="A line of code takes the marker's place in the programs, so nothing else can stand on its line.",
    wrong="model.fit(x, y)  #SKYNNET:END\n",
    right="model.fit(x, y)\n#SKYNNET:END\n",
)
IN_BRACKETS = rule(
    "SKN110",
    "error",
    "a marker inside brackets",
    "this marker stands inside an expression (the statement of line {line})",
    "put it above or below the whole statement",
    why="A line of code takes the marker's place in the programs, and inside an expression no statement can stand.",
    wrong="model.fit(\n    x, y,\n    #SKYNNET:END\n)\n",
    right="model.fit(\n    x, y,\n)\n#SKYNNET:END\n",
)
EMPTY = rule(
    "SKN111",
    "error",
    "a block with nothing in it",
    "this block holds no statement",
    "put the lines that build and train the network between the markers",
    why="There is no network to split between these two markers.",
    wrong="#SKYNNET:BEGIN_MULTICLASS\n#SKYNNET:END\nmodel.fit(x, y)\n",
    right="#SKYNNET:BEGIN_MULTICLASS\nmodel.fit(x, y)\n#SKYNNET:END\n",
)
REPEATED = rule(
    "SKN112",
    "error",
    "a block that is executed repeatedly",
    "this block stands in the loop of line {line}: it would train again in each round",
    "put the block outside the loop; for a k-fold evaluation split each fold's script by itself",
    why="A program trains one submodel of one network. A loop around the block makes a new network in each round, and"
    " the programs could not know which round they belong to.",
    wrong="for fold in folds:\n    #SKYNNET:BEGIN_MULTICLASS\n    model.fit(x, y)\n    #SKYNNET:END\n",
    right="#SKYNNET:BEGIN_MULTICLASS\nmodel.fit(x, y)\n#SKYNNET:END\n",
)
KEEP_ALONE = rule(
    "SKN113",
    "warning",
    "a KEEP that belongs to no layer",
    "there is no layer on this line whose size could be kept",
    "put #SKYNNET:KEEP at the end of the line on which the layer's name stands",
    why="#SKYNNET:KEEP is for the layer whose name stands on the same line; anywhere else it would do"
    " nothing, silently.",
    wrong="#SKYNNET:KEEP\nx = Dense(64)(x)\n",
    right="x = Dense(64)(x)  #SKYNNET:KEEP\n",
)
