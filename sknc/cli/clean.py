"""`sknc clean`: remove what runs produced."""

from __future__ import annotations

from pathlib import Path

import click

from sknc.engines import clean
from sknc.report.table import bytes_text


@click.command("clean", short_help="Remove what runs produced in DIR.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def command(folder: Path) -> None:
    """Remove what runs produced in DIR (artifacts/ and results.json); the programs stay."""
    removed = clean(folder)
    for name in removed.links:
        click.echo(f"removed the link {folder / name}; what it leads to is left alone")
    if removed.names:
        files = "1 file" if removed.files == 1 else f"{removed.files} files"
        size = bytes_text(removed.bytes)
        click.echo(f"removed {', '.join(removed.names)} from {folder}: {files}, {size}")
    elif not removed.links:
        click.echo(f"nothing to remove in {folder}")
