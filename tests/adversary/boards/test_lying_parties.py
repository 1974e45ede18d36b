"""Parties that lie in a session over HTTP, among honest clients and a durable organiser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pytest

from gopa.adversary import AttackResult, AttackRoles, Malicious, attacks, deeds, named
from gopa.adversary.attack import SessionAttack
from gopa.adversary.boards import lying, played
from gopa.adversary.catalogue.coins import DRAND
from gopa.adversary.malicious import script_of
from gopa.adversary.outcome import Catch, How
from gopa.adversary.served import Unserved, run_served, servable, unserved
from gopa.adversary.setup import SMALL
from gopa.protocol.party import Post
from gopa.protocol.simulation.access import PartyAccess
from tests.adversary.weakened import weakened
from wire.errors import UsageError

CAUGHT: Final[Mapping[str, Catch]] = {
    "late-change-of-value": Catch("04-P1", "party 1", How.CONVICTED),
    "equivocate": Catch("04-E3", "party 1", How.CONVICTED),
    "veto-against-recovery": Catch("04-U4", "party 1", How.UNMASKED),
    "betray": Catch("04-C2", "party 1", How.TURNED_AWAY),
    "copied-proof": Catch("04-K3", "party 1", How.CONVICTED),
    "refuse-open": Catch("04-O3", "party 1", How.REMOVED),
    "reused-noise-seed": Catch("04-J5", "party 1", How.CONVICTED),
    "long-vector": Catch("14-P3", "party 1", How.CONVICTED),
    "false-edge": Catch("14-K6", "party 1", How.CONVICTED),
    "withheld-proof": Catch("14-P8", "party 1", How.REMOVED),
}
"""One of each kind: values, slots, recovery, what is late, copied, owed, used again, in rows."""

NOT_SOAKED: Final = frozenset({"late-change-of-value", "false-edge"})

BY_PARTIES: Final = tuple(
    name
    for name, each in attacks().items()
    if isinstance(each, SessionAttack) and unserved(each) is None
)

UNSERVED: Final[Mapping[str, Unserved]] = {
    "lying-result": Unserved.ORGANISER,
    "exchanged-nonce": Unserved.ORGANISER,
    "withheld-publish": Unserved.BOARD,
    "selective-dropping": Unserved.BOARD,
    "truncate-log": Unserved.READER,
    "value-above-weight": Unserved.WEIGHTS,
}


def session_attack(name: str) -> SessionAttack:
    attack = named(name)
    assert isinstance(attack, SessionAttack)
    return attack


def require_held(row: AttackResult) -> None:
    assert (row.succeeded, row.harm, row.missed) == (False, (), ())
    assert row.held
    assert row.caught
    assert row.result == "right"
    assert set(row.blamed) <= {"party 1", "party 2", "party 3"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in NOT_SOAKED else pytest.mark.soak) for name in CAUGHT],
)
def test_a_liar_is_caught_by_what_catches_it_in_a_simulation(name: str) -> None:
    """The honest session in the same setup came to a right result, or this raises."""
    row = run_served(session_attack(name))
    require_held(row)
    assert CAUGHT[name] in row.caught
    convicted = CAUGHT[name].how is How.CONVICTED
    assert row.blamed == (("party 1",) if convicted else ())


@pytest.mark.soak
@pytest.mark.parametrize("name", BY_PARTIES)
def test_every_attack_by_parties_fails_over_http(name: str) -> None:
    require_held(run_served(session_attack(name)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param("late-change-of-value", marks=pytest.mark.soak), "equivocate"]
)
def test_without_its_defence_nothing_catches_it(name: str) -> None:
    with weakened(name):
        row = run_served(session_attack(name))
    assert not row.held
    assert CAUGHT[name].rule in row.missed


@pytest.mark.slow
def test_a_rule_that_is_expected_over_http_is_missed_where_nothing_breaks_it() -> None:
    """One of several is enough, as for `betray` above; here it is none."""
    wrong = run_served(replace(session_attack("equivocate"), over_http=("04-C2", "04-A3")))
    assert (wrong.held, wrong.missed) == (False, ("04-C2", "04-A3"))


@pytest.mark.slow
def test_who_had_no_occasion_tries_again() -> None:
    """As a liar whose noise is zero, and that would leave it out."""
    tried: list[Sequence[Malicious]] = []

    def plot(roles: AttackRoles) -> Sequence[Malicious]:
        nothing_yet = len(tried) < 2  # one call looks at who lies, the next is the first session
        deed = deeds.change(lambda said: said) if nothing_yet else deeds.twice()
        tried.append([Malicious(roles.liar, at="publish", do=deed)])
        return tried[-1]

    row = run_served(replace(session_attack("equivocate"), plot=plot))
    assert row.held
    assert len(tried) == 3


@pytest.mark.slow
def test_the_organiser_waits_for_nobody_who_is_gone() -> None:
    """A liar that leaves is late in every phase from there on."""
    gone = [Malicious(1, at="coins", do=deeds.leave())]
    outcome = played(SMALL, lying(script_of(gone)))
    assert (outcome.result, outcome.stuck) == ("right", "")
    assert [end.included for end in outcome.ends] == [True, True, True]
    assert outcome.liars == {1}


def test_a_deed_that_falls_over_is_not_taken_for_silence() -> None:
    def fall(access: PartyAccess, post: Post) -> Sequence[Post]:
        del access
        raise LookupError(post.phase)

    actors = [Malicious(1, at="coins", do=deeds.instead(fall))]
    with pytest.raises(LookupError):
        played(SMALL, lying(script_of(actors)))


@pytest.mark.parametrize("name", UNSERVED)
def test_what_cannot_be_served_is_refused(name: str) -> None:
    assert unserved(named(name)) is UNSERVED[name]
    with pytest.raises(UsageError):
        run_served(named(name))


def test_what_is_served_is_decided_before_anything_runs() -> None:
    honest = session_attack("wrong-nonce")
    assert unserved(honest) is None
    assert unserved(replace(honest, setup=DRAND)) is Unserved.BEACON
    assert unserved(named("fork")) is None
    assert set(BY_PARTIES) >= CAUGHT.keys()
    assert len(BY_PARTIES) >= 60


def test_families_are_narrowed_and_names_are_not() -> None:
    both = [named("wrong-nonce"), named("exchanged-nonce")]
    fit, unfit = servable(both, ["coins"])
    assert ([each.name for each in fit], unfit) == (
        ["wrong-nonce"],
        {"exchanged-nonce": Unserved.ORGANISER},
    )
    with pytest.raises(UsageError):
        servable(both, ["exchanged-nonce", "coins"])
    with pytest.raises(UsageError):
        servable(both[1:], ["coins"])
