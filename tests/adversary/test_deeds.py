"""Sentences that make no sense are refused, and those that do apply in their order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gopa.adversary import Malicious, deeds
from gopa.adversary.malicious import Deed, script_of
from gopa.adversary.setup import SMALL, TWO_ROUNDS
from gopa.adversary.trial import played
from gopa.contract.phases import Phase
from wire.errors import UsageError


def included(*actors: Malicious) -> list[frozenset[int]]:
    """Who is in the final list of every round."""
    setup = TWO_ROUNDS
    assert [frozenset(each.included or ()) for each in played(setup, ()).rounds] == [
        frozenset(range(4)),
        frozenset(range(4)),
    ]
    return [frozenset(each.included or ()) for each in played(setup, actors).rounds]


@pytest.mark.parametrize("at", ["", "Publish", "organiser", "end", Phase.ORGANISER])
def test_there_is_no_such_phase(at: str | Phase) -> None:
    assert Malicious(1, at="publish", do=deeds.skip()).behaviour()
    with pytest.raises(UsageError) as raised:
        Malicious(1, at=at, do=deeds.skip()).behaviour()
    assert raised.value.field == "at"
    assert "publish" in raised.value.message


@pytest.mark.parametrize(
    ("deed", "right", "wrong"),
    [
        (deeds.spoil_proof(), "commit", "publish"),
        (deeds.unproved_key(), "join", "commit"),
        (deeds.shift(1), "publish", "unmask"),
        (deeds.no_self_mask(), "publish", "join"),
        (deeds.wrong_seed(), "unmask", "confirm"),
        (deeds.accuse(0), "accuse", "publish"),
        (deeds.betray(), "confirm", "rollback"),
        (deeds.lucky_noise(2), "commit", "join"),
    ],
    ids=["proof", "key", "shift", "self-mask", "seed", "accuse", "betray", "luck"],
)
def test_deed_that_means_nothing_in_a_phase(deed: Deed, right: str, wrong: str) -> None:
    assert Malicious(1, at=right, do=deed).behaviour()
    with pytest.raises(UsageError) as raised:
        Malicious(1, at=wrong, do=deed).behaviour()
    assert raised.value.field == "at"
    assert right in raised.value.message


@pytest.mark.parametrize("party", [-1, 4, 99])
def test_liar_that_is_not_there(party: int) -> None:
    assert SMALL.simulation(script_of([Malicious(3, at="publish", do=deeds.skip())]))
    with pytest.raises(UsageError) as raised:
        SMALL.simulation(script_of([Malicious(party, at="publish", do=deeds.skip())]))
    assert raised.value.field == "script"
    assert "from 0 to 3" in raised.value.message


@pytest.mark.parametrize("victim", [-1, 4])
def test_victim_that_is_not_there(victim: int) -> None:
    assert included(Malicious(1, at="commit", do=deeds.copy_proof(0)))[0] == {0, 2, 3}
    with pytest.raises(UsageError) as raised:
        played(SMALL, [Malicious(1, at="commit", do=deeds.copy_proof(victim))])
    assert raised.value.field == "party"


def test_deeds_of_one_party_apply_in_their_order() -> None:
    """What is posted twice and then dropped is not there; what is dropped cannot be doubled."""
    said: list[Any] = []

    def spoken(number: int) -> Deed:
        def lie(content: Any) -> Any:
            said.append(number)
            return replace(content, blinding=content.blinding[::-1])

        return deeds.change(lie)

    first, second = (Malicious(1, at="publish", do=spoken(number)) for number in (1, 2))
    # Turned around twice the message is as it was: each sees what the one before made of it.
    assert played(SMALL, [first, second]).included == {0, 1, 2, 3}
    assert said == [1, 2]
    said.clear()
    assert played(SMALL, [second, first]).included == {0, 1, 2, 3}
    assert said == [2, 1]
    said.clear()
    assert played(SMALL, [first]).included == {0, 2, 3}
    gone = Malicious(1, at="publish", do=deeds.skip())
    said.clear()
    assert played(SMALL, [gone, first]).included == {0, 2, 3}
    assert said == []


@pytest.mark.parametrize(
    ("rounds", "here"),
    [
        (None, [{0, 2, 3}, {0, 2, 3}]),
        ({1}, [{0, 2, 3}, {0, 1, 2, 3}]),
        ({2}, [{0, 1, 2, 3}, {0, 2, 3}]),
        ({3}, [{0, 1, 2, 3}, {0, 1, 2, 3}]),
    ],
    ids=["always", "first", "second", "never"],
)
def test_deeds_are_done_in_their_rounds(rounds: set[int] | None, here: list[set[int]]) -> None:
    assert included(Malicious(1, at="publish", do=deeds.skip(), rounds=rounds)) == here


def test_what_a_board_does_to_a_party_makes_it_no_liar() -> None:
    late = Malicious(1, at="publish", do=deeds.late(), board=True)
    outcome = played(SMALL, [late])
    assert outcome.included == {0, 2, 3}
    assert outcome.liars == frozenset()
    assert 1 in outcome.honest
    assert played(SMALL, [replace(late, board=False)]).liars == {1}
