"""Options and printing that more than one command uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from sknc.diagnostics import FORMATS, Diagnostic, render
from sknc.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    _SizeType = click.ParamType[int]
else:  # generic for type checkers only, before click 8.4
    _SizeType = click.ParamType

format_option = click.option(
    "--format",
    "format_name",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How diagnostics are printed.",
)


class Size(_SizeType):
    """A number of bytes, written with or without a unit."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes, or fail as click's own types do."""
        from sknc.splitting import read_budget

        if isinstance(value, int):
            return value
        try:
            return read_budget(value)
        except UsageError as error:
            self.fail(error.message, param, ctx)


def task_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say more about a task than its script does."""
    for add in (
        click.option("--budget", type=Size(), metavar="SIZE", help="Memory budget of the programs: 8GiB, 500MB."),
        click.option("--compose", metavar="RULE", help="How predictions are put together: product, coupling, ..."),
        click.option(
            "--classes", type=click.IntRange(min=1), metavar="N", help="Classes, where the script does not say."
        ),
    ):
        command = add(command)
    return command


def show(
    format_name: str,
    diagnostics: Iterable[Diagnostic],
    sources: Mapping[str, Sequence[str]],
) -> None:
    """Print diagnostics as text on standard error, for machines on standard output."""
    import sys

    err = format_name == "text"
    stream = sys.stderr if err else sys.stdout
    text = render(format_name, diagnostics, sources, colour=err and stream.isatty())
    click.echo(text, nl=False, err=err)
