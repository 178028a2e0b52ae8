"""What an engine is: something that runs programs, some at once, and says how each ended.

The local engine runs them as processes of this machine. One that sends them to other machines has the
same duties: keep `Task.program` running at most `retries + 1` times, once more with the next smaller plan where
the device had no room for its memory plan, tell the observer, and leave `Task.result` where the composer looks for
it.
"""

from __future__ import annotations

import dataclasses
import signal
import threading
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, final

Role = Literal["submodel", "composer", "original"]
Status = Literal["finished", "failed", "stopped"]
Event = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Task:
    """One program to run.

    `home` is its folder under artifacts/: log.txt and progress.jsonl are written there. A submodel and the
    original have done their work when `result` exists, a composer when it exits with 0. `stream` passes its
    output on. `modules` is the folder of the user's script: what the script imports from beside itself is
    looked for there.
    """

    name: str
    program: Path
    role: Role
    home: Path
    result: Path
    block: int | None = None
    stream: bool = False
    modules: Path | None = None

    @property
    def log(self) -> Path:
        """Where everything that the program prints is kept."""
        return self.home / "log.txt"

    @property
    def progress(self) -> Path:
        """Where the program writes one JSON line per epoch and second."""
        return self.home / "progress.jsonl"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a task ended: after how many attempts, and after how many seconds of the last one.

    `no_room` is there when the device had no room for its memory plan: see `sknc.engines.room.shortage`.
    """

    task: Task
    status: Status
    attempts: int
    seconds: float
    threads: int
    reason: str = ""
    log_start: int = 0
    no_room: Mapping[str, Any] | None = None


@dataclasses.dataclass(frozen=True)
class Capacity:
    """How many programs run at once, and how many threads each may use."""

    jobs: int
    threads: int


class Observer(Protocol):
    """Who is told what happens. All calls come from the thread that called `Engine.run`."""

    def started(self, task: Task, attempt: int) -> None:
        """A program starts."""

    def event(self, task: Task, event: Event) -> None:
        """A program said something through its progress file."""

    def output(self, task: Task, data: bytes) -> None:
        """A streamed program printed something."""

    def retrying(self, outcome: Outcome) -> None:
        """An attempt failed, and there will be another."""

    def ended(self, outcome: Outcome) -> None:
        """A task is over."""

    def tick(self) -> None:
        """Some time has passed."""


class Engine(Protocol):
    """Runs programs. `run` returns one outcome per task, in the order of the tasks."""

    name: str

    def capacity(self, programs: int) -> Capacity:
        """Return how `programs` programs would be run."""

    def run(self, tasks: Sequence[Task], *, retries: int, observer: Observer, stop: Stop) -> list[Outcome]:
        """Run tasks that do not depend on each other.

        Args:
            tasks: what to run; started in this order.
            retries: how often one that failed is started again.
            observer: told about everything.
            stop: asked regularly; when it is set, running programs are ended and the rest not started.

        Returns:
            One outcome per task.
        """


@final
class Stop:
    """Whether the user wants the run to end. As a context manager it listens to Ctrl-C and to SIGTERM.

    A flag, not an exception: an exception could strike between the start of a process and the moment that
    somebody remembers its id.
    """

    def __init__(self) -> None:
        self.count = 0
        self._old: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        """Whether a signal came."""
        return self.count > 0

    @property
    def urgent(self) -> bool:
        """Whether a second signal came: no more patience."""
        return self.count > 1

    def request(self, _number: int = 0, _frame: types.FrameType | None = None) -> None:
        """Ask for the end; a second call asks for it at once."""
        self.count += 1

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)
                # Under nohup SIGHUP is ignored, and a run must go on ignoring it.
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    self._old[number] = signal.signal(number, self.request)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)
        self._old.clear()
