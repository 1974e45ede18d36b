"""The page of attacks against the tree: rules that are cited exist, tests that are named run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.inner_pytest import run_inside

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "security.md"
RULE = re.compile(r"^(\d\d)-([A-Z]\d+)$")
DEFINED = re.compile(r"\*\*\[([A-Z]\d+)\]\*\*")
HEAD = "| attack | what stops it | rules | tests |"
AREAS = {"Keys and edges", "Closes and retries", "Dropouts and masks"}


@dataclass(frozen=True, slots=True)
class Row:
    """One attack of the page."""

    area: str
    attack: str
    defence: str
    rules: tuple[str, ...]
    tests: tuple[str, ...]


def rows_of(text: str) -> list[Row]:
    """All rows of all tables; a line of another form is an error."""
    found, area = [], ""
    for line in text.splitlines():
        if line.startswith("## "):
            area = ""
        if line.startswith("### "):
            area = line.removeprefix("### ")
        if not area or not line.startswith("| ") or line == HEAD:
            continue
        attack, defence, rules, tests = (cell.strip() for cell in line.strip("|").split("|"))
        named = tuple(test.strip("`") for test in tests.split())
        found.append(Row(area, attack, defence, tuple(rules.split(", ")), named))
    return found


@cache
def defined(number: str) -> frozenset[str]:
    """The rules of one page of the specification."""
    (page,) = (ROOT / "specs").glob(f"{number}-*.md")
    return frozenset(DEFINED.findall(page.read_text()))


def unknown_rules(rows: Sequence[Row]) -> list[str]:
    """Rules that are cited and defined nowhere."""
    cited = [rule for row in rows for rule in row.rules]
    parts = [(rule, RULE.match(rule)) for rule in cited]
    return [rule for rule, found in parts if found is None or found[2] not in defined(found[1])]


def collected(tests: Sequence[str]) -> tuple[int, str]:
    """Ask pytest for exactly these tests, from `tests/`: its exit code and what it says."""
    nodes = [f"tests/{test}" for test in tests]
    return run_inside(ROOT, "--collect-only", "--quiet", *nodes)


ROWS = rows_of(PAGE.read_text())


def test_every_row_is_whole() -> None:
    assert {row.area for row in ROWS} >= AREAS
    assert len(ROWS) > 70
    assert len({row.attack for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert row.attack
        assert row.defence
        assert row.rules
        assert row.tests
        assert len(set(row.tests)) == len(row.tests)


def test_every_rule_that_is_cited_exists() -> None:
    assert not unknown_rules(ROWS)
    wrong = Row("", "", "", ("04-J3", "04-J99", "J3"), ())
    assert unknown_rules([wrong]) == ["04-J99", "J3"]


@pytest.mark.slow
def test_every_test_that_is_named_is_collected() -> None:
    """All at once; a name that does not exist makes it fail."""
    named = sorted({test for row in ROWS for test in row.tests})
    code, out = collected(named)
    assert code == 0, out
    counted = {line.split("[")[0] for line in out.splitlines() if "::" in line}
    assert counted == {f"tests/{test}" for test in named}


def test_a_test_that_does_not_exist_is_noticed() -> None:
    here = "adversary/attacks/test_table.py::test_every_row_is_whole"
    assert collected([here])[0] == 0
    assert collected([here, f"{here}_nowhere"])[0] != 0


@pytest.mark.parametrize("area", sorted(AREAS))
def test_rules_of_the_protocol_are_tried(area: str) -> None:
    """Every row of these areas cites a rule about parties: messages, masks or the beacon."""
    rows = [row for row in ROWS if row.area == area]
    assert len(rows) >= 10
    for row in rows:
        assert {rule[:2] for rule in row.rules} & {"04", "08", "09"}
