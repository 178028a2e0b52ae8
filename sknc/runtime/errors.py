"""Errors that an emitted program raises about itself or about the data it was given."""

from __future__ import annotations

from typing import Any


class ProgramError(Exception):
    """Something that a person has to change before this program can train.

    Args:
        message: what is wrong, with the values that show it.
        hint: what to write instead.

    Attributes:
        exit_status: of a program that ends with this error; 1 where it says none.
    """

    exit_status = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\n  hint: {hint}")
        self.message = message
        self.hint = hint


class LabelError(ProgramError):
    """A label that cannot be read as one of the block's classes."""


class EmptyShareError(ProgramError):
    """The data holds no row for this submodel."""


class BuildOnly(BaseException):
    """Leaves a program at the point where its model would train, and carries the model.

    It is no `Exception`, so that a user's `except Exception` around the training lets it through.

    Args:
        model: the compiled keras model.
    """

    def __init__(self, model: Any) -> None:
        super().__init__("the model is built")
        self.model = model
