"""A model that shows what it was given."""

from __future__ import annotations

from typing import Any

import numpy as np

CLASSES = (0, 2, 3)
TOTAL = 6


class Seen:
    """What a model got to train and to validate on: one entry of (x, y, weight) for each batch."""

    def __init__(self) -> None:
        self.train: list[tuple[Any, Any, Any]] = []
        self.test: list[tuple[Any, Any, Any]] = []

    def rows(self, part: str = "train") -> list[int]:
        """The row numbers, which are in the first input, in the order in which they came."""
        return [int(row) for x, _, _ in getattr(self, part) for row in np.asarray(first_leaf(x))[:, 0]]

    def labels(self, part: str = "train") -> Any:
        """All labels in that order."""
        return np.concatenate([np.asarray(first_leaf(y)) for _, y, _ in getattr(self, part)])

    def weights(self, part: str = "train") -> Any:
        """All weights in that order."""
        return np.concatenate([np.asarray(w) for _, _, w in getattr(self, part)])

    def sizes(self, part: str = "train") -> list[int]:
        """The number of rows of each batch."""
        return [len(np.asarray(first_leaf(x))) for x, _, _ in getattr(self, part)]


def first_leaf(value: Any) -> Any:
    """The first array of a container."""
    while isinstance(value, (dict, list, tuple)):
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
    return value


def spy(units: int = len(CLASSES), inputs: Any = None, activation: str = "softmax", outputs: Any = None) -> Any:
    """A keras model that trains like any other, in plain Python, and keeps every batch in `seen`."""
    import keras

    class Spy(keras.Model):
        def train_step(self, data: Any) -> Any:
            x, y, weight = keras.utils.unpack_x_y_sample_weight(data)
            self.seen.train.append((x, y, weight))
            return {"loss": float(len(self.seen.train))}

        def test_step(self, data: Any) -> Any:
            x, y, weight = keras.utils.unpack_x_y_sample_weight(data)
            self.seen.test.append((x, y, weight))
            return {"loss": 0.25}

    inputs = keras.Input((4,)) if inputs is None else inputs
    first = first_leaf(inputs)
    made = keras.layers.Dense(units, activation=activation, name="answer")(first) if outputs is None else outputs(first)
    model = Spy(inputs, made)
    model.seen = Seen()
    model.compile(optimizer="sgd", loss="mse", run_eagerly=True)
    return model
