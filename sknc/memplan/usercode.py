"""Calling the user's code: whose failure it was, and where."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sknc.errors import SkncError


class UserCodeFailed(Exception):
    """The user's code raised; `__cause__` is what it raised."""


def call_user(what: str, function: Callable[[], Any]) -> Any:
    """Call the user's code, and tell its failures from ours.

    Args:
        what: for the message.
        function: the code.

    Returns:
        What it returns.

    Raises:
        UserCodeFailed: when it raises.
    """
    try:
        return function()
    except SkncError:
        raise
    except SystemExit as error:
        raise UserCodeFailed(f"{what} ended with status {error.code or 0} before it trained") from error
    except (Exception, KeyboardInterrupt) as error:
        said = f": {error}" if str(error) else ""
        raise UserCodeFailed(f"{what} failed: {type(error).__name__}{said}") from error


def import_callable(name: str) -> Callable[[], Any]:
    """Import module:callable, with the working folder among the places to look.

    Args:
        name: module:callable.

    Returns:
        The callable.
    """
    module, _, attribute = name.partition(":")
    sys.path.insert(0, os.getcwd())
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"'{attribute}' of '{module}' cannot be called")
    result: Callable[[], Any] = found
    return result


def user_frames(error: BaseException | None) -> str | None:
    """A traceback shortened to the user's own frames.

    Args:
        error: what the user's code raised.

    Returns:
        Its lines, or None when no frame is the user's.
    """
    if error is None:
        return None
    library = (
        str(Path(__file__).parents[1]),
        f"{os.sep}site-packages{os.sep}",
        str(Path(os.__file__).parent),
        "<frozen",
    )
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not any(part in frame.filename for part in library)
    ]
    return "\n".join(f"{frame.filename}:{frame.lineno}: {frame.line}" for frame in frames) or None
