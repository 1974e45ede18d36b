"""The page of attacks against the tree: rules that are cited exist, tests that are named run."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

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


@cache
def defined_in(file: str) -> frozenset[str]:
    """The functions at the top of a file that pytest takes for tests; none if it does not open it.

    Collecting them, which imports every module that is named, takes ten times as long.
    """
    path = ROOT / "tests" / file
    if not (path.name.startswith("test_") and path.suffix == ".py" and path.is_file()):
        return frozenset()
    body = ast.parse(path.read_text()).body
    names = {each.name for each in body if isinstance(each, ast.FunctionDef)}
    return frozenset(name for name in names if name.startswith("test_"))


def without_a_test(tests: Sequence[str]) -> list[str]:
    """The names that lead to no test."""
    parts = [(test, test.partition("::")) for test in tests]
    return [test for test, (file, _, name) in parts if name not in defined_in(file)]


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


def test_every_test_that_is_named_exists() -> None:
    named = sorted({test for row in ROWS for test in row.tests})
    assert without_a_test(named) == []
    assert not [test for test in named if test.startswith("plugins/")], "not collected everywhere"


def test_a_test_that_does_not_exist_is_noticed() -> None:
    here = "adversary/attacks/test_table.py::test_every_row_is_whole"
    helper = here.replace("test_every_row_is_whole", "rows_of")
    wrong = [f"{here}_nowhere", helper, f"gone/{here}", here.partition("::")[0]]
    assert without_a_test([here, *wrong]) == wrong


@pytest.mark.parametrize("area", sorted(AREAS))
def test_rules_of_the_protocol_are_tried(area: str) -> None:
    """Every row of these areas cites a rule about parties: messages, masks or the beacon."""
    rows = [row for row in ROWS if row.area == area]
    assert len(rows) >= 10
    for row in rows:
        assert {rule[:2] for rule in row.rules} & {"04", "08", "09"}
