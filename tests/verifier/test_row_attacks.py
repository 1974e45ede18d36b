"""The catalogue's attacks on sessions of rows: both verifiers find the same in their logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pytest

from gopa.adversary import AttackRoles, SessionAttack, SessionSetup, attacks, script_of
from gopa.adversary.malicious import NotApplicable
from gopa.adversary.needs import require_met
from gopa.adversary.setup import ROWS, ROWS_RECOVERING
from gopa.contract.organiser import Close, read_control
from gopa.contract.party import OPENING, EdgeOpenings, OpenedEdge
from gopa.contract.phases import Phase
from gopa.protocol.party import Post
from gopa.protocol.party.states import Confirmed, Published
from gopa.protocol.simulation import Script
from gopa.protocol.simulation.access import PartyAccess
from gopa.protocol.simulation.script import Honest
from tests.verifier.answers import ACCEPTED, Answer, first, second
from tests.verifier.test_sessions import archive_of

ALL: Final = [each for each in attacks().values() if isinstance(each, SessionAttack)]
OF_ROWS: Final = {each.name: each for each in ALL if each.setup.terms.squared_norm}
OTHERS: Final = {
    each.name: each for each in ALL if each.name not in OF_ROWS and not each.setup.witnesses
}


def found_in(setup: SessionSetup, attack: SessionAttack) -> Answer:
    """What both say about a session in which somebody tries this.

    Raises `NotApplicable` where the session lacks what the attack needs.
    """
    simulation = setup.simulation(script_of(attack.actors(AttackRoles())))
    require_met(attack.needs, simulation.manifest)
    for _ in range(setup.rounds):
        if not simulation.over:
            simulation.run_round(setup.inputs())
    archive, anchors = archive_of(simulation)
    found = second(archive, anchors)
    assert found == first(archive, anchors)
    return found


def test_an_honest_session_is_accepted() -> None:
    simulation = ROWS.simulation(script_of([]))
    simulation.run_round(ROWS.inputs())
    archive, anchors = archive_of(simulation)
    found = second(archive, anchors)
    assert found == first(archive, anchors)
    assert (found.verdict, found.faults) == ("VALID", frozenset())


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("name", OF_ROWS)
def test_both_catch_what_is_tried_with_rows(name: str) -> None:
    attack = OF_ROWS[name]
    found = found_in(attack.setup, attack)
    rules = {rule for *_, rule in found.faults}
    expected = (
        set(attack.expects) - {"04-K4", "14-P8", "04-O3"} if attack.family == "rows" else rules
    )
    assert expected <= rules
    assert found.verdict in ({"INVALID"} if attack.family == "organiser" else ACCEPTED)


def tried_with_rows(name: str) -> Answer:
    """What both say about an attack that was made for another session."""
    attack = OTHERS[name]
    base = ROWS_RECOVERING if attack.setup.terms.threshold is not None else ROWS
    terms = replace(base.terms, rounds=attack.setup.rounds)
    return found_in(replace(base, terms=terms, rounds=attack.setup.rounds), attack)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stranger", "replayed-possession"])
def test_what_is_tried_with_keys_is_caught_with_rows_as_well(name: str) -> None:
    found = tried_with_rows(name)
    assert found.rounds
    # A stranger is on no roll, and nobody has anything to convict it of.
    convicting = set(OTHERS[name].expects) - {"04-J1"}
    assert convicting == {rule for *_, rule in found.faults}


@pytest.mark.soak
@pytest.mark.parametrize("name", OTHERS)
def test_both_find_the_same_where_other_attacks_are_tried_with_rows(name: str) -> None:
    """Whether or not the attack has a meaning there."""
    try:
        found = tried_with_rows(name)
    except NotApplicable:
        return
    assert found.rounds or found.faults


@dataclass(frozen=True, slots=True)
class BetrayingOf(Honest):
    """Opens its edges inside of the final list, as if that close of the round asked for it."""

    closed: Phase

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        before, now = access.before.stage, access.state.stage
        if isinstance(before, Published) and isinstance(now, Confirmed):
            kept = [(v, before.keys[v].reveal()) for v in sorted(before.keys) if v in now.final]
            access.memory["kept"] = tuple(OpenedEdge(v, key) for v, key in kept)
        return [post]

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        edges = access.memory.pop("kept", ()) if phase is Phase.CONFIRM else ()
        if not edges:
            return []
        organiser = access.manifest.organiser
        entries = access.board.stream(organiser, Phase.ORGANISER, access.round)
        said = [(each, read_control(each.entry.kind, each.entry.body)) for each in entries]
        (leaf,) = (
            each.leaf
            for each, close in said
            if isinstance(close, Close) and close.phase is self.closed
        )
        return [access.sign(Phase.ROLLBACK, OPENING.encode(EdgeOpenings(leaf, edges)), 0)]


@pytest.mark.slow
@pytest.mark.parametrize("closed", [Phase.COMMIT, Phase.PUBLISH, Phase.PROVE])
def test_who_opens_an_edge_inside_is_named_from_the_close_of_publish_on(closed: Phase) -> None:
    simulation = ROWS.simulation(Script().misbehave(1, BetrayingOf(closed)))
    simulation.run_round(ROWS.inputs())
    archive, anchors = archive_of(simulation)
    found = second(archive, anchors)
    assert found == first(archive, anchors)
    rules = {rule for *_, rule in found.faults}
    assert rules == (set() if closed is Phase.COMMIT else {"04-O5", "04-F3"})
