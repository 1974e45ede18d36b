"""What must never happen is noticed, by whichever hole it came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gopa.adversary import AttackOutcome, Malicious, MaliciousOrganiser, harm, named
from gopa.adversary.deeds import hold, instead, skip, spoil_value
from gopa.adversary.deeds.organising import AlteredResult, added
from gopa.adversary.malicious import Actor
from gopa.adversary.setup import SMALL
from gopa.adversary.trial import played
from gopa.contract.party import OPENING, EdgeOpenings, OpenedEdge
from gopa.contract.phases import Phase
from gopa.protocol.party import Post
from gopa.protocol.party.states import Published
from gopa.protocol.rules import final_phases as sums
from gopa.protocol.rules.mailbox import Mailbox
from gopa.protocol.simulation.access import PartyAccess
from tests.adversary.switches import OWN_PRESENCE
from tests.auditing.disabling import believed
from wire.errors import FaultyParty, ProtocolError

LIED = [MaliciousOrganiser(AlteredResult(added(1)))]


def outcome(*actors: Actor) -> AttackOutcome:
    """Of a session in which nothing happens without these."""
    assert harm(played(SMALL, ())) == ()
    return played(SMALL, actors)


def test_a_wrong_sum_that_everybody_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert harm(outcome()) == ()
    right = sums._scalars

    def wrong(*given: Any) -> Sequence[int]:
        return tuple(each + 1 for each in right(*given))

    monkeypatch.setattr(sums, "_scalars", wrong)
    found = played(SMALL, ())
    assert (found.result, len(harm(found))) == ("wrong", 1)


def test_a_wrong_sum_that_is_only_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert harm(outcome(*LIED)) == ()
    believed("7.2")(monkeypatch)
    found = outcome(*LIED)
    assert found.accepted
    assert (found.result, len(harm(found))) == ("wrong", 1)


def test_somebody_honest_is_convicted() -> None:
    spoiled = Malicious(1, at="publish", do=spoil_value())
    assert harm(outcome(spoiled)) == ()
    (text,) = harm(outcome(Malicious(1, at="publish", do=spoil_value(), board=True)))
    assert "party 1" in text


@pytest.mark.parametrize("accused", [1, 2])
def test_a_party_blames_an_honest_one(accused: int) -> None:
    """Party 3 lies, and may be blamed."""
    found = outcome(Malicious(accused, at="publish", do=skip()))
    assert found.halted == {}
    blame: dict[int, ProtocolError] = {0: FaultyParty("it lied", found.keys[accused])}
    assert harm(replace(found, halted=blame)) == ()
    innocent: dict[int, ProtocolError] = {0: FaultyParty("it lied", found.keys[3])}
    (text,) = harm(replace(found, halted=innocent))
    assert "party 3" in text


@pytest.mark.parametrize("deed", [hold("rollback"), skip()], ids=["late", "never"])
def test_a_value_that_a_board_has_is_bare(deed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its author opens its own mask though all edges to it are open."""
    withheld = Malicious(0, at="publish", do=deed, board=True)
    assert harm(outcome(withheld)) == ()
    OWN_PRESENCE(monkeypatch)
    assert any("nothing hides" in text for text in harm(outcome(withheld)))


@pytest.mark.parametrize("acts_on", [True, False], ids=["close", "nothing"])
def test_an_edge_of_honest_parties_is_open(acts_on: bool) -> None:
    """Also if the opening counts for nothing."""

    def leaks(access: PartyAccess, post: Post) -> Sequence[Post]:
        stage = access.before.stage
        assert isinstance(stage, Published)
        leaf = access.state.chain.leaf if acts_on else bytes(32)
        opening = EdgeOpenings(leaf, (OpenedEdge(2, stage.keys[2].reveal()),))
        return [post, access.sign(Phase.ROLLBACK, OPENING.encode(opening))]

    assert harm(outcome(Malicious(0, at="confirm", do=instead(leaks)))) == ()
    found = harm(outcome(Malicious(0, at="confirm", do=instead(leaks), board=True)))
    assert any("edge between honest parties 0 and 2" in text for text in found)


@pytest.mark.parametrize("name", ["equivocate", "equivocate-key"])
def test_whoever_is_convicted_and_counts_all_the_same_got_through(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert named(name).run().held
    monkeypatch.setattr(Mailbox, "is_struck", lambda *_: False)
    row = named(name).run()
    assert row.missed == ()
    assert row.succeeded
