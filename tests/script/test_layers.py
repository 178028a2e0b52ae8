"""Widths of every family of layers, and what their sizes do to each other."""

# ruff: noqa: E501 - scripts are kept in one line

from __future__ import annotations

from typing import Any

import pytest

from tests.script.helpers import block, compiled, program, widths

IMAGE = "i = keras.Input((32, 32, 3))\n"
FROM_IMAGE = "model = keras.Model(i, Dense(10, 'softmax')(GlobalAveragePooling2D()(h)))\n"
SERIES = "i = keras.Input((20, 8))\n"
ROW = "i = keras.Input((20,))\n"
OUT = "model = keras.Model(i, Dense(10, 'softmax')(h))\n"


def image(body: str) -> str:
    return IMAGE + body + FROM_IMAGE


def series(body: str, close: str = OUT) -> str:
    return SERIES + body + close


def row(body: str) -> str:
    return ROW + body + OUT


POOLED = "h = GlobalAveragePooling1D()(h)\n" + OUT

REDUCED: dict[str, tuple[str, list[list[Any]]]] = {
    "dense": (row("h = Dense(64)(i)\n"), [[64, 32]]),
    "dense rounds up": (row("h = Dense(63)(i)\n"), [[63, 32]]),
    "small layers stay": (row("h = Dense(2)(Dense(64)(i))\n"), [[64, 32], [2, 2]]),
    "convolution": (image("h = Conv2D(64, 3)(i)\n"), [[64, 32]]),
    "convolution by keyword": (image("h = Conv2D(kernel_size=3, filters=64)(i)\n"), [[64, 32]]),
    "separable": (image("h = SeparableConv2D(64, 3)(i)\n"), [[64, 32]]),
    "transposed": (image("h = Conv2DTranspose(64, 3)(i)\n"), [[64, 32]]),
    "one-dimensional": (series("h = Conv1D(64, 3)(i)\n", POOLED), [[64, 32]]),
    "depthwise has no width": (
        image(
            "h = Conv2D(32, 3)(i)\nh = DepthwiseConv2D(3, depth_multiplier=2)(h)\nh = Add()([h, Conv2D(64, 5)(i)])\n"
        ),
        [[32, 16], [64, 32]],
    ),
    "groups": (image("h = Conv2D(64, 3)(i)\nh = Conv2D(60, 3, groups=4)(h)\n"), [[64, 32], [60, 32]]),
    "two kinds of groups": (
        image("h = Conv2D(63, 3, groups=3)(i)\nh = Conv2D(60, 3, groups=4)(h)\n"),
        [[63, 36], [60, 32]],
    ),
    "group normalisation": (image("h = GroupNormalization(8)(Conv2D(60, 3)(i))\n"), [[60, 32]]),
    "groups of one layer each": (image("h = GroupNormalization(-1)(Conv2D(64, 3)(i))\n"), [[64, 32]]),
    "recurrent": (series("h = GRU(32)(LSTM(64, return_sequences=True)(i))\n"), [[64, 32], [32, 16]]),
    "states": (
        series(
            "o, s, c = LSTM(64, return_state=True, return_sequences=True)(i)\nh = LSTM(64)(o, initial_state=[s, c])\n"
        ),
        [[64, 32], [64, 32]],
    ),
    "bidirectional": (series("h = Bidirectional(GRU(32))(i)\nh = Add()([h, Dense(64)(h)])\n"), [[32, 16], [64, 32]]),
    "bidirectional sum": (
        series("h = Bidirectional(GRU(32), merge_mode='sum')(i)\nh = Add()([h, Dense(32)(h)])\n"),
        [[32, 16], [32, 16]],
    ),
    "time distributed": (
        "i = keras.Input((5, 32, 32, 3))\nh = TimeDistributed(Conv2D(32, 3))(i)\nh = TimeDistributed(Flatten())(h)\n"
        "h = LSTM(64)(h)\n" + OUT,
        [[32, 16], [64, 32]],
    ),
    "convolutional recurrent": ("i = keras.Input((5, 32, 32, 3))\nh = ConvLSTM2D(32, 3)(i)\n" + FROM_IMAGE, [[32, 16]]),
    "batch normalisation and activations": (
        image("h = ReLU()(BatchNormalization()(Conv2D(64, 3)(i)))\nh = Activation('elu')(PReLU()(h))\n"),
        [[64, 32]],
    ),
    "residual": (
        image("h = Conv2D(64, 3, padding='same')(i)\ng = Conv2D(64, 3, padding='same')(h)\nh = Add()([h, g])\n"),
        [[64, 32], [64, 32]],
    ),
    "concatenation": (
        image("h = Concatenate()([Conv2D(32, 3)(i), Conv2D(48, 3)(i)])\nh = Add()([h, Conv2D(80, 3)(i)])\n"),
        [[32, 16], [48, 24], [80, 40]],
    ),
    "concatenation of odd widths": (
        image("h = Concatenate()([Conv2D(33, 3)(i), Conv2D(33, 3)(i)])\nh = Add()([h, Conv2D(66, 3)(i)])\n"),
        [[33, 17], [33, 17], [66, 34]],
    ),
    "flattened": (
        IMAGE + "h = Conv2D(8, 3, padding='same')(i)\nh = Flatten()(h)\nh = Add()([h, Dense(32 * 32 * 8)(h)])\n" + OUT,
        [[8, 4], [8192, 4096]],
    ),
    "reshaped": (
        "i = keras.Input((100,))\nh = Dense(7 * 7 * 128)(i)\nh = Reshape((7, 7, 128))(h)\n"
        "h = Conv2DTranspose(64, 3)(h)\n" + FROM_IMAGE,
        [[6272, 3136], [128, 64], [64, 32]],
    ),
    "attention": (
        series("q = Dense(64)(i)\nk = Dense(64)(i)\nv = Dense(32)(i)\nh = Attention()([q, v, k])\n", POOLED),
        [[64, 32], [64, 32], [32, 16]],
    ),
    "multi-head attention": (
        series(
            "h = Dense(64)(i)\nh = LayerNormalization()(h + MultiHeadAttention(4, 16)(h, h))\n"
            "h = Add()([h, Dense(64)(Dense(128)(h))])\n",
            POOLED,
        ),
        [[64, 32], [64, 32], [128, 64]],
    ),
    "scalar product": (
        row("a = Dense(64)(i)\nb = Dense(64)(i)\nh = Concatenate()([a, b, Dot(axes=1)([a, b])])\n"),
        [[64, 32], [64, 32]],
    ),
    "computed from a tensor": (
        row("h = Dense(64)(i)\nt = Dense(h.shape[-1], 'sigmoid')(h)\nh = t * h + (1 - t) * Dense(64)(h)\n"),
        None,  # type: ignore[dict-item]
    ),
    "halved channels": (
        image("h = Conv2D(64, 3)(i)\nh = Conv2D(int(h.shape[-1] * 0.5), 1)(h)\nh = Add()([h, Conv2D(32, 3)(i)])\n"),
        None,  # type: ignore[dict-item]
    ),
    "compared channels": (
        image(
            "def unit(t, f):\n    s = t\n    t = Conv2D(f, 3, padding='same')(t)\n    if s.shape[-1] != f:\n"
            "        s = Conv2D(f, 1)(s)\n    return Add()([s, t])\nh = unit(unit(unit(i, 32), 32), 64)\n"
        ),
        [[32, 16]] * 3 + [[64, 32]] * 2,
    ),
    "spatial attention": (
        image(
            "h = Conv2D(64, 3)(i)\na = ops.mean(h, axis=-1, keepdims=True)\n"
            "s = Conv2D(1, 7, padding='same', activation='sigmoid')(a)\nh = h * s\n"
        ),
        [[64, 32], [1, 1]],
    ),
    "embedding keeps the others": (
        "i = keras.Input((20,), dtype='int32')\nh = Embedding(1000, 64)(i)\nh = LSTM(32)(h)\n" + OUT,
        [[64, 32], [32, 32]],
    ),
    "what is tied to an embedding follows": (
        "i = keras.Input((20,), dtype='int32')\nh = Embedding(1000, 64)(i)\nh = Add()([h, Dense(64)(Dense(128)(h))])\n"
        "h = GlobalMaxPooling1D()(h)\n" + OUT,
        [[64, 32], [64, 32], [128, 128]],
    ),
    "shared layer": (
        (
            "a = keras.Input((20,))\nb = keras.Input((20,))\nd = Dense(64)\nh = Concatenate()([d(a), d(b)])\n"
            "model = keras.Model([a, b], Dense(10, 'softmax')(h))\n"
        ),
        [[64, 32]],
    ),
    "nested model": (
        (
            "base = keras.Sequential([keras.Input((20,)), Dense(64), Dense(32)])\n"
            "model = keras.Sequential([base, Dense(10, 'softmax')])\n"
        ),
        [[64, 32], [32, 16]],
    ),
    "subclassed model": (
        (
            "class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n        self.a = Dense(64)\n"
            "        self.b = Dense(10, 'softmax')\n    def call(self, x):\n        return self.b(self.a(x))\nmodel = Net()\n"
        ),
        [[64, 32]],
    ),
    "custom layer": (
        "class Block(layers.Layer):\n    def __init__(self, n):\n        super().__init__()\n        self.a = Dense(n)\n"
        "        self.b = Dense(n)\n    def call(self, x):\n        return self.a(x) * self.b(x)\n"
        + row("h = Block(64)(i)\nh = Block(32)(h)\n"),
        [[64, 32], [64, 32], [32, 16], [32, 16]],
    ),
}

KEPT = {
    "added to the input": row("h = Add()([i, Dense(20)(Dense(64)(i))])\n"),
    "split": image("h = Conv2D(20, 3)(i)\na, b = ops.split(h, 2, axis=-1)\nh = a * b\n"),
    "sliced": image("h = Conv2D(20, 3)(i)\nh = h[..., :10] + h[..., 10:]\n"),
    "pixels shuffled": image("import tensorflow as tf\nh = Conv2D(20, 3)(i)\nh = tf.nn.depth_to_space(h, 2)\n"),
    "heads": series("h = Dense(20)(i)\nh = Reshape((20, 4, 5))(h)\nh = Permute((2, 1, 3))(h)\nh = Flatten()(h)\n"),
    "reshaped by a function": series("h = Dense(20)(i)\nh = ops.reshape(h, (-1, 400))\n"),
    "unknown function": "from other import f\n" + row("h = f(Dense(20)(i))\n"),
    "lambda": row("h = Lambda(lambda t: ops.reshape(t, (-1, 4, 5)))(Dense(20)(i))\nh = Flatten()(h)\n"),
    "matrix product": row("h = ops.matmul(Dense(20)(i), np.ones((20, 7)))\n"),
    "added to a constant": row("h = Dense(20)(i) + np.ones(20)\n"),
    "channels first": image("h = Conv2D(20, 3, data_format='channels_first')(i)\n"),
    "two branches of different sizes": row(
        "if len(sys.argv) > 1:\n    h = Dense(20)(i)\nelse:\n    h = i\nh = Add()([h, i])\n"
    ),
    "transposed kernel": row("d = Dense(20)\nh = ops.matmul(d(i), ops.transpose(d.kernel))\n"),
    "given weights": row("h = Dense(20, weights=[np.ones((20, 20)), np.ones(20)])(i)\n"),
    "weights set": row("d = Dense(20)\nh = d(i)\nd.set_weights([np.ones((20, 20)), np.ones(20)])\n"),
    "array as initializer": row(
        "h = Dense(20, kernel_initializer=keras.initializers.Constant(np.ones((20, 20))))(i)\n"
    ),
}
"""Networks whose layer of 20 units or filters has to stay, because what is done to it would not fit otherwise."""


@pytest.mark.parametrize("name", REDUCED)
def test_reduced(name: str) -> None:
    body, expected = REDUCED[name]
    made = compiled(block(body))
    found = widths(made)
    assert found[-1] == [10, 5]
    if expected is not None:
        assert sorted(found[:-1]) == sorted(expected)


@pytest.mark.parametrize("name", KEPT)
def test_kept_with_a_reason(name: str) -> None:
    made = compiled(block(KEPT[name]))
    text = program(made)
    assert "(20" in text.split("#SKYNNET:BEGIN")[1].split("keras.Input((20")[-1] or "(20, " in text
    found = widths(made)
    assert [20, 20] in found or all(old != 20 for old, _ in found)
    assert "10" in text
    assert any(d.code in ("SKN222", "SKN307") and d.severity != "error" for d in made.diagnostics)


@pytest.mark.parametrize(
    ("factor", "expected"), [(1, None), (3, [[6, 4], [96, 64]]), (6, [[6, 3], [96, 48]]), (45, [[6, 2], [96, 32]])]
)
def test_the_smallest_layer_caps_the_factor(factor: int, expected: list[list[int]] | None) -> None:
    made = compiled(block(row("h = Dense(6)(Dense(96)(i))\n")), submodels=factor)
    if expected is None:
        assert "Dense(6)(Dense(96)(i))" in program(made)
    else:
        assert widths(made)[:2] == expected
    assert any(d.code == "SKN308" for d in made.diagnostics) == (factor == 45)


@pytest.mark.parametrize("layer", ["Dense", "LSTM"])
def test_what_is_not_known_before_the_run_is_narrowed_in_the_run(layer: str) -> None:
    close = OUT if layer == "LSTM" else POOLED
    text = program(compiled(block(series(f"h = {layer}(units)(i)\n", close), "units = int(sys.argv[1])\n")))
    assert f"h = {layer}(skn_runtime.width(units, 2))(i)" in text
