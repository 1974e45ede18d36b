"""The table of rules is that of the specification, and every rule can be cited."""

from __future__ import annotations

import re
from pathlib import Path

from gopa.protocol.rules.forks import _OF_ONE_VIEW, _OF_ONE_VIEW_IN_ROWS
from gopa.protocol.rules.table import DEFINITIONS, RULES, UNSEEN
from tests.verifier.test_parts import part

ROOT = Path(__file__).resolve().parents[3]


def spec_ids() -> list[str]:
    text = (ROOT / "specs" / "04-protocol.md").read_text()
    return [f"04-{each}" for each in re.findall(r"\*\*\[([A-Z][0-9]+[a-z]?)\]\*\*", text)]


def rows_ids() -> list[str]:
    text = (ROOT / "specs" / "14-long-vectors.md").read_text()
    return [f"14-{each}" for each in re.findall(r"\*\*\[([A-Z][0-9]+[a-z]?)\]\*\*", text)]


def cited() -> set[str]:
    """Rules named in the code that evaluates them, docstrings and comments left out."""
    found: set[str] = set()
    for path in (ROOT / "gopa" / "protocol" / "rules").glob("*.py"):
        if path.name != "table.py":
            found |= set(re.findall(r'"((?:04|14)-[A-Z][0-9]+)"', path.read_text()))
    return found


def test_the_table_has_the_rules_of_the_specification() -> None:
    ids = spec_ids()
    assert len(ids) == len(set(ids)) > 50
    long = {rule for rule in RULES if rule.startswith("14-")}
    assert set(RULES) - long == set(ids)
    assert long <= set(rows_ids())
    assert all(RULES.values())


def test_every_rule_can_be_broken_or_says_why_not() -> None:
    assert cited() <= set(RULES)
    assert set(RULES) - cited() == UNSEEN | DEFINITIONS


def test_who_may_have_been_shown_another_log_is_the_same_everywhere() -> None:
    text = " ".join((ROOT / "specs" / "04-protocol.md").read_text().split())
    (listed,) = re.findall(r"does not convict its author if the rule is (.*?)\.", text, re.DOTALL)
    assert {f"04-{each}" for each in re.findall(r"[A-Z]\d+", listed)} == _OF_ONE_VIEW
    rows = " ".join((ROOT / "specs" / "14-long-vectors.md").read_text().split())
    (added,) = re.findall(r"So \[(P\d+)\] is among the rules of 04-E6", rows)
    assert {f"14-{added}"} == _OF_ONE_VIEW_IN_ROWS
    assert part("report").ONE_VIEW == _OF_ONE_VIEW | _OF_ONE_VIEW_IN_ROWS
