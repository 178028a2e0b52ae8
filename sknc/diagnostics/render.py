"""Findings as text: for people, for programs, for GitHub's annotations. Everything returns a string."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sknc.diagnostics._model import Diagnostic, Span, in_order

FORMATS = ("text", "json", "github")
_TAB = 4
_WIDEST = 120
_COLOURS = {"error": "1;31", "warning": "1;33", "info": "1;36", "bold": "1", "frame": "1;34"}

Sources = Mapping[str, Sequence[str]]
Paint = Callable[[str, str], str]


def render(format_name: str, diagnostics: Iterable[Diagnostic], sources: Sources, colour: bool = False) -> str:
    """Render findings in one of `FORMATS`.

    Args:
        format_name: "text", "json" or "github".
        diagnostics: the findings, in any order.
        sources: the lines of each file that a finding may point into, by the name in its span.
        colour: use ANSI colours; only "text" has any.

    Returns:
        The text with a final newline, or "" where there is nothing to say.

    Raises:
        ValueError: when there is no such format.
    """
    if format_name == "text":
        return render_text(diagnostics, sources, colour)
    if format_name == "json":
        return render_json(diagnostics)
    if format_name == "github":
        return render_github(diagnostics)
    raise ValueError(f"{format_name!r} is not one of {', '.join(FORMATS)}")


def render_text(diagnostics: Iterable[Diagnostic], sources: Sources, colour: bool = False) -> str:
    """Render findings for people: the message, the line with carets under the place, the hint."""

    def paint(text: str, style: str) -> str:
        return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if colour else text

    return "\n".join(_one(found, sources, paint) for found in in_order(diagnostics))


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Render findings as one JSON object: {"schema": 1, "diagnostics": [...]}."""
    return json.dumps({"schema": 1, "diagnostics": to_json(diagnostics)}, indent=2, ensure_ascii=False) + "\n"


def to_json(diagnostics: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    """Return findings as JSON objects, in the order of the text."""
    return [
        {
            "code": each.code,
            "severity": each.severity,
            "message": each.message,
            "hint": each.hint,
            **_place(each.span),
            "notes": [{"text": note.text, **_place(note.span)} for note in each.notes],
        }
        for each in in_order(diagnostics)
    ]


def render_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Render findings as GitHub workflow commands, which become annotations at the lines.

    A finding in a notebook is annotated at the file, and its text begins with the cell: GitHub counts the lines of the
    JSON, which say nothing.
    """
    lines = []
    for found in in_order(diagnostics):
        span = found.span
        fields = {"title": f"sknc ({found.code})", "file": span.file}
        if not span.cell:
            fields |= _github_place(span)
        command = {"error": "error", "warning": "warning", "info": "notice"}[found.severity]
        properties = ",".join(f"{name}={_escape(str(value), True)}" for name, value in fields.items())
        where = f"cell {span.cell}, line {span.cell_line}: " if span.cell else ""
        text = where + (f"{found.message}\n{found.hint}" if found.hint else found.message)
        lines.append(f"::{command} {properties}::{_escape(text, False)}\n")
    return "".join(lines)


def _github_place(span: Span) -> dict[str, Any]:
    if span.line == span.end_line:
        return {"line": span.line, "col": span.col, "endLine": span.end_line, "endColumn": span.end_col}
    return {"line": span.line, "endLine": span.end_line}  # GitHub drops the columns of an annotation over several lines


def _escape(text: str, in_property: bool) -> str:
    """Escape what would end a workflow command early."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text


def _place(span: Span) -> dict[str, str | int]:
    return {
        "file": span.file,
        "line": span.line,
        "col": span.col,
        "end_line": span.end_line,
        "end_col": span.end_col,
        **({"cell": span.cell, "cell_line": span.cell_line} if span.cell else {}),
    }


def _one(found: Diagnostic, sources: Sources, paint: Paint) -> str:
    """Render one finding, frame and all."""
    margin = len(str(max(found.span.shown_line, *(note.span.shown_line for note in found.notes), 0)))
    label = paint(f"{found.severity}[{found.code}]", found.severity)
    lines = [f"{label}: {paint(_one_line(found.message), 'bold')}"]
    lines += _excerpt(found.span, sources, margin, paint, found.severity, "")
    for note in found.notes:
        lines += _excerpt(note.span, sources, margin, paint, "frame", note.text)
    if found.hint:
        lines.append(f"{' ' * margin} {paint('=', 'frame')} {paint('hint', 'bold')}: {_one_line(found.hint)}")
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return _visible(" ".join(text.split()))


def _excerpt(span: Span, sources: Sources, margin: int, paint: Paint, style: str, note: str) -> list[str]:
    """Render the place, its line, and carets under what is meant."""
    bar = paint("|", "frame")
    place = f"{span}: {note}" if note else str(span)
    lines = [f"{' ' * margin}{paint('-->', 'frame')} {_visible(place)}"]
    text = sources.get(span.file, ())
    if span.line > len(text):
        return lines
    source = text[span.line - 1].rstrip("\r\n")
    end = span.end_col if span.end_line == span.line else len(source) + 1
    shown, start, stop = _layout(source, span.col - 1, end - 1)
    more = span.end_line - span.line
    tail = f" ... and {more} more line{'s' if more > 1 else ''}" if more else ""
    number = paint(str(span.shown_line).rjust(margin), "frame")
    empty = f"{' ' * margin} {bar}"
    carets = paint("^" * max(1, stop - start) + tail, style)
    return [*lines, empty, f"{number} {bar} {shown}".rstrip(), f"{empty} {' ' * start}{carets}"]


def _layout(source: str, start: int, stop: int) -> tuple[str, int, int]:
    """Lay a line out in columns of a terminal.

    Args:
        source: the line.
        start: index of the first character that is meant.
        stop: index after the last one.

    Returns:
        The line as it is shown, and the columns that the carets stand in.
    """
    cells: list[str] = []
    columns = [0]
    for char in source:
        cells.append(" " * (_TAB - columns[-1] % _TAB) if char == "\t" else _visible(char))
        columns.append(columns[-1] + sum(_width(each) for each in cells[-1]))
    first, last = min(start, len(source)), min(max(stop, start), len(source))
    left, right = columns[first], columns[last]
    if columns[-1] <= _WIDEST:
        return "".join(cells), left, right
    # A line that does not fit: show the part around the place, whole characters only.
    begin = next(i for i, column in enumerate(columns) if column >= max(0, left - _WIDEST // 4))
    finish = max(i for i, column in enumerate(columns) if column <= columns[begin] + _WIDEST)
    before, after = "..." if begin else "", "..." if finish < len(source) else ""
    shift = len(before) - columns[begin]
    shown = before + "".join(cells[begin:finish]) + after
    return shown, left + shift, min(right, columns[finish]) + shift


def _visible(text: str) -> str:
    """Replace control characters, so that a script cannot steer the terminal it is shown on."""
    return "".join(_picture(char) for char in text)


def _picture(char: str) -> str:
    if ord(char) < 0x20:
        return chr(0x2400 + ord(char))
    # Bidirectional overrides and their like (Cf) would show the line in another order than Python reads it.
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(char) in ("Cc", "Cf", "Cs") else char


def _width(char: str) -> int:
    """Return how many columns a terminal gives a character."""
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
