"""Findings about a user's script: collected by every room, printed only by `sknc.cli`.

A room defines its rules in `sknc/diagnostics/codes_<room>.py`:

    UNKNOWN_KIND = rule("SKN102", "error", "unknown kind of block", "'{found}' is no kind", "write {nearest}")

and reports one with `UNKNOWN_KIND.at(span, found="MULTICLAS", nearest="MULTICLASS")`.
"""

from sknc.diagnostics._model import Diagnostic, Note, Severity, Span, has_errors, in_order
from sknc.diagnostics._registry import Rule, all_rules, find_rule, nearest_codes, rule
from sknc.diagnostics.render import FORMATS, render, render_github, render_json, render_text, to_json

__all__ = [
    "FORMATS",
    "Diagnostic",
    "Note",
    "Rule",
    "Severity",
    "Span",
    "all_rules",
    "find_rule",
    "has_errors",
    "in_order",
    "nearest_codes",
    "render",
    "render_github",
    "render_json",
    "render_text",
    "rule",
    "to_json",
]
