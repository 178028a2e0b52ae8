"""Parameters of the paper's networks (facts, section 4), from the widths of the emitted programs and arithmetic."""

from __future__ import annotations

import re

import pytest

from sknc.pipeline import Compilation
from tests.script.helpers import compiled

PLAIN = """\
import keras
from keras import layers
x = y = None
#SKYNNET:BEGIN_MULTICLASS
model = keras.Sequential([
    keras.Input((227, 227, 3)),
    layers.Conv2D(96, 11, strides=4, activation='relu'),
    layers.MaxPooling2D(3, strides=2),
    layers.Conv2D(256, 5, padding='same', activation='relu'),
    layers.MaxPooling2D(3, strides=2),
    layers.Conv2D(384, 3, padding='same', activation='relu'),
    layers.Conv2D(384, 3, padding='same', activation='relu'),
    layers.Conv2D(256, 3, padding='same', activation='relu'),
    layers.MaxPooling2D(3, strides=2),
    layers.Flatten(),
    layers.Dense(4096, activation='relu'),
    layers.Dropout(0.5),
    layers.Dense(4096, activation='relu'),
    layers.Dropout(0.5),
    layers.Dense(102, activation='softmax'),
])
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x, y, epochs=15)
#SKYNNET:END
"""
DIALECT = """\
from keras.models import Sequential
from keras.layers import Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
#SKYNNET:BEGIN_MULTICLASS
_DATA_TRAIN_X = _DATA_TRAIN_Y = None
_FILTERS_1 = 384
_NEURON_1 = 4096
_NEURON_2 = 102
_EPOCHS = 15
model = Sequential([
    Input((227, 227, 3)),
    Conv2D(int(_FILTERS_1 / 4), 11, strides=4, activation='relu'),
    MaxPooling2D(3, strides=2),
    Conv2D(int(_FILTERS_1 / 1.5), 5, padding='same', activation='relu'),
    MaxPooling2D(3, strides=2),
    Conv2D(_FILTERS_1, 3, padding='same', activation='relu'),
    Conv2D(_FILTERS_1, 3, padding='same', activation='relu'),
    Conv2D(int(_FILTERS_1 / 1.5), 3, padding='same', activation='relu'),
    MaxPooling2D(3, strides=2),
    Flatten(),
    Dense(_NEURON_1, activation='relu'),
    Dropout(0.5),
    Dense(_NEURON_1, activation='relu'),
    Dropout(0.5),
    Dense(_NEURON_2, activation='softmax'),
])
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(_DATA_TRAIN_X, _DATA_TRAIN_Y, epochs=_EPOCHS)
#SKYNNET:END
"""
DCT = """\
import keras
from keras import layers
x = y = None
#SKYNNET:BEGIN_REGRESSION
model = keras.Sequential([
    keras.Input((64, 64, 1)),
    layers.Conv2D(64, 16, padding='same', activation='relu'),
    layers.MaxPooling2D(),
    layers.Conv2D(64, 4, padding='same', activation='relu'),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(4096, activation='relu'),
    layers.Dense(1024, activation='sigmoid'),
])
model.compile('adam', 'mse')
model.fit(x, y, batch_size=2, epochs=25)
#SKYNNET:END
"""


def alexnet(widths: list[int]) -> int:
    """Parameters of AlexNet: five convolutions (the last gives 6 x 6 pixels), three dense layers."""
    a, b, c, d, e, f, g, n = widths
    kernels = 11 * 11 * 3 * a + 25 * a * b + 9 * b * c + 9 * c * d + 9 * d * e
    return kernels + 36 * e * f + f * g + g * n + sum(widths)


def dct(widths: list[int]) -> int:
    """Parameters of the DCT network of the paper's Figure 7: two convolutions (the last gives 16 x 16 pixels)."""
    a, b, c, n = widths
    return 256 * a + 16 * a * b + 256 * b * c + c * n + sum(widths)


def new(made: Compilation, index: int) -> list[int]:
    """Return the widths of a submodel, in the order of its layers."""
    return [width for _, width in made.blocks[0]["programs"][index]["widths"].values()]


COUNTS = {
    3: (26.137, 26.03),
    6: (14.686, 14.69),
    10: (9.448, 9.38),
    15: (6.571, 6.52),
    21: (4.845, 4.80),
    28: (3.677, 3.68),
    45: (2.384, 2.35),
}
"""M: millions of parameters with plain widths (facts, to the thousand), in the dialect (the paper's Table 3).

Groups of 102 classes differ by one, so submodels have one or two classes more or less than the table's n: its number
lies between those of the smallest and the largest submodel.
"""


def extremes(made: Compilation) -> tuple[int, int]:
    """Return the indices of the submodels with the fewest and the most classes."""
    programs = made.blocks[0]["programs"]
    order = sorted(range(len(programs)), key=lambda m: len(programs[m]["classes"]))
    return order[0], order[-1]


@pytest.mark.parametrize("submodels", COUNTS)
def test_alexnet_with_plain_widths(submodels: int) -> None:
    made = compiled(PLAIN, submodels)
    low, high = (round(alexnet(new(made, m)) / 1e6, 3) for m in extremes(made))
    assert low <= COUNTS[submodels][0] <= high
    assert high - low < 0.007


@pytest.mark.parametrize("submodels", COUNTS)
def test_alexnet_in_the_dialect(submodels: int) -> None:
    made = compiled(DIALECT, submodels)
    counts = []
    for index in extremes(made):
        text = made.files[f"submodel_{index:02d}.py"].decode()
        sizes = {name: int(size) for name, size in re.findall(r"^(_\w+) = (\d+)$", text, re.MULTILINE)}
        assert sizes["_NEURON_2"] == 102, "scripts use the number of classes for their labels as well"
        output = re.search(r"Dense\((\d+), activation='softmax'\)", text)
        assert output is not None
        base, neurons = sizes["_FILTERS_1"], sizes["_NEURON_1"]
        quarter, part = int(base / 4), int(base / 1.5)
        counts.append(alexnet([quarter, part, base, base, part, neurons, neurons, int(output[1])]) / 1e6)
    assert round(counts[0], 2) <= COUNTS[submodels][1] <= round(counts[1], 2)


@pytest.mark.parametrize("text", [PLAIN, DIALECT], ids=["plain", "dialect"])
def test_alexnet_whole(text: str) -> None:
    made = compiled(text, 1)
    assert alexnet([96, 256, 384, 384, 256, 4096, 4096, 102]) == 58_699_238
    body = made.files["submodel_00.py"].decode()
    network = text[text.index("model = ") : text.index("model.compile")]
    assert network in body


@pytest.mark.parametrize(("parts", "millions"), [(2, 17.85), (3, 8.18), (4, 4.47), (6, 2.05), (8, 1.12), (16, 0.28)])
def test_dct(parts: int, millions: float) -> None:
    made = compiled(DCT, parts)
    assert round(dct(new(made, 0)) / 1e6, 2) == millions
    assert [p["share"] for p in made.blocks[0]["programs"]] == [[index, parts] for index in range(parts)]
    outputs = [p["outputs"] for p in made.blocks[0]["programs"]]
    assert [a for a, _ in outputs[1:]] == [b for _, b in outputs[:-1]]
    assert (outputs[0][0], outputs[-1][1]) == (0, 1024)


def test_dct_whole() -> None:
    assert round(dct([64, 64, 4096, 1024]) / 1e6, 2) == 71.39


def test_binary_of_section_5_3() -> None:
    text = """\
import keras
from keras.layers import Dense
x = y = None
#SKYNNET:BEGIN_BINARYCLASS
model = keras.Sequential([keras.Input((784,)), Dense(32), Dense(16), Dense(2, 'softmax')])
model.compile('adam', 'sparse_categorical_crossentropy')
model.fit(x, y)
#SKYNNET:END
"""
    a, b, n = new(compiled(text, 2), 0)
    assert 785 * a + (a + 1) * b + (b + 1) * n == 12_714
    assert 785 * 32 + 33 * 16 + 17 * 2 == 25_682
