"""`sknc explain`: what a diagnostic means."""

from __future__ import annotations

import textwrap

import click

from sknc.diagnostics import Rule, all_rules, find_rule, nearest_codes
from sknc.errors import UsageError


@click.command("explain")
@click.argument("code", required=False, metavar="CODE")
def command(code: str | None) -> None:
    """Tell what the diagnostic CODE means, with a wrong and a right example; without CODE, list them all."""
    if code is None:
        for each in all_rules():
            click.echo(f"{each.code}  {each.severity:<7}  {each.title}")
        return
    found = find_rule(code)
    if found is None:
        near = nearest_codes(code)
        hint = f"did you mean {', '.join(near)}?" if near else "`sknc explain` lists all codes"
        raise UsageError(f"there is no diagnostic {code!r}", hint)
    click.echo(describe(found), nl=False)


def describe(rule: Rule) -> str:
    """Return a rule as a page of text."""
    parts = [f"{rule.code}: {rule.title} ({rule.severity})", textwrap.fill(rule.why, 100)]
    for label, example in (("Wrong", rule.wrong), ("Right", rule.right)):
        if example:
            parts.append(f"{label}:\n\n{textwrap.indent(example.rstrip(), '    ')}")
    parts.append(textwrap.fill(f"It says: {rule.message}", 100))
    parts.append(textwrap.fill(f"Hint: {rule.hint}", 100))
    return "\n\n".join(part for part in parts if part) + "\n"
