"""Random scripts that look like Keras scripts, most of them nonsense, all of them Python."""

# ruff: noqa: E501 - scripts are kept in one line

from __future__ import annotations

import random
import warnings

ATOMS = (
    "64", "0", "-3", "None", "True", "units", "x", "model", "'a'", "1e400", "float('nan')", "10**30", "(x, y)", "[64, 32]",
    "{}", "{'u': 64}", "cfg['u']", "x.shape[-1]", "h.shape", "f(64)", "sys.argv[1]", "(lambda t: t)", "f'{units}'", "...",
    "(units := 3)", "(not x)", "keras", "layers", "Dense", "np.array([64])", "range(10**9)", "x[0]", "x[1:2]", "int(units / 2)",
    "-units", "super()", "f", "C", "C()", "h", "i", "'%s' % units", "b''", "1j", "0.5", "x[:, -1]", "x[..., 0]", "*x",
    "__file__", "globals()", "y", "self",
)  # fmt: skip
CALLS = (
    "Dense", "layers.Conv2D", "Embedding", "LSTM", "Reshape", "Concatenate", "Add", "Input", "keras.Model", "keras.Sequential",
    "Dropout", "Bidirectional", "TimeDistributed", "MultiHeadAttention", "GroupNormalization", "Lambda", "RNN", "LSTMCell",
    "f", "C", "int", "sum", "len", "max", "zip", "enumerate", "range", "dict", "list", "partial", "getattr", "np.prod",
    "ops.concatenate", "tf.add", "ops.reshape", "tf.reduce_mean", "Flatten", "RepeatVector", "Permute", "Dot",
    "DepthwiseConv2D", "Conv2DTranspose", "UpSampling2D", "keras.applications.ResNet50", "keras.models.load_model",
    "ModelCheckpoint", "sorted", "reversed", "isinstance", "print", "tuple", "str", "float", "round", "abs", "min", "open",
    "divmod", "pow", "os.path.exists", "Attention", "ConvLSTM2D", "Conv1D", "MaxPooling2D", "setattr", "ops.split", "super",
    "map", "set", "vars", "keras.activations.get", "np.array", "type", "iter", "next",
)  # fmt: skip
METHODS = (
    "model.add", "model.fit", "model.compile", "model.predict", "model.save", "model.pop", "x.append", "x.pop", "x.extend",
    "x.insert", "cfg.get", "cfg.update", "cfg.items", "cfg.pop", "h.build", "C.m", "self.m", "'a-b'.split", "'x'.join",
    "x.index", "model.layers.pop", "x.reverse", "model", "h.add", "model.load_weights", "cfg.setdefault", "'a'.ljust",
    "x.sort", "model.summary", "h.get_layer", "x.copy", "x.remove", "cfg.values", "h.set_weights",
)  # fmt: skip
KEYS = (
    "units", "filters", "activation", "axis", "return_sequences", "return_state", "groups", "inputs", "outputs", "shape",
    "input_shape", "epochs", "layers", "name", "kernel_size", "strides", "classes", "include_top", "merge_mode", "layer",
    "initial_state", "keepdims", "index", "batch_size", "key", "sep", "weights", "initial_epoch",
)  # fmt: skip
OPERATORS = (
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "@",
    "<<",
    ">>",
    "==",
    "!=",
    "<",
    "in",
    "is",
    "and",
    "or",
    "|",
    ">=",
    "not in",
)
TARGETS = (
    "x", "h", "model", "units", "cfg", "x, y", "x[0]", "cfg['u']", "self.a", "h.b", "C.u", "x, *y", "_NEURON_1", "_FILTERS_1",
    "_EPOCHS", "model.a", "[x, y]", "i", "_NEURON_2", "cfg[x]", "x[1:2]", "f", "y", "h",
)  # fmt: skip
SMALL = (
    "return {}", "del x", "del x[0]", "global units", "assert {}", "raise x", "pass", "import keras",
    "from keras.layers import *", "model = keras.Sequential()", "model.add(Dense(64))", "model.fit(x, y, epochs=units)",
    "units = 64", "x = [64, 32]", "cfg = {{'u': 64}}", "h = Dense(64)(h)", "h = keras.Input((20,))",
    "model = keras.Model(h, x)", "x = Dense(10, 'softmax')(h)", "from os import path as f", "yield {}", "nonlocal x", "break",
    "continue", "model = C()", "x = np.array({})", "h = RNN([])(h)", "x = f(f(f({})))",
)  # fmt: skip
HEADS = (
    "if {}:", "for x in {}:", "while {}:", "def f(x, y=64, *z, **k):", "class C(keras.Model):", "class C:", "try:",
    "with {} as h:", "def m(self, x):", "for units in [64, 32]:", "if x:", "class C(layers.Layer):", "def call(self, x):",
    "def __init__(self, u=64):", "def build(self, shape):", "async def f():", "for i, units in enumerate([64, 32]):",
    "@f\ndef f(x):", "match {}:",
)  # fmt: skip
IMPORTS = (
    "import sys, os", "import numpy as np", "import keras, tensorflow as tf", "from keras import layers, ops",
    "from keras.layers import *", "from functools import partial",
)  # fmt: skip
KINDS = ("", "_MULTICLASS", "_MULTICLASS", "_BINARYCLASS", "_REGRESSION", "_LOCAL_REGRESSION")


def expression(r: random.Random, depth: int = 0) -> str:
    """Make an expression."""
    chance = r.random()
    if depth > 3 or chance < 0.3:
        return r.choice(ATOMS)
    if chance < 0.6:
        values = [expression(r, depth + 1) for _ in range(r.choice([0, 1, 1, 2, 3]))]
        named = [f"{key}={expression(r, depth + 1).lstrip('*')}" for key in r.sample(KEYS, r.choice([0, 0, 1, 2]))]
        return f"{r.choice(CALLS + METHODS)}({', '.join(values + named + ['**cfg'] * (r.random() < 0.05))})"
    if chance < 0.7:
        return f"{r.choice(CALLS)}({expression(r, depth + 1)})({expression(r, depth + 1)})"
    a, b = expression(r, depth + 1).lstrip("*"), expression(r, depth + 1).lstrip("*")
    return r.choice(
        [
            f"({a}) {r.choice(OPERATORS)} ({b})",
            f"({a}) {r.choice(OPERATORS)} ({b})",
            f"[{a} for x in ({b})]",
            f"({a})[{b}]",
            f"({a}).{r.choice(['units', 'shape', 'x', 'layers', 'output', 'items', 'kernel'])}",
            f"[{a}, {b}]",
            f"({a} if {b} else 3)",
            f"-({a})",
            f"f'{{({a})}}'.upper()",
            f"{{{a}: {b}}}",
            f"({a}) < ({b}) <= 3",
            f"[{a}, *({b})]",
        ]
    )


def statement(r: random.Random, depth: int = 0) -> list[str]:
    """Make a statement, as lines."""
    chance, value = r.random(), expression(r).lstrip("*")
    if chance < 0.35:
        return [f"{r.choice(TARGETS)} = {value}"]
    if chance < 0.45:
        return [value]
    if chance < 0.5:
        return [
            f"{r.choice(['x', 'h', 'units', 'x[0]', 'C.u'])} {r.choice(['+=', '*=', '//=', '-=', '**=', '@='])} {value}"
        ]
    if chance < 0.75 or depth > 2:
        return [r.choice(SMALL).format(value)]
    head = r.choice(HEADS).format(value)
    body = ["    " + line for _ in range(r.randint(1, 3)) for line in statement(r, depth + 1)]
    if head.startswith("match"):
        return [head, "    case x:", *("    " + line for line in body)]
    lines = [*head.split("\n"), *body]
    if head == "try:":
        lines += ["except Exception as e:", "    x = 3"]
    elif head[:2] in ("if", "fo", "wh") and r.random() < 0.3:
        lines += ["else:", *("    " + line for line in statement(r, depth + 1))]
    return lines


def valid(lines: list[str]) -> bool:
    """Say whether lines are Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile("\n".join(lines) + "\n", "train.py", "exec")
        except (SyntaxError, ValueError):
            return False
    return True


def script(seed: int) -> str:
    """Make a script with a block.

    Args:
        seed: which one.

    Returns:
        Its text, which is valid Python.
    """
    r = random.Random(seed)
    parts = [part for part in (statement(r) for _ in range(r.randint(1, 8))) if valid(part)]
    cut = r.randint(0, len(parts))
    before, inside = ([line for part in some for line in part] for some in (parts[:cut], parts[cut:]))
    begin = "#SKYNNET:BEGIN" + r.choice(KINDS) + r.choice(["", " classes=10"])
    first = ["model = keras.Sequential([keras.Input((20,)), Dense(64)])"] * (r.random() < 0.7)
    last = ["model.add(Dense(10, 'softmax'))"] * (r.random() < 0.7) + ["model.fit(x, y, epochs=3)"] * (r.random() < 0.9)
    lines = [*IMPORTS, *before, begin, *first, *inside, *last, "#SKYNNET:END"]
    return "\n".join(lines if valid(lines) else [*IMPORTS, begin, *first, *last, "#SKYNNET:END"]) + "\n"
