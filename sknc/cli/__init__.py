"""The command line: the only place that prints or exits.

`main` is the console script. A command's module is imported when the command is used, so that `sknc --help`
costs next to nothing; each holds one click command by the name `command`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from sknc._version import __version__
from sknc.errors import MissingExtra, SkncError

_COMMANDS = {
    "split": "Write the programs that train SCRIPT in parts.",
    "check": "Show what is wrong with scripts, write nothing.",
    "run": "Train every submodel of DIR, compose, report.",
    "memplan": "Tell what memory training will need, step by step.",
    "clean": "Remove what runs produced in DIR.",
    "explain": "Tell what a diagnostic means, with an example.",
    "doctor": "Tell what this machine has, and what is missing.",
}
_INTERRUPTED = 130
_BROKEN_PIPE = 141
_EXTRAS = {"tensorflow": "cpu", "keras": "cpu", "distributed": "dask", "dask": "dask", "matplotlib": "plot"}


class _Lazy(click.Group):
    """A group that knows its commands by name, and loads one when it is used."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click itself would end with 1, which here means that a script has findings
            raise SystemExit(_pipe_closed()) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands that this installation has, in the order in which people use them."""
        return [name for name in _COMMANDS if importlib.util.find_spec(f"{__name__}.{name}") is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        found: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed, or tell which one may have been meant."""
        name = args[0]
        if not name.startswith("-") and name not in self.list_commands(ctx):
            import difflib

            near = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            if not near and os.path.exists(name):
                near = [f"split {name}" if os.path.isfile(name) else f"run {name}"]
            hint = f"did you mean `sknc {near[0]}`?" if near else "`sknc --help` lists the commands"
            raise SkncError(f"there is no command {name!r}", hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name]) for name in self.list_commands(ctx)])


_HELP = """Split a Keras training script into narrow submodels that train apart, and plan their memory.

\b
Mark the part of a script that builds and trains a network with
#SKYNNET:BEGIN_MULTICLASS and #SKYNNET:END, then
    sknc split train.py -m 6
    sknc run train_split
\b
sknc doctor tells whether this machine can train, and what of its memory settings works.
"""


@click.group(cls=_Lazy, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sknc", message="%(prog)s %(version)s")
def _sknc() -> None:
    """Collect the commands."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: without the program's name; those of this process when None.

    Returns:
        The exit status: 0 done, 1 findings, 2 wrong usage or a failure of the environment, 3 a training failed, 130
        interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a character must not end a command
            stream.reconfigure(errors="backslashreplace")
    try:
        _sknc.main(arguments, prog_name="sknc", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as shown:
        click.echo(shown.ctx.get_help())
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except (KeyboardInterrupt, click.Abort):
        return _say("interrupted", None, _INTERRUPTED)
    except BrokenPipeError:
        return _pipe_closed()
    except click.ClickException as wrong:
        return _say(wrong.format_message(), _usage_hint(wrong), 2)
    except SkncError as error:
        return _say(error.message, error.hint, error.status)
    except Exception as error:  # noqa: BLE001 - the last resort, and it tells
        return _unexpected(error)
    return 0


def _pipe_closed() -> int:
    """Give up printing, as when `head` has read enough; Python would complain once more when it flushes on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _BROKEN_PIPE


def _say(message: str, hint: str | None, status: int) -> int:
    """Print one clear message and return the exit status."""
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
    return status


def _usage_hint(wrong: click.ClickException) -> str | None:
    context = getattr(wrong, "ctx", None)
    return f"`{context.command_path} --help` shows how it is used" if context else None


def _unexpected(error: Exception) -> int:
    """Tell of an error that nobody foresaw: one line, and the traceback where it was asked for."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        if package in _EXTRAS:
            missing = MissingExtra(_EXTRAS[package], package=package)
            return _say(missing.message, missing.hint, missing.status)
    if os.environ.get("SKNC_DEBUG") == "1":
        traceback.print_exc()
    said = " ".join(str(error).split()) or "no message"
    hint = "this is a fault of sknc: please report it, with the traceback that SKNC_DEBUG=1 prints"
    return _say(f"internal error: {type(error).__name__}: {said}", hint, 2)
