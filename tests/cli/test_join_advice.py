"""A party that declines is told what to say to take part all the same, where that helps."""

from __future__ import annotations

import re

import pytest

from gopa.cli.join import ACCEPT, advised, join
from gopa.party import Refusal

OPTIONS = {name for option in join.params for name in option.opts}


@pytest.mark.parametrize("advice", ACCEPT.values())
def test_advice_names_an_option_of_the_command(advice: str) -> None:
    named = re.findall(r"--[a-z-]+", advice)
    assert len(named) == 1
    assert set(named) <= OPTIONS


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
