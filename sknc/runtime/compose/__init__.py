"""Putting submodels together: one keras.Model that answers like the original."""

from __future__ import annotations

from .history import trained
from .model import composed
from .report import end
from .state import Composition, begin_composed
from .watch import watch

__all__ = ["Composition", "begin_composed", "composed", "end", "trained", "watch"]
