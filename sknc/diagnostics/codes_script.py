"""What can be wrong with what stands in a script and its blocks (SKN2xx)."""

from __future__ import annotations

from sknc.diagnostics._registry import rule

_BLOCK = "#SKYNNET:BEGIN_MULTICLASS\n{}\n#SKYNNET:END\n"
_NET = "model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(10, activation='softmax')])\n"
_COMPILE = "model.compile('adam', 'sparse_categorical_crossentropy')\n"
_RIGHT = _BLOCK.format(_NET + _COMPILE + "model.fit(x_train, y_train)")

NOT_DECODABLE = rule(
    "SKN201",
    "error",
    "a file that is not text",
    "the file cannot be read as text: {problem}",
    "save it as UTF-8, or name its encoding in the first line: # -*- coding: latin-1 -*-",
    why="Python reads a script as UTF-8 unless its first lines name another encoding, and sknc reads it"
    " as Python does.",
    wrong="# caf\\xe9 in Latin-1, with no coding line\n",
    right="# -*- coding: latin-1 -*-\n",
)
NOT_PYTHON = rule(
    "SKN202",
    "error",
    "a file that is not Python",
    "this is not Python: {problem}",
    "python -m py_compile on the file shows the same place",
    why="Only a script that Python can parse can be split. A script of Python 2 cannot, nor a notebook that was saved"
    " as a script with its magics: split the notebook itself.",
    wrong="model = Sequential([\n",
    right="model = Sequential([])\n",
)
NO_TRAINING = rule(
    "SKN203",
    "error",
    "a block that trains no network",
    "no model.fit is reached in this block",
    "put the lines that build, compile and fit the network between the markers; training by train_on_batch or"
    " GradientTape loops cannot be split, put such a step into a train_step method of a keras.Model and call fit",
    why="sknc finds the training as a call of fit on a Keras model that is made in the block.",
    wrong=_BLOCK.format(_NET + "for x, y in batches:\n    model.train_on_batch(x, y)"),
    right=_RIGHT,
)
UNREAD_MODEL = rule(
    "SKN204",
    "error",
    "a network that sknc cannot read",
    "the model that is trained here is made by code that sknc cannot read",
    "build it in the block or in a function of this file with keras.Sequential, keras.Model or a subclass; a network"
    " from another file or library cannot be narrowed",
    why="Layers are narrowed where they are written. A network that comes ready-made from elsewhere has"
    " no line here that could be changed.",
    wrong="from mynets import build\n" + _BLOCK.format("model = build()\nmodel.fit(x_train, y_train)"),
    right=_RIGHT,
)
OUTSIDE = rule(
    "SKN205",
    "error",
    "a network that is made outside the block",
    "the model trained at line {line} is made here, outside the block",
    "move #SKYNNET:BEGIN above this line",
    why="Nothing outside a block is changed, so layers there could not be narrowed.",
    wrong=_NET + _BLOCK.format(_COMPILE + "model.fit(x_train, y_train)"),
    right=_RIGHT,
)
SEVERAL_MODELS = rule(
    "SKN206",
    "error",
    "two networks in one block",
    "a second model is trained in this block; the first is trained at line {line}",
    "give each network a block of its own; adversarial networks, which train each other, cannot be split",
    why="Each block becomes a set of submodels of one network, trained by one call of fit.",
    wrong=_BLOCK.format("a.fit(x, y)\nb.fit(x, y)"),
    right=_BLOCK.format("a.fit(x, y)") + _BLOCK.format("b.fit(x, y)"),
)
SEVERAL_OUTPUTS = rule(
    "SKN207",
    "error",
    "a network with several outputs",
    "this model has {count} outputs",
    "a network with one output can be split; split a script per output",
    why="The decomposition cuts one output: its classes, or its values. With several outputs it is not"
    " clear which one is meant.",
    wrong="model = keras.Model(inputs, [digits, colours])\n",
    right="model = keras.Model(inputs, digits)\n",
)
NO_OUTPUT = rule(
    "SKN208",
    "error",
    "an output layer that was not found",
    "the layer that gives this model's output, and its size, was not found",
    "end the network with a layer whose size is written in this block, e.g. Dense(10, activation='softmax')",
    why="The size of the output layer says how many classes or values there are, and each submodel gets a"
    " part of them.",
    wrong="model.add(my_head)\n",
    right="model.add(keras.layers.Dense(10, activation='softmax'))\n",
)
OUTPUT_TIED = rule(
    "SKN209",
    "error",
    "an output layer whose size cannot change",
    "the output layer has to keep its size: {reason}",
    "let a Dense layer with a size of its own give the output",
    why="A submodel's output is narrower than the original's. That is impossible where the output is, for"
    " example, a sum with the input, which ties its size to the input's.",
    wrong="outputs = keras.layers.Add()([inputs, x])\n",
    right="outputs = keras.layers.Dense(64)(keras.layers.Add()([inputs, x]))\n",
)
NO_CLASSES = rule(
    "SKN210",
    "error",
    "the number of classes is not known",
    "the number of classes is not a constant here",
    "say it: --classes N, or classes=N behind the marker",
    why="The classes are shared out before anything runs, so their number has to be known from the text of the script.",
    wrong=_BLOCK.format("out = Dense(len(set(y)), activation='softmax')(x)"),
    right=_BLOCK.format("out = Dense(len(set(y)), activation='softmax')(x)").replace(
        "MULTICLASS\n", "MULTICLASS classes=10\n"
    ),
)
CLASSES_DIFFER = rule(
    "SKN211",
    "error",
    "two different numbers of classes",
    "the output layer has {found} units, but classes={said} was given",
    "give the same number, or leave classes= out",
    why="One of the two numbers is wrong, and the split would be wrong with it.",
    wrong=_RIGHT.replace("MULTICLASS\n", "MULTICLASS classes=12\n"),
    right=_RIGHT,
)
PER_PIXEL = rule(
    "SKN212",
    "error",
    "a class for each pixel or token",
    "this network gives {what} a class of its own",
    "where each sample has one class, a Flatten or GlobalAveragePooling layer is missing in front of the output layer;"
    " per-pixel and per-token classification cannot be split by classes, as a sample has no single one: such a network"
    " can be trained under a memory budget instead (-m 1 --budget)",
    why="Multiclass decomposition gives each submodel the rows of its own classes. A sample whose every"
    " pixel or token has its own class belongs to no single one.",
    wrong="outputs = Conv2D(21, 1, activation='softmax')(x)\n",
    right="outputs = Dense(21, activation='softmax')(GlobalAveragePooling2D()(x))\n",
)
UNKNOWN_KIND = rule(
    "SKN213",
    "error",
    "the kind of problem cannot be inferred",
    "the kind of this block is not clear from its output layer and loss",
    "write it behind BEGIN: #SKYNNET:BEGIN_MULTICLASS, _BINARYCLASS, _REGRESSION or _LOCAL_REGRESSION",
    why="Each kind is decomposed in its own way. The kind is inferred from the output layer's activation"
    " and the loss; a loss of one's own says nothing.",
    wrong="#SKYNNET:BEGIN\nmodel.compile('adam', my_loss)\n",
    right="#SKYNNET:BEGIN_REGRESSION\nmodel.compile('adam', my_loss)\n",
)
INFERRED = rule(
    "SKN214",
    "info",
    "an inferred kind",
    "the kind of this block is {kind}, from {evidence}",
    "write #SKYNNET:BEGIN_{word} to say it yourself",
    why="A plain #SKYNNET:BEGIN leaves the kind to be inferred. What was taken is told, so that a wrong"
    " guess is seen before a long training.",
    wrong="#SKYNNET:BEGIN\n",
    right="#SKYNNET:BEGIN_MULTICLASS\n",
)
REMOVED_FIT = rule(
    "SKN215",
    "error",
    "a method that Keras removed",
    "{name} is not a method of Keras 3 models",
    "write {instead}",
    why="Keras 3 has no such method any more: the script does not run as it is, split or not.",
    wrong="model.fit_generator(batches)\n",
    right="model.fit(batches)\n",
)
THROUGH_OBJECT = rule(
    "SKN216",
    "error",
    "layers that the block reaches in a way that cannot be rewritten",
    "'{name}' makes layers of this block's network, but the block reaches it through {how}",
    "move the lines that make the layers into the block, or into a function that the block calls by its name",
    why="A function outside a block is not changed; the block gets a narrowed copy under the same name. That works"
    " only where the block calls it by that name.",
    wrong="builders = {'cnn': build}\n" + _BLOCK.format("model = builders['cnn']()"),
    right=_BLOCK.format("model = build()"),
)
SHARED_LAYERS = rule(
    "SKN217",
    "error",
    "a second model on the trained layers",
    "this model shares layers with the model trained at line {line}, and is used afterwards",
    "build it in the submodels' own terms after loading them, or use the trained model alone: the composition of"
    " submodels has no such inner layers",
    why="After a split the trained layers live in several narrow submodels. The whole network's encoder, say, does not"
    " exist any more, and using the untrained one would give wrong results silently.",
    wrong=_BLOCK.format("autoencoder.fit(x, x)") + "codes = encoder.predict(x)\n",
    right=_BLOCK.format("autoencoder.fit(x, x)") + "restored = autoencoder.predict(x)\n",
)
IN_HEADER = rule(
    "SKN218",
    "error",
    "training in a place where no statement can stand",
    "the training stands in a place that cannot be rewritten",
    "write it as a statement of its own: history = model.fit(...)",
    why="The line that trains is replaced by statements, which cannot stand in the header of a loop, in a"
    " condition or in a default value.",
    wrong="for loss in model.fit(x, y).history['loss']:\n",
    right="history = model.fit(x, y)\nfor loss in history.history['loss']:\n",
)
TWICE = rule(
    "SKN219",
    "error",
    "a block that is executed twice",
    "this block is executed more than once: {how}",
    "let the script run it once; for repeated trainings split the script once and change its seed",
    why="A program trains one submodel of one network, once. It could not know which of several"
    " executions it belongs to.",
    wrong="for seed in range(3):\n    main(seed)\n",
    right="main(0)\n",
)
NOT_REACHED = rule(
    "SKN220",
    "warning",
    "a block that is never executed",
    "this block stands in a function that the script does not call",
    "call the function at the end of the script; arguments without a default are not known here",
    why="The sizes in the block are read by following the script from its first line, and that never"
    " comes here. Names that only a caller would give a value are unknown.",
    wrong="def main():\n    #SKYNNET:BEGIN\n    model.fit(x, y)\n    #SKYNNET:END\n",
    right="def main():\n    #SKYNNET:BEGIN\n    model.fit(x, y)\n    #SKYNNET:END\n\nmain()\n",
)
FILE_NAME = rule(
    "SKN221",
    "warning",
    "a path relative to the script",
    "__file__ names the program, not the script, when a program runs",
    "give the data a path relative to the working folder, or an absolute one",
    why="The programs stand in a folder of their own, so a path that is built from __file__ leads there,"
    " and not to the script's neighbours.",
    wrong="DATA = Path(__file__).parent / 'data.csv'\n",
    right="DATA = Path('data.csv')\n",
)
KEPT = rule(
    "SKN222",
    "info",
    "a layer that keeps its size",
    "this layer keeps {size}: {reason}",
    "nothing needs to be done",
    why="Some layers are not narrowed: marked ones, those of two units or fewer, those whose width is"
    " tied to the data, and dense and convolution layers beside an embedding (section 3.1 of the"
    " Skynnet paper).",
    wrong="x = Add()([inputs, Dense(64)(x)])  # the input has 64 values, so Dense stays\n",
    right="x = Add()([Dense(64)(inputs), Dense(64)(x)])\n",
)
TWO_ROLES = rule(
    "SKN223",
    "error",
    "one line makes the output layer and others",
    "this line makes the output layer and other layers that cannot be told from it by their size",
    "write the output layer on a line of its own; where a builder makes a second network, which is not trained but"
    " used before the training, build that outside the block or with a builder of its own",
    why="The output layer gets the size of its own classes, other layers are divided by the factor. One"
    " line cannot do both when its sizes are the same, or only known at run time.",
    wrong="for units in sizes + [10]:\n    x = Dense(units)(x)\n",
    right="for units in sizes:\n    x = Dense(units)(x)\nx = Dense(10)(x)\n",
)
UNREACHED_FIT = rule(
    "SKN224",
    "error",
    "training that sknc does not understand",
    "fit is called here on something that is not known to be a Keras model",
    "call fit on the model by the name that it was built under",
    why="Another object's fit (a scaler, a tuner, a trainer) stays as it is; the network's is replaced."
    " Where it is not known which one it is, nothing is guessed.",
    wrong="trainer.fit(x, y)\n",
    right="model.fit(x, y)\n",
)
EPOCHS_UNSEEN = rule(
    "SKN225",
    "info",
    "epochs that are not reduced",
    "the number of epochs is not written at this call and stays as it is",
    "write epochs= at the call, and a dense-only network trains 1/F of them",
    why="Networks of dense layers alone train 1/F of the epochs (section 3.4 of the Skynnet paper); the"
    " number is changed where it is written.",
    wrong="model.fit(x, y, **settings)\n",
    right="model.fit(x, y, epochs=settings['epochs'])\n",
)
INNER_LAYER = rule(
    "SKN231",
    "error",
    "an inner layer of the trained network",
    "this looks at an inner layer of the network that is trained at line {line}",
    "take it out of the split script (a script of its own can load the submodels), or train the network whole (-m 1):"
    " the composition of submodels has no such inner layers",
    why="After a split the trained layers live in several narrow submodels. The whole network's own layers were not"
    " trained; their outputs and weights would be wrong silently.",
    wrong=_BLOCK.format("model.fit(x, y)") + "kernel = model.layers[0].get_weights()[0]\n",
    right=_BLOCK.format("model.fit(x, y)") + "classes = model.predict(x)\n",
)
READ_LATE = rule(
    "SKN232",
    "warning",
    "a file of the training is read behind the block",
    "this reads a file that the block writes: {what}",
    "put #SKYNNET:END behind this line: then each submodel reads its own",
    why="Each submodel writes its own file: a checkpoint of its best weights, say. In the block it is read back by the"
    " submodel; behind the block there is only what was composed.",
    wrong="model.fit(x, y, callbacks=[ModelCheckpoint('b.keras')])\n#SKYNNET:END\nmodel = load_model('b.keras')\n",
    right="model.fit(x, y, callbacks=[ModelCheckpoint('b.keras')])\nmodel = load_model('b.keras')\n#SKYNNET:END\n",
)
