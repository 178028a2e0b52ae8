"""One program in a process of its own: started, watched, ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from sknc.engines import launcher, room
from sknc.engines.base import Event, Task
from sknc.engines.lock import cannot_write
from sknc.engines.progress import Tail

_CHUNK = 1 << 16
_LOOK = 0.05


class Child:
    """A running program.

    Must be made by a thread that lives as long as the program: the kernel takes the end of that thread for
    the end of the parent.

    Args:
        task: what to run.
        attempt: 1 for the first; later ones add to the log instead of replacing it.
        environment: the whole environment of the process.

    Raises:
        EnvironmentProblem: the log cannot be written, or the process cannot be started.
    """

    def __init__(self, task: Task, attempt: int, environment: Mapping[str, str]) -> None:
        self.task = task
        self.attempt = attempt
        self._tail = Tail(task.progress)
        self._log = -1
        self.pipe = -1
        try:
            # The result of an earlier time must not stand for this one's.
            task.result.unlink(missing_ok=True)
            self.note_before = room.mark(task)
            self._open_log()
            self._process = self._start(_environment(task, environment))
        except OSError as error:
            self.close()
            raise cannot_write(task.home, error) from error
        self._began = time.monotonic()

    def _open_log(self) -> None:
        self.task.home.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        if self.attempt == 1:
            flags |= os.O_TRUNC
        self._log = os.open(self.task.log, flags, 0o666)
        if self.attempt > 1:
            os.write(self._log, f"\n--- attempt {self.attempt} ---\n".encode())
        self.log_start = os.lseek(self._log, 0, os.SEEK_END)
        self.task.progress.write_bytes(b"")

    def _start(self, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        started = subprocess.Popen(
            _command(self.task.program),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if self.task.stream else self._log,
            stderr=self._log,
            env=dict(environment),
            # Ctrl-C in the terminal is for `sknc run`, which ends its programs itself.
            start_new_session=True,
        )
        if started.stdout is not None:
            self.pipe = os.dup(started.stdout.fileno())
            started.stdout.close()
            os.set_blocking(self.pipe, False)
        return started

    @property
    def pid(self) -> int:
        """The process id; also the id of its process group."""
        return self._process.pid

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def events(self) -> list[Event]:
        """Return what the program said since the last call."""
        return list(self._tail.read())

    def output(self) -> bytes:
        """Return what a streamed program printed since the last call; it is in the log as well."""
        data = b""
        while self.pipe >= 0:
            try:
                chunk = os.read(self.pipe, _CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                os.close(self.pipe)
                self.pipe = -1
            data += chunk
            if len(data) > 16 * _CHUNK:
                break
        if data:
            # A full disk ends the log, not the run: what is printed still reaches the user.
            with contextlib.suppress(OSError):
                os.write(self._log, data)
        return data

    def poll(self) -> int | None:
        """Return the exit status (negative: the signal) when the process has ended, else None."""
        return self._process.poll()

    def signal_group(self, number: int) -> None:
        """Send a signal to the program and everything that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def close(self) -> None:
        """Close the log and the pipe."""
        for descriptor in (self.pipe, self._log):
            if descriptor >= 0:
                os.close(descriptor)
        self.pipe = self._log = -1


def end(children: Iterable[Child], grace: float, urgent: Callable[[], bool] = lambda: False) -> None:
    """End programs: politely, and after a while not.

    Args:
        children: the programs; those that have ended already do no harm.
        grace: seconds between SIGTERM and SIGKILL.
        urgent: asked meanwhile; when it is true the rest of the grace is not granted.
    """
    alive = [child for child in children if child.poll() is None]
    for child in alive:
        child.signal_group(signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and not urgent() and any(child.poll() is None for child in alive):
        time.sleep(_LOOK)
    for child in alive:
        # Also when the program itself has ended: its own helpers may still be there.
        child.signal_group(signal.SIGKILL)
        while child.poll() is None:
            time.sleep(_LOOK)


def _environment(task: Task, environment: Mapping[str, str]) -> dict[str, str]:
    made = {**environment, "SKN_PROGRESS": str(task.progress.absolute())}
    if task.modules is not None:
        before = made.get("PYTHONPATH")
        own = str(task.modules.absolute())
        made["PYTHONPATH"] = f"{before}{os.pathsep}{own}" if before else own
    return made


def _command(program: Path) -> list[str]:
    path = str(program.absolute())
    if sys.platform != "linux":
        return [sys.executable, path]
    # -I -S: nothing of the user's is imported by the few lines of the launcher, and it starts faster.
    return [sys.executable, "-I", "-S", launcher.__file__, str(os.getpid()), path]
