"""The rules: every code that a finding can carry, with the text that `sknc explain` shows."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import pkgutil
import re
import string
from collections.abc import Iterator

from sknc.diagnostics._model import SEVERITIES, Diagnostic, Severity, Span

_CODE = re.compile(r"SKN[1-9]\d{2}")
_RULES: dict[str, Rule] = {}

ROOMS = {"1": "markers", "2": "reading", "3": "deciding", "4": "emitting", "5": "running", "6": "memory"}


@dataclasses.dataclass(frozen=True)
class Rule:
    """One kind of finding. Made by `rule`, used through `at`.

    `message` and `hint` are `str.format` templates; `wrong` and `right` are pieces of a script.
    """

    code: str
    severity: Severity
    title: str
    message: str
    hint: str
    why: str = ""
    wrong: str = ""
    right: str = ""

    @property
    def room(self) -> str:
        """The part of sknc that reports it, e.g. "markers"."""
        return ROOMS[self.code[3]]

    @property
    def names(self) -> frozenset[str]:
        """The names that `at` has to be given."""
        return frozenset(_fields(self.message)) | frozenset(_fields(self.hint))

    def at(self, span: Span, /, **names: object) -> Diagnostic:
        """Make the finding for one place.

        Args:
            span: where it is.
            **names: a value for every name in the rule's message and hint.

        Returns:
            The finding, with both texts filled in.

        Raises:
            TypeError: when a name is missing or is not one of the rule's: a finding with a hole in its text
                must not reach a user.
        """
        if names.keys() != self.names:
            odd = ", ".join(sorted(names.keys() ^ self.names))
            raise TypeError(f"{self.code} takes {sorted(self.names)}; not matched: {odd}")
        message, hint = self.message.format(**names), self.hint.format(**names)
        return Diagnostic(self.code, self.severity, message, hint, span)


def _fields(template: str) -> Iterator[str]:
    """Yield the names in a `str.format` template."""
    for _, name, _, _ in string.Formatter().parse(template):
        if name is not None:
            yield re.split(r"[.\[]", name, maxsplit=1)[0]


def rule(
    code: str,
    severity: Severity,
    title: str,
    message: str,
    hint: str,
    *,
    why: str = "",
    wrong: str = "",
    right: str = "",
) -> Rule:
    """Register a kind of finding.

    Args:
        code: "SKN" and three digits; the first is the room (markers 1, reading 2, deciding 3, emitting 4,
            running 5, memory 6). A code that was released keeps its meaning for ever.
        severity: "error" stops a split, "warning" and "info" do not.
        title: a few words, lower case, for lists.
        message: what is wrong at this place; a `str.format` template.
        hint: what to write instead; a template with the same names.
        why: a paragraph for `sknc explain`.
        wrong: a piece of a script that gives this finding.
        right: the same piece without it.

    Returns:
        The rule, whose `at` makes findings.

    Raises:
        ValueError: when the code is malformed or taken, or the severity unknown.
    """
    if not _CODE.fullmatch(code) or code[3] not in ROOMS:
        raise ValueError(f"{code!r} is not a code: SKN and three digits, the first from 1 to 6")
    if severity not in SEVERITIES:
        raise ValueError(f"{code}: {severity!r} is not one of {', '.join(SEVERITIES)}")
    made = Rule(code, severity, title, message, hint, why, wrong, right)
    if _RULES.setdefault(code, made) != made:
        raise ValueError(f"{code} is taken: {_RULES[code].title!r}")
    return made


def all_rules() -> list[Rule]:
    """Return every rule of every room, by code; loads the rooms' `codes_*` modules."""
    package = importlib.import_module("sknc.diagnostics")
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("codes_"):
            importlib.import_module(f"sknc.diagnostics.{module.name}")
    return [_RULES[code] for code in sorted(_RULES)]


def find_rule(code: str) -> Rule | None:
    """Return the rule with this code; case and surrounding blanks do not matter."""
    wanted = code.strip().upper()
    return next((found for found in all_rules() if found.code == wanted), None)


def nearest_codes(code: str, count: int = 3) -> list[str]:
    """Return the codes that someone who typed `code` may have meant, nearest first."""
    wanted = code.strip().upper()
    if wanted.isdigit():
        wanted = f"SKN{wanted}"
    return difflib.get_close_matches(wanted, [known.code for known in all_rules()], n=count, cutoff=0.6)
