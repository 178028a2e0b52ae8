"""`sknc split`: write the programs of a script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sknc.cli._options import format_option, show, task_options

if TYPE_CHECKING:
    from sknc.splitting import Prepared


@click.command("split")
@click.argument("script", metavar="SCRIPT", type=click.Path(path_type=Path))
@click.option(
    "-m", "--submodels", type=click.IntRange(min=1), required=True, metavar="M", help="Submodels that are wanted."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Output folder. [default: <script stem>_split in the working folder]",
)
@task_options
@click.option("--diff", is_flag=True, help="Print each program as a diff against SCRIPT, write nothing.")
@click.option("--check", is_flag=True, help="Write nothing; end with 1 if DIR is not what a split would write.")
@format_option
def command(
    script: Path,
    submodels: int,
    output: Path | None,
    classes: int | None,
    compose: str | None,
    budget: int | None,
    diff: bool,
    check: bool,
    format_name: str,
) -> None:
    """Read the marked SCRIPT and write the programs that train it in M parts to DIR.

    The number of submodels that is taken is the largest one, not above M, that the task allows. SCRIPT itself is never
    touched, and nothing of it is run. What runs produced in DIR stays, for each program that has not changed.
    """
    from sknc.emit import recover
    from sknc.splitting import default_folder, prepare, write_folder

    folder = default_folder(script) if output is None else output
    recover(folder)
    prepared = prepare(script, submodels=submodels, classes=classes, compose=compose, budget=budget)
    if format_name != "json" or prepared.refused:
        show(format_name, prepared.diagnostics, {str(script): prepared.source_lines})
    if prepared.refused:
        raise SystemExit(1)
    if diff:
        _show_diff(prepared)
    if check:
        _check(prepared, folder, format_name)
    elif not diff:
        written = write_folder(prepared, folder)
        _report(prepared, folder, written, format_name, budget)


def _show_diff(prepared: Prepared) -> None:
    """Print what each program changes."""
    from sknc.emit import diff_text

    source = _decode(prepared.source)
    for name, content in prepared.programs.items():
        click.echo(diff_text(prepared.script.name, source, name, _decode(content)), nl=False)


def _decode(content: bytes) -> str:
    """Read a program in the encoding that it declares."""
    import io
    import tokenize

    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    return content.decode(encoding, errors="replace")


def _check(prepared: Prepared, folder: Path, format_name: str) -> None:
    """Tell whether a folder is what a split would write."""
    from sknc.emit import compare

    found = compare(folder, prepared.files)
    if format_name == "json":
        differences = [{"file": each.file, "what": each.what} for each in found]
        click.echo(json.dumps({"schema": 1, "folder": str(folder), "differences": differences}, indent=2))
    elif not folder.is_dir():
        click.echo(f"{folder} does not exist; a split would write it", err=True)
    elif found:
        for each in found:
            click.echo(f"{folder / each.file}: {each.what}", err=True)
        click.echo(f"{folder} is not what a split would write; split again to bring it up to date", err=True)
    else:
        click.echo(f"{folder} is up to date")
    if found:
        raise SystemExit(1)


def _report(prepared: Prepared, folder: Path, written: bool, format_name: str, budget: int | None) -> None:
    """Tell what was written, for people or for machines."""
    if format_name == "json":
        from sknc.diagnostics import to_json

        content = {
            "schema": 1,
            "folder": str(folder),
            "written": written,
            "blocks": prepared.blocks,
            "diagnostics": to_json(prepared.diagnostics),
        }
        click.echo(json.dumps(content, indent=2, ensure_ascii=False))
        return
    from sknc.cli._summary import show_summary

    show_summary(prepared.blocks, str(folder), written, budget)
