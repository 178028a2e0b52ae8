"""Keras and TensorFlow, imported when they are first needed.

A program may set environment variables before it imports Keras, and `sknc` itself reads parts of this
package on machines without TensorFlow. Both libraries ship no types: they are `Any` from here on.
"""

from __future__ import annotations

import importlib
from typing import Any


def keras() -> Any:
    """Returns the keras module."""
    return importlib.import_module("keras")


def tensorflow() -> Any:
    """Returns the tensorflow module."""
    return importlib.import_module("tensorflow")
