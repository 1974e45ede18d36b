"""What makes an attack: a rule that must catch it, a story, and somebody who misbehaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from gopa.adversary import AttackRoles, Malicious, SessionAttack, attack
from gopa.adversary.aims import counted
from gopa.adversary.attack import KNOWN
from gopa.adversary.deeds import skip
from wire.errors import UsageError


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """Attacks of these tests are forgotten."""
    before = dict(KNOWN)
    yield
    KNOWN.clear()
    KNOWN.update(before)


def goes(roles: AttackRoles) -> list[Malicious]:
    """Goes. Caught: by its absence. Costs: its place."""
    return [Malicious(roles.liar, at="publish", do=skip())]


def test_an_attack_names_a_rule_that_must_catch_it() -> None:
    """Else one in which nothing happens would have been caught as expected."""
    assert attack("goes", "04-P2", aim=counted)(goes).run().held
    with pytest.raises(UsageError) as raised:
        attack("goes-too", aim=counted)
    assert raised.value.field == "expects"


def test_an_attack_in_which_nobody_does_anything_is_not_held() -> None:
    """Whatever it is after."""

    def waits(roles: AttackRoles) -> list[Malicious]:
        return [replace(each, rounds={9}) for each in goes(roles)]

    waits.__doc__ = goes.__doc__
    row = attack("waits", "04-P2", aim=lambda _: False)(waits).run()
    assert (row.held, row.missed) == (False, ("04-P2",))


@pytest.mark.parametrize(
    "said", [None, 1, [Malicious], ["publish"]], ids=["none", "number", "class", "text"]
)
def test_a_plot_says_who_misbehaves(said: Any) -> None:
    made = attack("goes", "04-P2", aim=counted)(goes)
    assert made.run().held
    odd: SessionAttack = replace(made, plot=lambda _: said)
    with pytest.raises(UsageError) as raised:
        odd.run()
    assert raised.value.field == "actors"
