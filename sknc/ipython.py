"""Cells as Python: what only IPython understands becomes the Python behind it, or a comment.

A line is IPython's when it begins a statement with `%`, `!` or `?`, ends one with `?`, or assigns `%magic` or
`!command`. Where statements begin is looked up as IPython does it: inside brackets, strings and continued lines
nothing is touched. Every line stays where it is, so that messages about it name the line that its author knows.
"""

from __future__ import annotations

import re

from sknc.script.cells import LEFT_OUT

# Magics that run the Python behind them, with the options that take a value.
_RUNS = {"time": "", "timeit": "nrp", "prun": "lsTD", "memit": "rti", "mprun": "fT", "lprun": "fmDTu"}
# Cell magics whose cell is run as Python.
_CELL_RUNS = frozenset(("time", "timeit", "prun", "memit", "capture"))
# Cell magics whose cell is no Python of this session: nothing that follows can miss a name of it.
_CELL_APART = frozenset(
    "! HTML SVG bash cmd file html javascript js latex markdown perl powershell pypy python python2 python3 ruby script"
    " sh svg sx system writefile".split()
)
# Magics that change what follows: where files are looked for, which names there are.
_CHANGES = frozenset(("cd", "env", "popd", "pushd", "pylab", "run", "set_env", "store"))

_MAGIC = re.compile(r"%(?P<name>\w+|!)(?:\s+(?P<rest>.*))?")
_OPTION = re.compile(r"-(?P<letters>[A-Za-z]\S*)(?:\s+|$)|--[a-z][\w-]*(?:\s+|$)")
_ASSIGNED = re.compile(r"!|%[A-Za-z_]")
_PIECE = re.compile(r"""\#.*|\"{3}|'{3}|["']|[(\[{]|[)\]}]|\\$|(?<![=!<>:+\-*/%&|^@~])=(?!=)|\S""")
_STRING_ENDS = {
    quote: re.compile(rf"(?:\\.|[^\\])*?{quote}", re.DOTALL) for quote in ('"""', "'''", '"', "'")
}  # fmt: skip


class _Scanner:
    """Follows strings, brackets and continued lines, far enough to say whether a line begins a statement."""

    def __init__(self) -> None:
        self.quote = ""
        self.depth = 0
        self.continued = False
        self.last = ""
        self.assign: int | None = None

    @property
    def inside(self) -> bool:
        """Whether the next line belongs to a statement that has begun."""
        return bool(self.quote or self.depth or self.continued)

    def feed(self, line: str) -> None:
        """Take one line, without its end."""
        self.continued, self.last, self.assign = False, "", None
        at = 0
        while at < len(line):
            if self.quote:
                end = _STRING_ENDS[self.quote].match(line, at)
                if end is None:
                    break
                self.quote, at = "", end.end()
                continue
            piece = _PIECE.search(line, at)
            if piece is None:
                break
            self._take(piece[0], piece.start())
            at = piece.end()
        slashes = len(line) - len(line.rstrip("\\"))
        if len(self.quote) == 1 and not slashes % 2:
            self.quote = ""  # Python ends such a string with the line, with an error

    def _take(self, piece: str, at: int) -> None:
        if piece.startswith("#"):
            return
        self.last = piece
        if piece in _STRING_ENDS:
            self.quote = piece
        elif piece in ("(", "[", "{"):
            self.depth += 1
        elif piece in (")", "]", "}"):
            self.depth = max(0, self.depth - 1)
        elif piece == "\\":
            self.continued = True
        elif piece == "=" and not self.depth and self.assign is None:
            self.assign = at


def python_lines(cell: str) -> list[str]:
    """Turn a cell into lines of Python.

    Args:
        cell: the text of the cell.

    Returns:
        As many lines as the cell has.
    """
    lines = re.split(r"\r\n|\r|\n", cell)
    if lines[-1] == "":
        lines.pop()
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    lines = [line.removeprefix(indent) for line in lines]  # as IPython does
    return _cell(lines)


def _cell(lines: list[str]) -> list[str]:
    """Turn a cell into Python; behind a cell magic stands another one, or lines."""
    start = next((number for number, line in enumerate(lines) if line.strip()), 0)
    magic = _MAGIC.fullmatch(lines[start][1:]) if lines and lines[start].startswith("%%") else None
    if magic is None:
        return lines if not lines else _statements(lines)
    if magic["name"] not in _CELL_RUNS:
        mark = "# " if magic["name"] in _CELL_APART else LEFT_OUT
        rest = (f"# {line}".rstrip() for line in lines[start + 1 :])
        return [*lines[:start], mark + lines[start], *rest]
    setup = _behind(magic) if magic["name"] in _RUNS else None
    return [*lines[:start], setup or f"# {lines[start]}", *_cell(lines[start + 1 :])]


def _statements(lines: list[str]) -> list[str]:
    """Turn lines into Python, statement by statement."""
    lines, made = list(lines), list[str]()
    scanner = _Scanner()
    while len(made) < len(lines):
        at = len(made)
        line = lines[at]
        if scanner.inside or not line.strip():
            scanner.feed(line)
            made.append(line)
            continue
        indent, text = line[: len(line) - len(line.lstrip())], line.strip()
        shorter = _without_timer(text)
        if shorter is not None:
            lines[at] = indent + shorter  # which may be IPython's again
            continue
        if text[0] in "%!?":
            made += _left_out(indent, lines[at : _end(lines, at)])
            continue
        scanner.feed(line)
        if scanner.last == "?" and not scanner.inside:
            made += _left_out(indent, [line])
        elif scanner.assign is not None and _ASSIGNED.match(line[scanner.assign + 1 :].lstrip()):
            target, value = line[: scanner.assign].rstrip(), line[scanner.assign + 1 :].lstrip()
            scanner = _Scanner()
            if _without_timer(value, "time") is not None:
                lines[at] = f"{target} = {_without_timer(value)}"
            else:
                nothing = "[]" if value.startswith("!") else "None"
                rest = [f"# {more}" for more in lines[at + 1 : _end(lines, at)]]
                made += [f"{target} = {nothing}  {LEFT_OUT}{value}", *rest]
        else:
            made.append(line)
    return made


def _end(lines: list[str], at: int) -> int:
    """Return the index behind a line of IPython, which goes on where it ends with a backslash."""
    while at < len(lines) - 1 and lines[at].endswith("\\"):
        at += 1
    return at + 1


def _left_out(indent: str, lines: list[str]) -> list[str]:
    """Comment lines out; a suite may have nothing else, so an indented one becomes a statement that does nothing."""
    text = lines[0].strip()
    magic = _MAGIC.fullmatch(text)
    mark = LEFT_OUT if magic and magic["name"] in _CHANGES else "# "
    return [f"{indent}{'pass  ' if indent else ''}{mark}{text}", *(f"# {line}" for line in lines[1:])]


def _without_timer(text: str, only: str = "") -> str | None:
    """Return the statement that a magic such as `%time` runs, or None."""
    magic = _MAGIC.fullmatch(text)
    if magic is None or magic["name"] not in _RUNS or (only and magic["name"] != only):
        return None
    return _behind(magic)


def _behind(magic: re.Match[str]) -> str | None:
    """Return what stands behind a magic and its options, if anything does."""
    rest, valued = magic["rest"] or "", _RUNS[magic["name"]]
    while valued or rest.startswith("--"):
        option = _OPTION.match(rest)
        if option is None:
            break
        rest = rest[option.end() :]
        letters = option["letters"] or ""
        # "-n 10" and "-qn 10" take the next word, "-n10" and "-q" do not.
        taking = next((index for index, letter in enumerate(letters) if letter in valued), None)
        if taking is not None and taking == len(letters) - 1:
            rest = rest.partition(" ")[2].lstrip()
    return rest.strip() or None
