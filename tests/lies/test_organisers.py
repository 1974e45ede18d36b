"""Every lie of an organiser in every session where it means something: whom it concerns stops."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

import pytest

from bulletin_board import Submission
from gopa.adversary.deeds.organising import ClosedAnyway, ClosesAgain
from gopa.contract.party import OPENING
from gopa.contract.phases import Phase
from gopa.graph import ring
from gopa.protocol.party.states import Stopped
from gopa.protocol.rules import Role
from gopa.protocol.simulation import Script
from gopa.protocol.simulation.script import Skip
from tests.lies.organisers import EVERYBODY, LIES, VICTIM, OrganisersLie
from tests.lies.table import LEAVER, LIAR, PARTIES
from tests.lies.worlds import WORLDS, Told
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import SCALAR, inputs_for, simulate
from tests.verifier.answers import first, second
from tests.verifier.test_sessions import archive_of
from wire.errors import FaultyParty

TELLINGS: Final = [(name, world) for name, lie in LIES.items() for world in lie.worlds]


@cache
def require_honest(name: str, world: str) -> None:
    """The same without the lie: the organiser is not blamed, and nobody stops for it."""
    lie = LIES[name]
    told = WORLDS[world].act(lie.before, SWIFT)
    faults = told.record.findings.faults
    assert not [fault for fault in faults if fault.role is Role.ORGANISER]
    assert told.record.halted.keys() <= {LIAR}
    assert (told.record.sums is None) is lie.aborts


def require_silent(told: Told, lie: OrganisersLie) -> None:
    """Nobody speaks behind the lie who has stopped, and edges are open only to who is out.

    Of two closes the first is answered, before the second one comes.
    """
    keys = [actor.author for actor in told.simulation.parties]
    lied_at = min(max(fault.entries) for fault in told.record.findings.faults if fault.entries)
    two = isinstance(lie.does, ClosesAgain) or lie.rule == "04-E3"
    opened = set()
    for at, raw in enumerate(told.simulation.log().entries()):
        entry = Submission.decode(raw).entry
        author = keys.index(entry.author.data) if entry.author.data in keys else None
        assert at <= lied_at or author not in lie.stops or two
        if entry.phase == Phase.ROLLBACK and author not in {LIAR, LEAVER}:
            opened |= {each.neighbour for each in OPENING.decode(entry.body).edges}
    assert opened <= {VICTIM, LIAR, LEAVER}


@pytest.mark.thirds
@pytest.mark.parametrize(("name", "world"), TELLINGS)
def test_whom_a_lie_concerns_stops_and_reveals_nothing_more(name: str, world: str) -> None:
    """They blame the organiser, as the rules do, and these blame it for nothing else."""
    require_honest(name, world)
    lie, told = LIES[name], WORLDS[world].tell(LIES[name], SWIFT)
    simulation, record = told.simulation, told.record
    faults = [fault for fault in record.findings.faults if fault.role is Role.ORGANISER]
    assert {(fault.author, fault.rule) for fault in faults} == {
        (simulation.manifest.organiser, lie.rule)
    }
    assert record.halted.keys() == lie.stops
    for error in record.halted.values():
        assert isinstance(error, FaultyParty)
        assert error.party == simulation.manifest.organiser
        if lie.rule == "04-E3":
            assert len(error.evidence) == 64  # the leaves of both entries
    for index in lie.stops:
        assert isinstance(simulation.parties[index].state.stage, Stopped)
    assert (record.sums is not None) is lie.stands
    if lie.rule != "04-E3":  # the session ends where it lied
        assert not record.findings.complete
        assert record.attempts[-1].abort is None
    assert simulation.over
    require_silent(told, lie)


@pytest.mark.slow
@pytest.mark.thirds(9)
@pytest.mark.parametrize(("name", "world"), TELLINGS)
def test_both_verifiers_convict_the_organiser(name: str, world: str) -> None:
    """And no party that the same log without the lie does not convict."""
    lie = LIES[name]
    honest, told = (WORLDS[world].act(each) for each in (lie.before, lie.script(rows=False)))
    archive, anchors = archive_of(told.simulation)
    found = second(archive, anchors)
    assert found == first(archive, anchors)
    assert {rule for role, *_, rule in found.faults if role == "organiser"} == {lie.rule}
    before = second(*archive_of(honest.simulation))
    assert not [role for role, *_ in before.faults if role == "organiser"]
    assert {fault for fault in found.faults if fault[0] != "organiser"} <= before.faults


def test_parties_that_stopped_are_silent_in_later_rounds() -> None:
    number = WORLDS["number"]
    longer = replace(number, terms=replace(number.terms, rounds=2))
    told = longer.tell(LIES["two closes of publish"], SWIFT)
    assert told.record.halted.keys() == EVERYBODY
    assert told.record.sums is None
    again = told.simulation.run_round(inputs_for(longer.terms))
    assert [usage.posted for usage in again.usage] == [0] * PARTIES
    assert again.sums is None


def test_edges_to_whoever_a_list_lacks_are_opened_and_its_own_mask_is_not() -> None:
    told = WORLDS["number"].tell(LIES["list of publish without a party"], SWIFT)
    board, parties = told.simulation.parties[0].access.board, told.simulation.parties
    opened = {
        (actor.index, edge.neighbour)
        for actor in parties
        for posted in board.stream(actor.author, Phase.ROLLBACK, 1)
        for edge in OPENING.decode(posted.entry.body).edges
    }
    assert opened == {(other, VICTIM) for other in EVERYBODY - {VICTIM}}
    assert not board.stream(parties[VICTIM].author, Phase.UNMASK, 1)


@pytest.mark.parametrize("missing", [(1, 2), (1, 3)], ids=["one each", "both of a party"])
def test_nobody_unmasks_when_too_few_confirmed_around_somebody_else(
    missing: tuple[int, int],
) -> None:
    """04-F2 is about everybody in the final list, also those far away on a ring.

    Else the seeds of others expose a party that has no mask left which nobody knows.
    """
    script = Script().misbehave(missing[0], Skip(Phase.CONFIRM))
    script = script.misbehave(missing[1], Skip(Phase.CONFIRM))
    everybody, toolkit = set(range(8)), replace(SWIFT, graph=lambda *_: ring(8))
    lie = ClosedAnyway(Phase.CONFIRM, tuple(sorted(everybody - set(missing))), 8)
    script = script.organise(lie)
    simulation = simulate(replace(SCALAR, loss=1), script=script, toolkit=toolkit)
    record = simulation.run_round(inputs_for(SCALAR))
    isolated = missing == (1, 3)
    board = simulation.parties[0].access.board
    unmasked = {
        actor.index for actor in simulation.parties if board.stream(actor.author, Phase.UNMASK, 1)
    }
    assert record.halted.keys() == (everybody if isolated else set())
    assert unmasked == (set() if isolated else everybody)


@pytest.mark.parametrize("name", ["another nonce", "final list without a party"])
def test_error_of_a_party_that_stopped_holds_on_to_no_secret(name: str) -> None:
    """A traceback has frames, and the frames had the state of before."""
    told = WORLDS["number"].tell(LIES[name], SWIFT)
    assert told.record.halted.keys() == EVERYBODY
    chain = told.simulation.parties[VICTIM].state.chain
    with pytest.raises(FaultyParty) as raised:
        chain.require(False, "something")
    assert raised.value.__traceback__ is not None
    for error in told.record.halted.values():
        found: BaseException | None = error
        while found is not None:
            assert found.__traceback__ is None
            found = found.__cause__ or found.__context__
