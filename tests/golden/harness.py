"""Golden cases: one file each, with its flags, a script, and what the compiler makes of it.

    # flags: -m 6 --classes 10 --show submodel_00.py,compose.py
    ... the script ...
    # output: submodel_00.py
    ... the program ...
    # diagnostics
    ... as `sknc check` prints them ...

`--show` names the programs whose text the case keeps; the first submodel and the composer when left out. An output
`# output: NAME = script` says that the program is the script itself. What is expected is written by `make golden` and
read in the diff, never edited by hand.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import shlex
from pathlib import Path

from sknc.diagnostics import has_errors, render_text
from sknc.pipeline import Compilation, compile_script

HERE = Path(__file__).resolve().parent
SCRIPT = "case.py"
_SECTION = re.compile(
    r"^# (?:output: (?P<name>\S+)(?P<same> = script)?|(?P<diagnostics>diagnostics))\r?\n", re.MULTILINE
)


@dataclasses.dataclass(frozen=True)
class Case:
    """One golden case: what stands in its file."""

    path: Path
    flags: str
    script: str
    expected: dict[str, str]


def cases() -> list[Path]:
    """Return the files of all cases."""
    return sorted(HERE.glob("*.test"))


def read(path: Path) -> Case:
    """Read a case; ends of lines are kept."""
    text = path.read_bytes().decode("utf-8")
    first, _, rest = text.partition("\n")
    if not first.startswith("# flags:"):
        raise ValueError(f"{path.name}: the first line has to be '# flags: ...'")
    marks = list(_SECTION.finditer(rest))
    script = rest[: marks[0].start()] if marks else rest
    expected = {}
    for index, mark in enumerate(marks):
        content = rest[mark.end() : marks[index + 1].start() if index + 1 < len(marks) else len(rest)]
        name = "diagnostics" if mark["diagnostics"] else mark["name"]
        expected[name] = script if mark["same"] else content
    return Case(path, first.removeprefix("# flags:").strip(), script, expected)


def options(flags: str) -> argparse.Namespace:
    """Read the flags of a case."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("-m", dest="submodels", type=int, required=True)
    parser.add_argument("--classes", type=int)
    parser.add_argument("--compose")
    parser.add_argument("--show", default="submodel_00.py,compose.py")
    return parser.parse_args(shlex.split(flags))


def compile_case(case: Case, folder: Path) -> Compilation:
    """Compile a case's script, from a file in `folder`."""
    chosen = options(case.flags)
    path = folder / SCRIPT
    path.write_bytes(case.script.encode("utf-8"))
    return compile_script(path, submodels=chosen.submodels, classes=chosen.classes, compose=chosen.compose)


def outcome(case: Case, made: Compilation, folder: Path) -> dict[str, str]:
    """Return what a case's sections have to be, by name."""
    found = {}
    if not has_errors(made.diagnostics):
        shown = options(case.flags).show.split(",")
        found = {name: made.files[name].decode("utf-8") for name in shown}
    if made.diagnostics:
        path = folder / SCRIPT
        text = render_text(made.diagnostics, {str(path): made.source_lines})
        found["diagnostics"] = text.replace(str(path), SCRIPT)
    return found


def render(case: Case, found: dict[str, str]) -> str:
    """Return a case's file with these sections."""
    parts = [f"# flags: {case.flags}\n", case.script]
    for name, text in found.items():
        if name == "diagnostics":
            parts.append(f"# diagnostics\n{text}")
        elif text == case.script:
            parts.append(f"# output: {name} = script\n")
        else:
            parts.append(f"# output: {name}\n{text}")
        if not parts[-1].endswith("\n"):
            raise ValueError(f"{case.path.name}: {name} has no final newline; such a script is no golden case")
    return "".join(parts)
