"""Planning the memory of a training.

What is decided is arithmetic, in the standard library alone. `tensorflow` and what it imports trace a Keras model, and
`execute` obeys a plan; they are imported when they are first needed.
"""

from __future__ import annotations

import importlib
from typing import Any

_LATER = {
    "MemoryMonitor": "execute.monitor",
    "configure": "execute.configure",
    "fit_in_memory": "execute.keeper",
    "plan_of": "execute.keeper",
    "release": "execute.keeper",
}


def __getattr__(name: str) -> Any:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
