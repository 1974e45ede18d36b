"""What is asked for makes sense, and what was spent is held against it."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from gopa import UsageError
from gopa.learning import History, Privacy, Spent, worst

ASKED = Privacy(1.0, 1e-6)
SPENT = Spent.of(ASKED, 0.9, theorem="a theorem", assumptions=["one"], curve=History({"step": [1]}))


def test_nobody_changes_them() -> None:
    for each in (ASKED, SPENT):
        with pytest.raises(FrozenInstanceError):
            each.epsilon = 2.0  # type: ignore[misc]
        assert pickle.loads(pickle.dumps(each)) == each  # noqa: S301


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"delta": -1e-9}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"unit": "row"}, "unit"),
        ({"view": "server"}, "view"),
        ({"relation": "replace"}, "relation"),
        ({"view": "coalition"}, "colluders"),
        ({"view": "coalition", "colluders": 1}, "colluders"),
        ({"colluders": 3}, "colluders"),
        ({"colluders": 0}, "colluders"),
        ({"view": "coalition", "colluders": 2.5}, "colluders"),
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any], field: str) -> None:
    given: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
    assert Privacy(**given) == ASKED
    with pytest.raises(UsageError) as caught:
        Privacy(**{**given, **changes})
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"epsilon": -0.1}, "epsilon"), ({"epsilon": math.nan}, "epsilon"), ({"delta": 2}, "delta")],
)
def test_nobody_reports_nonsense(changes: dict[str, Any], field: str) -> None:
    assert replace(SPENT) == SPENT
    with pytest.raises(UsageError) as caught:
        replace(SPENT, **changes)
    assert caught.value.field == field


def test_a_report_keeps_what_was_asked_for_only_if_it_is_about_the_same() -> None:
    assert SPENT.within(ASKED)
    assert not replace(SPENT, epsilon=1.1).within(ASKED)
    assert not replace(SPENT, delta=1e-5).within(ASKED)
    assert not replace(SPENT, unit="record").within(ASKED)
    assert not replace(SPENT, relation="add-remove").within(ASKED)
    assert not replace(SPENT, view="neighbour").within(ASKED)
    assert not Spent.nothing_hidden().within(ASKED)


def test_whoever_sees_everything_sees_what_a_coalition_sees_and_not_the_reverse() -> None:
    few, many = (Privacy(1, 1e-6, view="coalition", colluders=k) for k in (2, 3))
    assert SPENT.within(few)
    assert Spent.of(few, 0.5, theorem="t").within(few)
    assert not Spent.of(few, 0.5, theorem="t").within(many)
    assert Spent.of(many, 0.5, theorem="t").within(few)
    assert Spent.of(few, 0.5, theorem="t").within(replace(ASKED, view="neighbour"))
    assert not Spent.of(few, 0.5, theorem="t").within(ASKED)


def test_the_worst_user_speaks_for_all() -> None:
    more = replace(SPENT, epsilon=0.95)
    assert worst([SPENT, more, SPENT]) is more
    for reports in ([], [SPENT, replace(SPENT, unit="record")]):
        with pytest.raises(UsageError):
            worst(reports)


def test_words_say_whose_data_and_against_whom() -> None:
    assert "one user" in str(ASKED)
    assert "record" in str(replace(ASKED, unit="record"))
    assert "3 users together" in str(Privacy(1, view="coalition", colluders=3))
    assert "nothing is hidden" in str(Spent.nothing_hidden())
    assert "a theorem" in str(SPENT)
