"""`sknc run`: train every submodel of an output folder, compose, report."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from sknc.engines import Options, Report, Stop, make_engine, run
from sknc.engines.base import Observer
from sknc.report import results, table
from sknc.report.progress import Watcher

INTERRUPTED = 130
FAILED = 3


@click.command("run", short_help="Train every submodel of DIR, compose, report.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--engine",
    type=click.Choice(["local", "dask"]),
    default="local",
    show_default=True,
    help="What runs the programs: this machine, or a Dask cluster.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Programs at once. [default: by cores and memory]"
)
@click.option("--scheduler", metavar="ADDRESS", help="Address of the Dask scheduler.")
@click.option("--fresh", is_flag=True, help="Forget what earlier runs have finished.")
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Attempts after the first for a program that fails.",
)
@click.option("--baseline", is_flag=True, help="Train the original as well, and compare.")
def command(
    folder: Path,
    engine: str,
    jobs: int | None,
    scheduler: str | None,
    fresh: bool,
    retries: int,
    baseline: bool,
) -> None:
    """Train every submodel of DIR, each in a process of its own, compose them, and report.

    What is finished is not run again unless its program has changed: after Ctrl-C, a failure or a power cut
    the same command goes on where it stopped. Ends with 0, with 3 when a training failed, with 130 when it
    was interrupted.
    """
    # Progress is not a result: `sknc run DIR > out.txt` keeps what the composer prints, and the table.
    progress = Console(stderr=True, highlight=False)
    chosen = make_engine(engine, jobs, scheduler)
    watchers: list[Watcher] = []

    def watch(report: Report) -> Observer:
        for name in report.split.changed:
            _warn(progress, f"{folder / name} was changed after the split; what is there now is run")
        watchers.append(Watcher(report, progress, sys.stdout.buffer))
        return watchers[0]

    with Stop() as stop:
        try:
            report = run(folder, chosen, Options(retries, fresh, baseline), watch, stop, results.save)
        finally:
            for watcher in watchers:
                watcher.close()
    _finish(report, progress)


def _finish(report: Report, progress: Console) -> None:
    """Print the table and end with the status of the run."""
    sys.stdout.flush()
    # In a file there is no edge of the screen that would cut the last columns off.
    width = None if sys.stdout.isatty() else 160
    table.show(report, Console(highlight=False, width=width))
    if report.status == "failed":
        table.show_failures(report, progress)
    if report.status != "finished":
        done = sum(row.status == "finished" for row in report.rows)
        kept = f"{done} of {len(report.rows)} submodels are finished and kept"
        progress.print(Text(f"{kept}; `sknc run {report.split.folder}` goes on from there"), soft_wrap=True)
        raise SystemExit(INTERRUPTED if report.status == "stopped" else FAILED)


def _warn(console: Console, text: str) -> None:
    console.print(Text(f"warning: {text}", style="yellow"), soft_wrap=True)
