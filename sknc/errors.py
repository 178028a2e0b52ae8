"""Every failure that sknc raises on purpose, from one root.

A finding in a user's script is not an error here: it is a `sknc.diagnostics.Diagnostic`, collected and
shown with its line. These are for the rest: wrong usage, a missing extra, a disk that is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sknc.diagnostics import Diagnostic

__all__ = [
    "EnvironmentProblem",
    "FindingsError",
    "FolderNotOurs",
    "InputProblem",
    "MissingExtra",
    "SkncError",
    "TrainingFailed",
    "UnknownSchema",
    "UsageError",
]


class SkncError(Exception):
    """The root: a message, one hint, and the exit status that the command line gives it.

    Args:
        message: what is wrong, in one sentence without a final full stop.
        hint: what to do about it, or None when there is nothing to advise.
        status: exit status of the process; the class's own when None (2, or 3 for a failed training).
    """

    default_status = 2

    def __init__(self, message: str, hint: str | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.status = self.default_status if status is None else status


class UsageError(SkncError):
    """The command was called in a way that cannot work: a bad option, a file that is not there."""


class InputProblem(UsageError):
    """A file that was named cannot be read: missing, a folder, unreadable, not text."""


class EnvironmentProblem(SkncError):
    """The machine does not let us: no permission, no space, a lock held by another process."""


class FolderNotOurs(EnvironmentProblem):
    """An output folder holds files that sknc did not make, so it is not replaced."""


class UnknownSchema(EnvironmentProblem):
    """A manifest or result was written in a schema that this version does not know."""


class MissingExtra(EnvironmentProblem):
    """A command needs packages that an extra of sknc brings.

    Args:
        extra: name of the extra, as in `sknc[extra]`.
        what: what needs it, e.g. "sknc run"; the sentence starts with it.
        package: the import that failed, named in the message when given.
    """

    def __init__(self, extra: str, what: str = "this command", package: str | None = None) -> None:
        missing = f"{package}, which comes with the extra" if package else "the extra"
        super().__init__(
            f"{what} needs {missing} sknc[{extra}]",
            hint=f"install it: python -m pip install 'sknc[{extra}]'",
        )
        self.extra = extra


class TrainingFailed(SkncError):
    """At least one training of a run failed; what is finished is kept."""

    default_status = 3


class FindingsError(SkncError):
    """The script has findings that keep it from being split.

    Args:
        message: how many there are, and in which file.
        diagnostics: the findings.
    """

    default_status = 1

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(message, hint="`sknc check` shows where; `sknc explain CODE` says why")
        self.diagnostics = tuple(diagnostics)
