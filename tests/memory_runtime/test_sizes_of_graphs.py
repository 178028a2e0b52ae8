"""How large tensors of a flat graph are."""

from __future__ import annotations

import keras
import pytest

from sknc.runtime.memory.execute.flatten import FlatGraph


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [
        ((None, 8), "float32", 4 * 8 * 4),
        ((None, None, 8), "bfloat16", 4 * 8 * 2),
        ((3, 8), "float64", 3 * 8 * 8),
        ((None, 8), "bool", 4 * 8),
        ((None, 8), "uint8", 4 * 8),
        ((None, 8), "int64", 4 * 8 * 8),
    ],
)
def test_an_unknown_length_counts_as_the_batch_does_once(shape: tuple[int | None, ...], dtype: str, size: int) -> None:
    graph = FlatGraph(None)
    assert graph.size(graph.key(keras.KerasTensor(shape, dtype)), 4) == size
