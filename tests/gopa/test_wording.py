"""One vocabulary: every name has its words in `gopa.support.wording`, and no table has others."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import Enum
from pathlib import Path

import pytest

import gopa
from gopa.aggregation.engine import Mode as AggregatorMode
from gopa.auditing.report import Culprit, Status, Verdict
from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.parameters import Mode, Trust
from gopa.contract.phases import Phase
from gopa.protocol.party import Part
from gopa.protocol.rules.findings import Role
from gopa.support import wording
from gopa.support.rounding import known, listed, plus_minus, rounded, short
from zkp.noise import LAWS

ROOT = Path(gopa.__file__).parent


NAMED: list[tuple[type[Enum], Mapping[str, object]]] = [
    (AbortReason, wording.ABORTS),
    (Part, wording.PARTS),
    (Phase, wording.PHASES),
    (Role, wording.ROLES),
    (Trust, wording.TRUSTS),
    (Status, wording.STATUSES),
    (Culprit, wording.CULPRITS),
]


def test_every_law_of_noise_has_words() -> None:
    """A report would show the name of its class instead."""
    assert set(wording.NOISES) == {law.__name__ for law in LAWS}


RULE = re.compile(r"\d\d-[A-Z]\d+")


@pytest.mark.parametrize(("kind", "table"), NAMED, ids=lambda each: getattr(each, "__name__", ""))
def test_every_member_has_its_words(kind: type[Enum], table: Mapping[str, object]) -> None:
    assert set(table) == {wording.name_of(each) for each in kind}
    assert all(table.values())


def test_every_verdict_mode_and_cause_has_its_words() -> None:
    verdicts = {each.value for each in Verdict}
    assert set(wording.VERDICTS) == verdicts
    assert wording.TRUSTED_VERDICTS == set(wording.SUMMARIES) < verdicts
    assert set(wording.DOUBTS) < verdicts
    assert set(wording.MODES) == set(AggregatorMode.__args__)  # type: ignore[attr-defined]
    assert set(wording.MODES) > {wording.name_of(each) for each in Mode}
    # Reports know one more cause: who was barred before never came into a list.
    assert set(wording.CAUSES) == {*map(wording.name_of, RemovalCause), "barred"}


def test_a_name_that_is_not_known_is_shown_as_it_is() -> None:
    assert wording.abort_because("TOO_FEW_LEFT") == wording.ABORTS["too_few_left"]
    assert wording.abort_because("solar flare") == "solar flare"
    assert wording.doing("ROLLBACK") == wording.PHASES["rollback"].doing
    assert wording.doing("siesta") == "siesta"


def vocabulary() -> set[str]:
    kinds = [Phase, AbortReason, RemovalCause, Mode, Trust, Part, Role, Status, Culprit, Verdict]
    names = {wording.name_of(each) for kind in kinds for each in kind}
    return names | {each.value.lower() for each in Verdict}


def tables(tree: ast.AST) -> Iterator[ast.Dict]:
    """Displays of dicts of which two keys or more are names of the vocabulary with words."""
    known = vocabulary()
    for each in ast.walk(tree):
        if not isinstance(each, ast.Dict):
            continue
        pairs = zip(each.keys, each.values, strict=True)
        if sum(key_of(key) in known and speaks(value, key_of(key)) for key, value in pairs) > 1:
            yield each


def key_of(key: ast.expr | None) -> str:
    if isinstance(key, ast.Attribute):
        return key.attr.lower()
    return key.value.lower() if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def speaks(value: ast.expr, key: str) -> bool:
    """Whether it is text for people: no rule, no path of a module, and not the name again."""
    if isinstance(value, ast.JoinedStr):
        return True
    if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
        return False
    text = value.value
    return text != key and not RULE.fullmatch(text) and not text.startswith("gopa.")


@pytest.mark.slow
def test_no_second_table_says_the_same_in_other_words() -> None:
    # The fields of messages by phase are names in code, for nobody to read.
    # What an exit code means is a command's and not a verdict's, where both have one name.
    code = {"adversary/deeds/values.py", "cli/exits.py"}
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if any(tables(ast.parse(path.read_text())))
    }
    assert found - code == {"support/wording.py"}


def test_a_second_table_would_be_found() -> None:
    for text in (
        '{AbortReason.TOO_FEW_LEFT: "nobody is left", AbortReason.ORGANISER: "it gave up"}',
        '{"join": "coming", "commit": f"fixing {what}"}',
    ):
        assert len(list(tables(ast.parse(text)))) == 1
    rules = '{AbortReason.TOO_FEW_LEFT: "04-L3", AbortReason.ORGANISER: "04-X1"}'
    assert not list(tables(ast.parse(rules)))


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (37.4, 19, ("40", "19")),
        (-37.4, 19, ("-40", "19")),
        (-3, 19, ("0", "19")),
        (0.62138, 0.02234, ("0.62", "0.022")),
        (0.62138, 0.2, ("0.6", "0.2")),
        (1_234_567, 1_900, ("1235000", "1900")),
        ("7.1875", "0.87512345678", ("7.2", "0.88")),
        (Decimal("99.7"), Decimal("9.97"), ("100", "10")),
        (0.0001234, 9.96e-6, ("0.00012", "0.00001")),
    ],
)
def test_a_value_is_rounded_to_the_first_digit_of_its_error(
    value: float | str | Decimal, error: float | str | Decimal, shown: tuple[str, str]
) -> None:
    assert known(value, error) == shown


@pytest.mark.parametrize("error", [0, -1, math.nan, math.inf, "", "x", 1e-300])
def test_without_a_usable_error_six_digits_stay(error: float | str) -> None:
    assert known(5.123456789, error)[0] == "5.12346"


@pytest.mark.parametrize("value", ["no number", "1" * 65, "nan"])
def test_what_is_no_number_is_shown_as_it_is(value: str) -> None:
    assert known(value, 1)[0] == value


def test_thousands_are_set_apart_where_asked() -> None:
    assert rounded(1_234_567, 1_900, grouped=True) == ("1,235,000", "1,900")


def test_numbers_are_listed_with_their_errors() -> None:
    assert plus_minus(37.4, 19) == "40 +- 19"
    assert plus_minus("37.4", "") == "37.4"
    assert listed([37.4], [19]) == "40 +- 19"
    assert listed([37.4, 61], [19, 19]) == "40, 60, each +- 19"
    assert listed([37.4, 61], [19, 3]) == "40 +- 19, 61 +- 3"
    assert listed(["1", "2"], ["", ""]) == "1, 2"
    assert listed([1] * 7, [0.5] * 7).endswith(".. 7 numbers, each +- 0.5")


def test_a_number_alone_is_short() -> None:
    assert (short(0.000057712345, 3), short("12.50"), short(-0.0)) == ("5.77e-05", "12.5", "0")
