"""Builds a submodel's network by executing its program up to the training."""

from __future__ import annotations

import contextlib
import io
import os
import random
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

from .context import new_session
from .errors import BuildOnly, ProgramError


def build_only(path: str | os.PathLike[str]) -> Any:
    """Returns the model that a program would train, built and compiled but not trained.

    This is for networks that no configuration describes (Lambda code, layers without get_config). The
    program's text runs as `__main__` in a module of its own; what it prints is dropped, and the random
    numbers of this process go on as if nothing had happened.

    Args:
        path: the program.

    Returns:
        The keras model.

    Raises:
        ProgramError: the program ended without training.
    """
    place = Path(path).absolute()
    code = compile(place.read_bytes(), str(place), "exec")
    module = types.ModuleType("__main__")
    module.__file__ = str(place)
    states = random.getstate(), np.random.get_state()
    main = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        with new_session(build=True), contextlib.redirect_stdout(io.StringIO()):
            exec(code, module.__dict__)
    except BuildOnly as built:
        if built.model is None:
            raise ProgramError(f"{place.name} ended without a model") from None
        return built.model
    finally:
        sys.modules["__main__"] = main
        random.setstate(states[0])
        np.random.set_state(states[1])
    raise ProgramError(f"{place.name} ended without training a model")
