"""The registry refuses what would reach a user half made."""

import pytest

from sknc.diagnostics import Span, _registry, all_rules, find_rule, has_errors, in_order, nearest_codes, rule


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(_registry, "_RULES", {})
    return _registry


def test_at_fills_both_templates(registry):
    made = rule("SKN190", "error", "a title", "'{found}' is no kind", "write {nearest}")
    diagnostic = made.at(Span("a.py", 3, 5, 3, 9), found="MULTI", nearest="MULTICLASS")
    assert (diagnostic.code, diagnostic.severity) == ("SKN190", "error")
    assert diagnostic.message == "'MULTI' is no kind"
    assert diagnostic.hint == "write MULTICLASS"
    assert made.room == "markers"


def test_values_with_braces_are_not_templates(registry):
    made = rule("SKN190", "error", "t", "{found}", "h")
    assert made.at(Span("a.py", 1), found="{x}").message == "{x}"


@pytest.mark.parametrize("names", [{}, {"found": 1, "other": 2}])
def test_at_refuses_missing_and_unknown_names(registry, names):
    made = rule("SKN190", "error", "t", "{found.name}", "h")
    with pytest.raises(TypeError, match="SKN190"):
        made.at(Span("a.py", 1), **names)


@pytest.mark.parametrize("code", ["SKN1", "skn101", "SKN701", "SKN001", "ABC101", "SKN1011"])
def test_malformed_codes(registry, code):
    with pytest.raises(ValueError, match="not a code"):
        rule(code, "error", "t", "m", "h")


def test_a_code_is_taken_once(registry):
    rule("SKN190", "error", "t", "m", "h")
    rule("SKN190", "error", "t", "m", "h")  # the same again: a module that was loaded twice
    with pytest.raises(ValueError, match="taken"):
        rule("SKN190", "error", "t", "another", "h")


def test_unknown_severity(registry):
    with pytest.raises(ValueError, match="fatal"):
        rule("SKN190", "fatal", "t", "m", "h")


def test_find_and_nearest(registry):
    rule("SKN190", "error", "t", "m", "h")
    rule("SKN191", "error", "t", "m", "h")
    assert find_rule(" skn190 ").code == "SKN190"
    assert find_rule("SKN999") is None
    assert nearest_codes("190")[0] == "SKN190"
    assert "SKN191" in nearest_codes("SKN1911")


def test_order_and_duplicates(registry):
    bad = rule("SKN190", "error", "t", "m", "h")
    note = rule("SKN191", "info", "t", "m", "h")
    late, early, same = bad.at(Span("a.py", 9)), note.at(Span("a.py", 2)), bad.at(Span("a.py", 2))
    assert in_order([late, early, same, late]) == [same, early, late]
    assert has_errors([early, late])
    assert not has_errors([early])


def test_every_rule_is_ready_for_explain():
    for each in all_rules():
        assert each.why.strip(), f"{each.code} has no paragraph for sknc explain"
        assert each.wrong.strip() and each.right.strip(), f"{each.code} has no example"
        assert each.hint.strip(), f"{each.code} has no hint"


@pytest.mark.parametrize("place", [(0, 1, 1, 1), (2, 1, 1, 1), (1, 5, 1, 4), (1, 0, 1, 1)])
def test_spans_that_run_backwards(place):
    with pytest.raises(ValueError, match="not a span"):
        Span("a.py", *place)
