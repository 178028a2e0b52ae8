"""What is said and written down when a planned training fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...context import Context, session
from ...errors import ProgramError
from ...frameworks import tensorflow
from ...measuring import peak_bytes
from .room import OutOfRoom, forget_shortage, shortage_of, write_shortage


def program_block() -> Context | None:
    """Returns the block of a program that is being trained within a budget, None in any other use."""
    current = session()
    found = None if current.build else current.current
    return found if found is not None and found.budget is not None else None


class watched:  # noqa: N801  # used like a function
    """A scope in which training goes on: what fails for want of room says what was planned, and is written down.

    Args:
        keeper: whose plan is obeyed.
    """

    def __init__(self, keeper: Any) -> None:
        self.keeper = keeper
        self.context = program_block()
        self.steps = self._steps()

    def _steps(self) -> int:
        """How many steps the model's train function has done."""
        return int(getattr(self.keeper.model.train_function, "steps", 0))

    def __enter__(self) -> None:
        if self.context is not None:
            write_shortage(self.context.folder, shortage_of(self.keeper.plan, self.keeper.given))

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        told = error if isinstance(error, OutOfRoom) else self.told(error)
        if isinstance(told, OutOfRoom) and told is not error and self._steps() != self.steps:
            # What failed is no train step, and those before it had room.
            told = ProgramError(
                f"the device had no room left for what is not training, and no plan is for that; {told.shortage.asked}",
                "give fit a smaller validation_batch_size, or do less in its callbacks",
            )
        if self.context is not None:
            if isinstance(told, OutOfRoom):
                write_shortage(self.context.folder, told.shortage)
            else:
                forget_shortage(self.context.folder)
        if told is not None and told is not error:
            raise told from error

    def told(self, error: BaseException | None) -> ProgramError | None:
        """Returns what to say of an error, None where it has nothing to do with memory.

        Args:
            error: any, or None.
        """
        if not isinstance(error, tensorflow().errors.OpError):
            return None
        told: ProgramError | None = self.keeper.pools.told(error)
        if told is not None or not isinstance(error, tensorflow().errors.ResourceExhaustedError):
            return told
        asked = _asked(str(error.message))
        return OutOfRoom(shortage_of(self.keeper.plan, self.keeper.given, asked, peak_bytes()))


class Guarded:
    """A train function whose failures for want of room say what was planned.

    Args:
        function: trains a step.
        keeper: whose plan is obeyed.
    """

    def __init__(self, function: Callable[..., Any], keeper: Any) -> None:
        self.function = function
        self.keeper = keeper
        self.steps = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Trains a step.

        Args:
            *args: of the function.
            **kwargs: of the function.

        Returns:
            What the function returns.

        Raises:
            OutOfRoom: the device had no room.
        """
        try:
            result = self.function(*args, **kwargs)
            self.steps += 1
            return result
        except tensorflow().errors.OpError as error:
            # Nobody waits for this step's files any more.
            self.keeper.pools.tidy()
            told = watched(self.keeper).told(error)
            if told is None:
                raise
            raise told from error


def _asked(message: str) -> str:
    """The line of TensorFlow's message that says how much was asked for."""
    found = re.search(r"(OOM when allocating|failed to allocate)[^\n]*", message, re.IGNORECASE)
    return found[0].strip() if found else message.strip().partition("\n")[0]
