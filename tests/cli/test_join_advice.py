"""A party that declines is told what to say to take part all the same, where that helps."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest

from gopa.cli.join import ACCEPT, advised, join
from gopa.cli.plan import plan
from gopa.planning.target import CORRUPT
from gopa.protocol.party import LocalPolicy, Refusal

OPTIONS = {name for option in join.params for name in option.opts}


@pytest.mark.parametrize("advice", ACCEPT.values())
def test_advice_names_an_option_of_the_command(advice: str) -> None:
    named = re.findall(r"--[a-z-]+", advice)
    assert len(named) == 1
    assert set(named) <= OPTIONS


def test_parties_ask_for_the_part_that_plans_assume() -> None:
    """A number of their own would refuse plans that say nothing, or accept plans for less."""
    asked = {name: each.default for each in (*join.params, *plan.params) for name in each.opts}
    assert asked["--corrupt-share"] == asked["--corrupt"] == str(CORRUPT)
    assert LocalPolicy(Decimal(1), Decimal(1)).corrupt_share == Fraction(str(CORRUPT))


def test_a_plan_for_fewer_is_accepted_by_saying_so() -> None:
    said = advised(Refusal("this session withstands 1 of 200", "corrupt", "1/200"))
    assert said.message.endswith("To accept: --corrupt-share 1/200")


def test_the_value_that_would_do_is_named() -> None:
    said = advised(Refusal("this session uses epsilon 8, you accept at most 1", "epsilon", "8"))
    assert said.message == (
        "This session uses epsilon 8, you accept at most 1. Nothing was sent. "
        "To accept: --epsilon 8"
    )


@pytest.mark.parametrize("field", ["admission", "policy", "beacon", "terms"])
def test_nothing_is_advised_that_does_not_help(field: str) -> None:
    assert "To accept" not in advised(Refusal("no", field)).message


def test_strangers_are_accepted_where_anybody_may_join() -> None:
    assert "--allow-anyone" in advised(Refusal("no", "admission", "anyone")).message
