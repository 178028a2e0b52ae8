"""`sknc memplan`: what memory training will need, step by step."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from sknc.memplan import ACCOUNTINGS, ALLOCATORS, Request, make_report
from sknc.report.memory_plots import check_plotting
from sknc.report.writing import check_writable, write_file
from sknc.runtime.memory.errors import PlanError
from sknc.runtime.memory.units import format_size, parse_size

PICTURE_SUFFIXES = (".png", ".svg")
SUFFIXES = {".json": "json", ".html": "html", ".htm": "html"}
TEXT_WIDTH = 120
# Seconds after which a search tells how far it is.
PATIENCE = 5.0


class _Size(click.ParamType[int]):
    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes from text such as 8GiB."""
        if isinstance(value, int):
            return value
        try:
            return parse_size(value)
        except PlanError as error:
            self.fail(str(error), param, ctx)


class _Shape(click.ParamType[tuple[int, ...]]):
    name = "shape"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Sizes from text such as 224,224,3."""
        if isinstance(value, tuple):
            return value
        parts = value.replace("x", ",").split(",")
        if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
            self.fail(f"'{value}' is no shape; write for example 224,224,3", param, ctx)
        return tuple(int(part) for part in parts)


SIZE = _Size()


@click.command("memplan", short_help="Tell what memory training will need, step by step.")
@click.argument("target", metavar="TARGET")
@click.option("--batch", type=click.IntRange(min=1), metavar="B", help="Samples in a batch.")
@click.option("--optimizer", metavar="NAME", help="Optimizer whose slots are counted: sgd, momentum, adam, ...")
@click.option("--budget", type=SIZE, metavar="SIZE", help="Plan for a device that holds SIZE: 8GiB, 500MB.")
@click.option("--host-budget", type=SIZE, metavar="SIZE", help="What the host may hold. [default: no limit]")
@click.option("--disk-budget", type=SIZE, metavar="SIZE", help="What the disk may hold. [default: nothing]")
@click.option("--fail-over", type=SIZE, metavar="SIZE", help="End with 1 when a step needs more than SIZE.")
@click.option(
    "--write-plan",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the plan that training obeys: sknc.fit_in_memory(model, SIZE, plan=FILE).",
)
@click.option("--max-batch", is_flag=True, help="Find the largest batch within the budget.")
@click.option("--accounting", type=click.Choice(ACCOUNTINGS), help="How memory is counted. [default: by target]")
@click.option(
    "--allocator",
    type=click.Choice(ALLOCATORS),
    default="default",
    show_default=True,
    help="TensorFlow's allocator; bfc is a GPU's.",
)
@click.option("--input-shape", type=_Shape(), metavar="N,N,N", help="Shape of one sample, where the model has none.")
@click.option("--machine", type=click.Path(path_type=Path), metavar="FILE", help="Speeds of the machine, for plans.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "json", "html"]),
    help="What is written. [default: by FILE's suffix, else text]",
)
@click.option(
    "-o",
    "output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to; a FILE that ends in .png or .svg gets the picture.",
)
def command(
    target: str,
    batch: int | None,
    optimizer: str | None,
    budget: int | None,
    host_budget: int | None,
    disk_budget: int | None,
    fail_over: int | None,
    write_plan: Path | None,
    max_batch: bool,
    accounting: str | None,
    allocator: str,
    input_shape: tuple[int, ...] | None,
    machine: Path | None,
    format_name: str | None,
    output: Path | None,
) -> None:
    """Tell what one training step of TARGET will hold in memory, before it runs.

    TARGET is a marked script, a folder that `sknc split` made, module:callable that returns a keras.Model, a
    .keras file, keras.applications.NAME, or paper:NAME, a network of the SuperNeurons paper (alexnet, vgg16,
    resnet50, resnet101, resnet152, resnet2500, inception_v4).

    A script or a program is run up to where training would start, a callable is called, each in a process of
    its own. Otherwise nothing is computed and no weight is allocated.

    Ends with 1 when --fail-over is exceeded or --budget cannot be kept.
    """
    request = Request(
        target,
        batch,
        optimizer,
        accounting,
        budget,
        host_budget,
        disk_budget or 0,
        max_batch,
        None if machine is None else str(machine),
        allocator,
        input_shape,
        write_plan is not None,
    )
    suffix = "" if output is None else output.suffix.lower()
    format_name = format_name or SUFFIXES.get(suffix, "text")
    for path in (output, write_plan):
        if path is not None:
            check_writable(path)
    if format_name == "html" or suffix in PICTURE_SUFFIXES:
        check_plotting()
    report = make_report(request, _teller())
    _write(report, format_name, output)
    status = _judge(report, fail_over)
    if write_plan is not None:
        status = max(status, _write_plan(report, write_plan))
    raise SystemExit(status)


def _teller() -> Callable[[str], None]:
    """Prints the progress of a search that takes longer than a moment."""
    start = time.monotonic()

    def tell(text: str) -> None:
        if time.monotonic() - start > PATIENCE:
            click.echo(text, err=True)

    return tell


def _write(report: Mapping[str, Any], format_name: str, output: Path | None) -> None:
    """Write the report to a file or to standard output; with a picture in the file, to both."""
    if output is None:
        _print(report, format_name)
        return
    kind = output.suffix.lower().removeprefix(".")
    if f".{kind}" in PICTURE_SUFFIXES:
        from sknc.report.memory_plots import picture_bytes

        write_file(output, picture_bytes(report, kind))
        _print(report, format_name)
    else:
        write_file(output, _rendered(report, format_name).encode("utf-8"))
    click.echo(f"wrote {output}", err=True)


def _print(report: Mapping[str, Any], format_name: str) -> None:
    if format_name == "text":
        from sknc.report.memory_text import show_memory

        console = Console(highlight=False)
        show_memory(report, console if console.is_terminal else Console(highlight=False, width=TEXT_WIDTH))
    else:
        click.echo(_rendered(report, format_name), nl=False)


def _rendered(report: Mapping[str, Any], format_name: str) -> str:
    if format_name == "json":
        return json.dumps(report, indent=2) + "\n"
    if format_name == "html":
        from sknc.report.memory_html import memory_html

        return memory_html(report)
    from sknc.report.memory_text import show_memory

    target = io.StringIO()
    show_memory(report, Console(file=target, width=TEXT_WIDTH, highlight=False))
    return target.getvalue()


def _write_plan(report: Mapping[str, Any], path: Path) -> int:
    """Write the plan that training obeys, and say so; the exit status."""
    (one,) = report.get("programs", [report])
    plan = dict(one["training_plan"])
    if not plan.pop("feasible"):
        asked, least = format_size(plan["budget"]), format_size(plan["smallest_budget"])
        click.echo(
            f"{one['target']}: the plan to be written: no training keeps {asked}; the smallest budget is {least}",
            err=True,
        )
        return 1
    write_file(path, (json.dumps(plan, indent=2) + "\n").encode("utf-8"))
    click.echo(f"wrote {path}: sknc.fit_in_memory(model, {plan['budget']}, plan={str(path)!r}) obeys it", err=True)
    return 0


def _judge(report: Mapping[str, Any], fail_over: int | None) -> int:
    """The exit status: 1 when a limit is exceeded, with one line that says which."""
    status = 0
    for one in report.get("programs", [report]):
        plan = one.get("plan")
        if plan is not None and not plan["feasible"]:
            asked, least = format_size(plan["budget"]["device"]), format_size(plan["smallest_budget"])
            click.echo(f"{one['target']}: {asked} cannot be kept; the smallest budget that can is {least}", err=True)
            status = 1
        if fail_over is not None and one["predicted_peak"] > fail_over:
            needs = format_size(one["predicted_peak"])
            click.echo(f"{one['target']}: {needs} is more than --fail-over {format_size(fail_over)}", err=True)
            status = 1
    return status
