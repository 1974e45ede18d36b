"""Parties that lie in a session over HTTP, among honest clients and a durable organiser."""

from __future__ import annotations

from typing import Final

import pytest

from gopa.adversary import named
from gopa.adversary.attack import SessionAttack
from gopa.adversary.outcome import Catch, How
from gopa.adversary.served import run_served
from tests.adversary.weakened import weakened
from wire.errors import UsageError

CAUGHT: Final = {
    "late-change-of-value": Catch("04-P1", "party 1", How.CONVICTED),
    "equivocate": Catch("04-E3", "party 1", How.CONVICTED),
    "refuse-unmask": Catch("04-U4", "party 1", How.NAMED),
    "veto-against-recovery": Catch("04-U4", "party 1", How.UNMASKED),
}


def session_attack(name: str) -> SessionAttack:
    attack = named(name)
    assert isinstance(attack, SessionAttack)
    return attack


@pytest.mark.parametrize("name", CAUGHT)
def test_a_liar_is_caught_by_what_catches_it_in_a_simulation(name: str) -> None:
    """The honest session on the same ground came to a right result, or this raises."""
    row = run_served(session_attack(name))
    assert (row.succeeded, row.harm, row.missed) == (False, (), ())
    assert row.held
    assert CAUGHT[name] in row.caught
    assert row.result == "right"
    convicted = CAUGHT[name].how is How.CONVICTED
    assert row.blamed == (("party 1",) if convicted else ())


@pytest.mark.parametrize("name", ["late-change-of-value", "equivocate"])
def test_without_its_defence_nothing_catches_it(name: str) -> None:
    with weakened(name):
        row = run_served(session_attack(name))
    assert not row.held
    assert CAUGHT[name].rule in row.missed


@pytest.mark.parametrize(
    "name",
    ["lying-result", "withheld-publish", "replay-round", "out-of-range-vector", "late-accusation"],
)
def test_what_cannot_be_served_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        run_served(session_attack(name))
