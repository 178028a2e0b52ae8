"""Notebooks for tests."""

from __future__ import annotations

import json

HEAD = "import numpy as np\nimport keras\nx, y = np.random.rand(120, 8), np.random.randint(0, 10, 120)"
BLOCK = """#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential([keras.layers.Dense(64, 'relu'), keras.layers.Dense(10, 'softmax')])
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x, y, epochs=3)
#SKYNNET:END"""


def notebook(*cells: str) -> str:
    """Return the JSON of a notebook; a cell that begins with `# Text` is one of text."""
    made = []
    for source in cells:
        kind = "markdown" if source.startswith("# Text") else "code"
        cell = {"cell_type": kind, "source": source, "metadata": {}}
        made.append(cell if kind == "markdown" else {**cell, "outputs": [], "execution_count": None})
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
