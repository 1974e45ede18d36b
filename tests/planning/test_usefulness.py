"""Warnings where an answer is mostly noise, and whether what they say would do does."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

import gopa
from gopa.contract.terms import MOST_PARTIES
from gopa.planning.usefulness import (
    MOST_ERROR,
    BlurredAnswer,
    error_with_all,
    terms_warning,
    what_would_do,
)

TARGET: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "least_chance": 0}
ASKED: list[dict[str, Any]] = [
    {},
    {"integers": True},
    {"integers": True, "range": (0, 100)},
    {"corrupt": 1},
    {"corrupt": 0.4},
    {"dropout": 0.2},
    {"dropout": 0.01},
    {"recovery": None},
    {"trust": "honest-but-curious", "mode": "signed"},
    {"dimension": 10, "noise": "irwin-hall"},
    {"rounds": 3},
    {"epsilon": "0.1"},
]
_LARGE = 400
"""Larger plans take long to make."""


def error_of(asked: dict[str, Any]) -> float:
    """The error of a plan, in ranges."""
    made = gopa.plan(**{**TARGET, **asked})
    return made.errors.planned / float(made.terms.high - made.terms.low)


def blurred(asked: dict[str, Any]) -> BlurredAnswer:
    made = gopa.plan(**{**TARGET, **asked})
    return BlurredAnswer.of(
        made.terms,
        made.errors.planned,
        colluding=made.colluding,
        dropout=made.liveness.dropout,
    )


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_planning_again_with_what_would_do_gives_a_clear_answer(asked: dict[str, Any]) -> None:
    tried = 0
    for parties in (6, 20):
        noisy = blurred({**asked, "n": parties})
        if not noisy.is_noise:
            continue
        found = what_would_do(noisy)
        changes = [("n", found.parties), ("epsilon", found.epsilon), ("dropout", found.dropout)]
        for name, value in changes:
            if value is not None and value <= _LARGE:
                tried += 1
                again = error_of({**asked, "n": parties, name: value})
                assert again <= MOST_ERROR, (parties, name, value)
    assert tried > 0


@pytest.mark.parametrize("parties", [5, 12, 20])
def test_much_less_than_what_would_do_does_not(parties: int) -> None:
    found = what_would_do(blurred({"n": parties}))
    assert found.parties is not None
    assert found.epsilon is not None
    assert error_of({"n": max(3, round(0.7 * found.parties))}) > MOST_ERROR
    assert error_of({"n": parties, "epsilon": 0.7 * found.epsilon}) > MOST_ERROR


def test_terms_alone_say_what_the_plan_says() -> None:
    for parties, dropout in product((6, 10, 20), (0.05, 0.01)):
        asked: dict[str, Any] = {"n": parties, "dropout": dropout}
        made = gopa.plan(**TARGET, **asked)
        found = what_would_do(BlurredAnswer.of(made.terms, made.errors.planned))
        assert found.parties is not None
        assert error_of({**asked, "n": found.parties}) <= MOST_ERROR


def test_a_smaller_dropout_is_named_where_it_does() -> None:
    found = what_would_do(blurred({"n": 24, "dropout": 0.1}))
    assert found.dropout is not None
    assert error_of({"n": 24, "dropout": found.dropout}) <= MOST_ERROR
    assert what_would_do(blurred({"n": 5})).dropout is None


def test_a_plan_warns_and_says_what_would_do() -> None:
    made = gopa.plan(n=5, **TARGET)
    (warning,) = made.warnings
    assert "with 5 parties" in warning
    assert f"{made.errors.planned:.2g}" in warning
    found = what_would_do(blurred({"n": 5}))
    assert str(found) in warning
    assert f"{found.parties} parties" in warning
    assert f"epsilon {found.epsilon:g}" in warning


def test_a_clear_plan_does_not_warn() -> None:
    assert gopa.plan(n=300, **TARGET).warnings == ()
    assert gopa.plan(n=60, **TARGET).warnings == ()


def test_warnings_begin_at_a_quarter_of_the_range() -> None:
    terms = gopa.plan(n=60, range=(-2, 6), **TARGET).terms
    assert terms_warning(terms, 2.0) == ""
    assert "from -2 to 6" in terms_warning(terms, 2.1)
    assert error_with_all(terms) < 2.0


@pytest.mark.parametrize(
    "changes",
    [
        {"parties": 10**30},
        {"parties": 0},
        {"corrupt": -1},
        {"survivors": 2 * 10**6},
        {"survivors": 1},
        {"dimension": 0},
        {"epsilon": 0.0},
        {"epsilon": float("nan")},
        {"delta": 0.0},
        {"delta": 1.0},
        {"error": float("inf")},
    ],
    ids=str,
)
def test_of_terms_that_no_plan_has_nothing_is_said(changes: dict[str, Any]) -> None:
    sound = BlurredAnswer(10, 1, 6, 1, 1.0, 1e-6, recovers=True, error=0.6)
    assert what_would_do(sound).parties is not None
    fields = {name: getattr(sound, name) for name in BlurredAnswer.__slots__}
    found = what_would_do(BlurredAnswer(**{**fields, **changes}))
    assert (found.parties, found.epsilon, found.dropout) == (None, None, None)
    assert str(found)


def test_what_nothing_sensible_mends_is_left_out() -> None:
    hopeless = BlurredAnswer(10, 1, 6, 1, 1.0, 1e-6, recovers=True, error=1e9)
    found = what_would_do(hopeless)
    assert (found.parties, found.epsilon, found.dropout) == (None, None, None)
    many = what_would_do(BlurredAnswer(10, 1, 6, 1, 1e-3, 1e-6, recovers=True, error=500.0))
    assert many.epsilon is not None
    assert many.parties is not None
    assert 1_000 < many.parties < MOST_PARTIES


# Targets that no plan meets.

CURIOUS: dict[str, Any] = {"trust": "honest-but-curious", "mode": "signed"}
SMALL: list[tuple[int, dict[str, Any]]] = [
    *((parties, CURIOUS) for parties in (3, 4, 5)),
    *((parties, {"recovery": None}) for parties in (3, 4, 5)),
    *((parties, {"corrupt": 0.8}) for parties in (3, 4, 5)),
    (5, {"epsilon": "0.01"}),
    (4, {"noise": "binomial"}),
    (3, {"integers": True, "range": (0, 100_000)}),
]


def named(message: str) -> list[dict[str, Any]]:
    """The changes that a message says work."""
    help_ = message.partition("it works ")[2]
    found: list[dict[str, Any]] = []
    found += [{"n": int(count)} for count in re.findall(r"with (\d+) parties", help_)]
    for name, value in re.findall(r"(\w+)=([\d.]+)", help_):
        found.append({name: int(value) if name == "corrupt" else Decimal(value)})
    return found


def without(message: str, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """What is left of the target where the message says to leave an option out."""
    names = re.findall(r"without `(\w+)`", message)
    return [{name: value for name, value in asked.items() if name != each} for each in names]


@pytest.mark.parametrize(("parties", "asked"), SMALL, ids=str)
def test_few_parties_are_told_what_works_and_of_no_option_that_nobody_gave(
    parties: int, asked: dict[str, Any]
) -> None:
    target = {"n": parties, "epsilon": 1, "delta": "1e-6", **asked}
    with pytest.raises(gopa.UsageError) as caught:
        gopa.plan(**target)
    refused = caught.value
    works = named(str(refused))
    for change in works:
        plain = {name: float(v) if name == "dropout" else v for name, v in change.items()}
        gopa.plan(**{**target, **plain})
    left = without(str(refused), target)
    for fewer in left:
        gopa.plan(**fewer)
    assert works or left
    for option in ("corrupt", "steps", "recovery", "attempts", "charged", "noise", "least_chance"):
        word = rf"\b{option}=|`{option}`"
        assert option in asked or re.search(word, str(refused)) is None
    assert refused.field in {"n", "noise", *asked}


def test_four_parties_who_trust_each_other_need_a_low_dropout_or_six() -> None:
    with pytest.raises(gopa.UsageError) as refused:
        gopa.plan(n=4, epsilon=1, delta="1e-6", **CURIOUS)
    assert "dropout=0.01" in str(refused.value)
    assert "6 parties" in str(refused.value)


def test_many_parties_are_not_tried_one_by_one() -> None:
    with pytest.raises(gopa.UsageError) as refused:
        gopa.plan(n=200, epsilon=1, delta="1e-6", corrupt=199)
    assert "it works" not in str(refused.value)
    assert refused.value.field == "corrupt"
