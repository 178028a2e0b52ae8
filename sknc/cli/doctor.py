"""`sknc doctor`: what this machine has, and what is missing."""

from __future__ import annotations

import json
import sys

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

_STYLES = {"works": "green", "none": "yellow", "missing": "yellow", "unknown": "yellow", "broken": "red"}
_CANNOT_TRAIN = 2


@click.command("doctor", short_help="Tell what this machine has, and what is missing.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How it is printed.",
)
def command(format_name: str) -> None:
    """Tell what this machine has: versions, devices, the allocator, extras.

    Each setting of TensorFlow's memory is tried out in a process of its own, so that what is told is what was seen:
    a limit is tried by allocating more. Ends with 0 when training works, with 2 when it cannot.
    """
    from sknc.doctor import examine

    found = examine()
    if format_name == "json":
        click.echo(json.dumps(found.as_json(), indent=2, ensure_ascii=False))
    else:
        table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
        table.add_column("what", no_wrap=True)
        table.add_column("state", no_wrap=True)
        table.add_column("seen")
        for check in found.checks:
            text = Text(check.found)
            if check.hint:
                text.append(f"\nhint: {check.hint}", style="dim")
            table.add_row(check.name, Text(check.state, style=_STYLES[check.state]), text)
        Console(highlight=False, width=None if sys.stdout.isatty() else 160).print(table)
    if not found.can_train:
        click.echo("error: nothing can be trained here; splitting and checking scripts works", err=True)
        raise SystemExit(_CANNOT_TRAIN)
