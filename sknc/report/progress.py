"""What is shown while a run goes on: a live display on a terminal, plain lines everywhere else."""

from __future__ import annotations

import time
from typing import BinaryIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sknc.engines.base import Event, Outcome, Task
from sknc.engines.progress import Progress
from sknc.engines.report import Report
from sknc.engines.room import size

# A log of a CI job is read afterwards: one line per program and this many seconds is enough.
_PLAIN_SECONDS = 5.0
_LIVE_SECONDS = 0.25


class Watcher:
    """Tells on a console how a run goes on; an `sknc.engines.base.Observer`.

    Args:
        report: the run's report.
        console: where to; the display is live when it is a terminal.
        out: where a streamed program's output goes, byte for byte; after a broken pipe it goes nowhere.
    """

    def __init__(self, report: Report, console: Console, out: BinaryIO) -> None:
        self._report = report
        self._console = console
        self._out: BinaryIO | None = out
        # FORCE_COLOR makes rich call a log file a terminal; nothing is redrawn in a log file.
        self._redraws = console.file.isatty() and not console.is_dumb_terminal
        self._running: dict[str, Progress] = {}
        self._starts: dict[str, float] = {}
        self._said: dict[str, float] = {}
        self._live: Live | None = None
        self._drawn = 0.0
        reused = [row.file for row in report.all_rows if row.reused]
        if reused:
            self._print(f"{_count(len(reused), 'program')} finished earlier, not run again: {_some(reused)}")

    def started(self, task: Task, attempt: int) -> None:
        """A program starts: say so."""
        self._running[task.name] = Progress()
        self._starts[task.name] = self._said[task.name] = time.monotonic()
        again = f", attempt {attempt}" if attempt > 1 else ""
        if task.stream or not self._redraws:
            self._print(f"{task.name}: started{again}{self._position(task)}")
        self._draw(now=True)

    def event(self, task: Task, event: Event) -> None:
        """A program said something: keep it, and on a plain console say the epochs now and then."""
        progress = self._running.setdefault(task.name, Progress())
        progress.apply(event)
        now = time.monotonic()
        if self._redraws or event["event"] != "epoch":
            return
        if now - self._said.get(task.name, 0.0) >= _PLAIN_SECONDS:
            self._said[task.name] = now
            self._print(f"{task.name}: {_describe(progress)}")

    def output(self, task: Task, data: bytes) -> None:
        """A streamed program printed something: pass it on."""
        if self._out is None:
            return
        try:
            self._out.write(data)
            self._out.flush()
        except (BrokenPipeError, ValueError):
            self._out = None

    def retrying(self, outcome: Outcome) -> None:
        """An attempt failed, and there will be another: say so."""
        self._forget(outcome.task)
        how = "" if outcome.no_room is None else f" with a plan for {size(outcome.no_room.get('next_budget'))}"
        self._print(f"{outcome.task.name}: failed ({outcome.reason}); it will be tried again{how}", "yellow")

    def ended(self, outcome: Outcome) -> None:
        """A program is over: one line that stays."""
        progress = self._running.get(outcome.task.name, Progress())
        self._forget(outcome.task)
        name, status = outcome.task.name, outcome.status
        if status == "failed":
            self._print(f"{name}: failed ({outcome.reason})", "red")
        elif status == "finished" and not outcome.task.stream:
            measures = _measures(progress)
            after = f"; {measures}" if measures else ""
            self._print(f"{name}: finished after {seconds(outcome.seconds)}{after}", "green")

    def tick(self) -> None:
        """Some time has passed: draw again, not too often."""
        self._draw()

    def close(self) -> None:
        """Take the live display away."""
        self._close()

    def _forget(self, task: Task) -> None:
        self._running.pop(task.name, None)
        if not self._running:
            self._close()

    def _position(self, task: Task) -> str:
        if task.role != "submodel":
            return ""
        names = [row.file for row in self._report.rows]
        return f" ({names.index(task.name) + 1} of {len(names)})"

    def _print(self, text: str, style: str = "") -> None:
        # soft_wrap: a line of a log is one line, however narrow the console says it is.
        self._console.print(Text(text, style=style), soft_wrap=True)

    def _draw(self, now: bool = False) -> None:
        if not self._redraws or not self._running:
            return
        if any(row.status == "running" for row in self._report.composer):
            # What a composer prints is the user's; a display that is redrawn around it would tear it up.
            return
        moment = time.monotonic()
        if not now and moment - self._drawn < _LIVE_SECONDS:
            return
        self._drawn = moment
        if self._live is None:
            # No refresh thread: `tick` comes often enough, and programs are started from this thread only.
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(self._picture(), refresh=True)

    def _close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _picture(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        rows = max(3, self._console.size.height - 4)
        for name, progress in list(self._running.items())[:rows]:
            table.add_row(name, *_cells(progress), seconds(time.monotonic() - self._starts[name]))
        if len(self._running) > rows:
            table.add_row(f"and {len(self._running) - rows} more")
        return Group(table, Text(self._summary(), style="dim"))

    def _summary(self) -> str:
        rows = self._report.rows
        done = sum(row.status == "finished" for row in rows)
        failed = sum(row.status == "failed" for row in rows)
        text = f"{done} of {len(rows)} submodels finished"
        return f"{text}, {failed} failed" if failed else text


def _cells(progress: Progress) -> tuple[RenderableType, ...]:
    bar = ProgressBar(total=1.0, completed=progress.fraction, width=16)
    return bar, _epoch(progress), _measures(progress), _left(progress)


def _describe(progress: Progress) -> str:
    return ", ".join(part for part in (_epoch(progress), _measures(progress), _left(progress)) if part)


def _left(progress: Progress) -> str:
    left = progress.seconds_left(time.time())
    return "" if left is None or progress.fraction >= 1 else f"{seconds(left)} left"


def _epoch(progress: Progress) -> str:
    if progress.epochs:
        return f"epoch {progress.epoch}/{progress.epochs}"
    return f"epoch {progress.epoch}" if progress.epoch else "starting"


def _measures(progress: Progress) -> str:
    parts = [] if progress.loss is None else [f"loss {progress.loss:.4g}"]
    accuracy = progress.accuracy()
    if accuracy is not None:
        parts.append(f"accuracy {accuracy:.3f}")
    return ", ".join(parts)


def seconds(value: float) -> str:
    """Return a time as people say it: "0.4 s", "12 s", "3 min 05 s", "2 h 10 min"."""
    if value < 9.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _some(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} ... {names[-1]}"
