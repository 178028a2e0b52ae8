"""Composition of a single submodel: the submodel itself (Skynnet, section 3.1, with M = 1).

One submodel at full width has every class in its place, so there is nothing to compose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Value = TypeVar("Value")


def reference(outputs: Sequence[Value]) -> Value:
    """Return the only submodel's output.

    Args:
        outputs: A sequence of one output.

    Returns:
        That output.

    Raises:
        ValueError: There is not exactly one output.
    """
    if len(outputs) != 1:
        raise ValueError(f"the identity composes one submodel, not {len(outputs)}")
    return outputs[0]


graph = reference
