"""The local engine: programs as processes of this machine, some at once."""

from __future__ import annotations

import collections
import contextlib
import errno
import os
import select
import shutil
import signal
import time
from collections.abc import Sequence

from sknc.engines import capacity, room
from sknc.engines.base import Capacity, Observer, Outcome, Stop, Task
from sknc.engines.child import Child, end

_POLL = 0.1
_ALMOST_FULL = 1 << 20


class LocalEngine:
    """Runs programs on this machine.

    Args:
        jobs: how many at once; None: as many as cores and memory allow.
        grace: seconds that a program has to end itself when the run is stopped.
    """

    name = "local"

    def __init__(self, jobs: int | None = None, grace: float = 5.0) -> None:
        self._jobs = jobs
        self._grace = grace

    def capacity(self, programs: int) -> Capacity:
        """Return how many programs run at once, and their threads."""
        return capacity.plan(programs, self._jobs)

    def run(self, tasks: Sequence[Task], *, retries: int, observer: Observer, stop: Stop) -> list[Outcome]:
        """Run tasks that do not depend on each other; see `sknc.engines.base.Engine`.

        A task that failed is tried again after the others: what was short (memory, often) may be there then.
        One whose memory plan did not fit is tried once with a smaller one, however many retries there are.
        """
        queue = collections.deque((task, 1) for task in tasks)
        share = self.capacity(len(tasks))
        environment = capacity.environment(share, os.environ)
        running: list[Child] = []
        outcomes: dict[str, Outcome] = {}
        planned_again: set[str] = set()
        try:
            while (queue or running) and not stop.requested:
                while queue and len(running) < share.jobs:
                    task, attempt = queue.popleft()
                    running.append(Child(task, attempt, environment))
                    observer.started(task, attempt)
                _wait(running)
                for child in list(running):
                    outcome = _look(child, observer, share.threads)
                    if outcome is None:
                        continue
                    running.remove(child)
                    child.close()
                    if _again(outcome, retries, planned_again):
                        observer.retrying(outcome)
                        queue.append((child.task, child.attempt + 1))
                    else:
                        outcomes[outcome.task.name] = outcome
                        observer.ended(outcome)
                observer.tick()
        finally:
            self._stop(running, stop)
        for child in running:
            outcomes[child.task.name] = _stopped(child.task, child.attempt, child.seconds, share.threads)
        return [outcomes.get(task.name) or _stopped(task, 0, 0.0, share.threads) for task in tasks]

    def _stop(self, running: list[Child], stop: Stop) -> None:
        end(running, 0.0 if stop.urgent else self._grace, urgent=lambda: stop.urgent)
        for child in running:
            child.close()


def _again(outcome: Outcome, retries: int, planned_again: set[str]) -> bool:
    """Tell whether a program is started once more; note it when that is with a smaller plan."""
    if outcome.status != "failed":
        return False
    if outcome.no_room is None:
        return outcome.attempts <= retries
    first = outcome.task.name not in planned_again
    planned_again.add(outcome.task.name)
    return first


def _wait(running: Sequence[Child]) -> None:
    """Sleep until the next look; a streamed program's output ends the sleep."""
    pipes = [child.pipe for child in running if child.pipe >= 0]
    if pipes:
        select.select(pipes, [], [], _POLL)
    else:
        time.sleep(_POLL)


def _look(child: Child, observer: Observer, threads: int) -> Outcome | None:
    """Pass on what a program said; return its outcome when it has ended."""
    status = child.poll()
    for event in child.events():
        observer.event(child.task, event)
    data = child.output()
    while data:
        observer.output(child.task, data)
        data = child.output() if status is not None else b""
    if status is None:
        return None
    reason = _failure(child.task, status)
    no_room = room.shortage(child.task, status, child.note_before) if reason else None
    if no_room is not None:
        reason += f"; {room.describe(no_room)}"
    if reason:
        child.signal_group(signal.SIGKILL)
    return Outcome(
        child.task,
        "failed" if reason else "finished",
        child.attempt,
        child.seconds,
        threads,
        reason,
        child.log_start,
        no_room,
    )


def _failure(task: Task, status: int) -> str:
    """Return why an ended program did not do its work, or "" when it did."""
    if task.role != "composer" and task.result.is_file():
        # Written last and in one step: whatever happened after it did not touch the training.
        return ""
    if status == 0:
        return "" if task.role == "composer" else "it ended before its training was complete"
    reason = f"exit status {status}"
    if status < 0:
        with contextlib.suppress(ValueError):
            reason = f"killed by {signal.Signals(-status).name}"
        if -status == signal.SIGKILL:
            reason += "; often that is the system, out of memory: try a smaller --jobs"
    with contextlib.suppress(OSError):
        if shutil.disk_usage(task.home).free < _ALMOST_FULL:
            reason += f"; {os.strerror(errno.ENOSPC).lower()}"
    return reason


def _stopped(task: Task, attempts: int, seconds: float, threads: int) -> Outcome:
    return Outcome(task, "stopped", attempts, seconds, threads)
