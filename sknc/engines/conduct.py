"""A whole run: the blocks in order, the composer, the original."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from collections.abc import Callable, Sequence

from sknc.engines import files, folder, lock
from sknc.engines.base import Engine, Event, Observer, Outcome, Stop, Task
from sknc.engines.report import Report, Row, begin, record_path, take_earlier, take_outcome
from sknc.errors import EnvironmentProblem, MissingExtra

Save = Callable[[Report], None]


@dataclasses.dataclass(frozen=True)
class Options:
    """How to run: attempts after the first, forget earlier runs, train the original as well."""

    retries: int = 1
    fresh: bool = False
    baseline: bool = False


def check_training_possible() -> None:
    """Look for what training needs, without importing it.

    Raises:
        MissingExtra: TensorFlow or Keras is not installed in this interpreter.
    """
    for package in ("tensorflow", "keras"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra("cpu", "sknc run", package)


def run(
    path: str | os.PathLike[str],
    engine: Engine,
    options: Options,
    observer: Callable[[Report], Observer],
    stop: Stop,
    save: Save,
) -> Report:
    """Train what is not trained yet, compose, and report.

    Args:
        path: the output folder.
        engine: runs the programs.
        options: how.
        observer: makes, for the report of this run, who is told what happens.
        stop: ends the run when it is set.
        save: called whenever a program has ended; stores the report.

    Returns:
        The report; its status tells whether everything was finished.

    Raises:
        SkncError: the folder cannot be run at all.
    """
    split = folder.read(path)
    check_training_possible()
    if options.baseline and split.original is None:
        raise EnvironmentProblem(
            f"{split.folder} has no {folder.ORIGINAL} to compare with",
            hint="split the script again with this version of sknc",
        )
    with lock.acquire(split.folder, "run"):
        # Read again: a split may have written the folder anew before the lock was ours.
        split = folder.read(path)
        if options.fresh:
            files.forget_runs(split.folder)
        report = begin(split, options.baseline)
        return _Conductor(report, engine, options, observer, stop, save).conduct()


class _Conductor:
    """One run; itself the engine's observer, so that the report is kept while programs run."""

    def __init__(
        self,
        report: Report,
        engine: Engine,
        options: Options,
        watch: Callable[[Report], Observer],
        stop: Stop,
        save: Save,
    ) -> None:
        self._report = report
        self._engine = engine
        self._options = options
        for row in report.rows + ([report.original] if report.original else []):
            said = folder.result(row.program)
            if said is not None:
                take_earlier(row, said)
        self._observer = watch(report)
        self._stop = stop
        self._save = save

    def conduct(self) -> Report:
        """Run everything that can be run."""
        report = self._report
        self._save(report)
        complete = all(self._train(report.rows_of(block)) for block in report.split.blocks)
        complete = complete and self._compose()
        if complete and report.original is not None:
            complete = self._train([report.original])
        if complete and report.original is not None:
            report.original_said = folder.result(report.original.program) or {}
        report.status = "finished" if complete else "stopped" if self._stop.requested else "failed"
        self._save(report)
        return report

    def _train(self, rows: Sequence[Row]) -> bool:
        """Train what is not finished; tell whether all of it is now."""
        todo = [row.program.task for row in rows if row.status != "finished"]
        if todo:
            self._run(todo, self._options.retries)
        return all(row.status == "finished" for row in rows)

    def _compose(self) -> bool:
        """Run the composers, in order. What they do is the user's own code: not tried twice."""
        for row in self._report.composer:
            self._run([row.program.task], 0)
            if row.status != "finished":
                return False
            self._report.composed.update(folder.read_json(row.program.task.result) or {})
        return True

    def _run(self, tasks: Sequence[Task], retries: int) -> None:
        for outcome in self._engine.run(tasks, retries=retries, observer=self, stop=self._stop):
            if outcome.status == "stopped" and outcome.attempts:
                take_outcome(self._report.row(outcome.task.name), outcome, self._report.split.source)

    def started(self, task: Task, attempt: int) -> None:
        """A program starts."""
        self._report.row(task.name).status = "running"
        self._observer.started(task, attempt)

    def event(self, task: Task, event: Event) -> None:
        """A program said something."""
        self._observer.event(task, event)

    def output(self, task: Task, data: bytes) -> None:
        """A streamed program printed something."""
        self._observer.output(task, data)

    def retrying(self, outcome: Outcome) -> None:
        """An attempt failed, and there will be another."""
        row = self._report.row(outcome.task.name)
        take_outcome(row, outcome, self._report.split.source)
        row.status = "waiting"
        self._observer.retrying(outcome)

    def ended(self, outcome: Outcome) -> None:
        """A task is over: note how, beside its artifacts and in the report."""
        row = self._report.row(outcome.task.name)
        take_outcome(row, outcome, self._report.split.source)
        if outcome.status == "finished":
            note: dict[str, object] = {"attempts": outcome.attempts, "threads": outcome.threads}
            note["wall_seconds"] = outcome.seconds
            if row.no_room is not None:
                note["no_room"] = dict(row.no_room)
            files.write_json(record_path(outcome.task.home), note)
        self._save(self._report)
        self._observer.ended(outcome)

    def tick(self) -> None:
        """Some time has passed."""
        self._observer.tick()


def make_engine(name: str, jobs: int | None, scheduler: str | None) -> Engine:
    """Return the engine of a name.

    Args:
        name: "local" or "dask".
        jobs: programs at once; None leaves it to the engine.
        scheduler: address of a Dask scheduler.

    Raises:
        MissingExtra: Dask is asked for and not installed.
        EnvironmentProblem: Dask is asked for; this version has no such engine.
    """
    if name == "dask":
        if importlib.util.find_spec("distributed") is None:
            raise MissingExtra("dask", "--engine dask", "distributed")
        raise EnvironmentProblem(
            "--engine dask is not available in this version of sknc", hint="leave it out: programs run here"
        )
    if scheduler is not None:
        raise EnvironmentProblem("--scheduler is for --engine dask", hint="leave it out")
    from sknc.engines.local import LocalEngine

    return LocalEngine(jobs)
