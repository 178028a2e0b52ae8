"""`sknc check`: diagnostics only."""

from __future__ import annotations

from pathlib import Path

import click

from sknc.cli._options import format_option, show, task_options
from sknc.diagnostics import Diagnostic, has_errors


@click.command("check")
@click.argument("scripts", metavar="SCRIPT...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-m",
    "--submodels",
    type=click.IntRange(min=1),
    metavar="M",
    help="Also tell what keeps a script from being split in M. [default: whatever M the script allows]",
)
@task_options
@format_option
def command(
    scripts: tuple[Path, ...],
    submodels: int | None,
    classes: int | None,
    compose: str | None,
    budget: int | None,
    format_name: str,
) -> None:
    """Show what is wrong with each SCRIPT. Nothing is written, and nothing of a script is run.

    Ends with 1 when a script has errors.
    """
    from sknc.splitting import check_script

    found: list[Diagnostic] = []
    sources: dict[str, list[str]] = {}
    for script in scripts:
        checked = check_script(script, submodels=submodels, classes=classes, compose=compose, budget=budget)
        found += checked.diagnostics
        sources[str(script)] = checked.source_lines
    show(format_name, found, sources)
    if has_errors(found):
        raise SystemExit(1)
    if format_name == "text":
        many = f"{len(scripts)} scripts" if len(scripts) > 1 else str(scripts[0])
        click.echo(f"{many}: nothing that stops a split")
