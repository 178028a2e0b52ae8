"""What can be wrong with what stands in the cells of a notebook (SKN2xx, from SKN240)."""

from __future__ import annotations

from sknc.diagnostics._registry import rule

NOT_RUN = rule(
    "SKN240",
    "warning",
    "a line of IPython that programs leave out",
    "programs do not run '{text}'{effect}",
    "if what follows needs it, write it in Python, e.g. os.listdir(), os.chdir(), os.environ, or"
    " subprocess.getoutput('...').splitlines()",
    why="Lines that only IPython understands (%magic, !command, name?) become comments in the programs, which run"
    " without IPython. Mostly nothing is missed. A line that gives a name a value or changes the state of the session"
    " may be: the name gets an empty list (a command's output) or None (a magic's) instead.",
    wrong="files = !ls data\n",
    right="files = sorted(os.listdir('data'))\n",
)
