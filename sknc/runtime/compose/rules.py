"""The rules of multiclass composition, by the name that the command line takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import coupling, product

RULES: dict[str, Callable[..., Any]] = {"coupling": coupling.graph, "product": product.graph}
"""The default is coupling: measured in docs/benchmarks.md, section Composition."""
