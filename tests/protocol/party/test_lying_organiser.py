"""An organiser that lies: whoever it concerns stops, with evidence, and reveals nothing more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from gopa.adversary.deeds.organising import (
    AlteredAbort,
    AlteredClose,
    AlteredResult,
    ClosedAnyway,
    ClosesAgain,
    lacking,
    listing,
    with_cut,
    with_final,
)
from gopa.contract.organiser import (
    CLOSE,
    RESULT,
    Close,
    Coins,
    Members,
    ResultMessage,
    Roll,
    RollEntry,
)
from gopa.contract.party import OPENING
from gopa.contract.phases import Kind, Phase
from gopa.contract.terms import Terms
from gopa.graph import ring
from gopa.protocol.organiser import SendMessage
from gopa.protocol.party.states import Stopped
from gopa.protocol.simulation import OrganiserBehaviour, RoundRecord, Script, Simulation
from gopa.protocol.simulation.access import OrganiserAccess, body_of
from gopa.protocol.simulation.script import PostsLate, Skip
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import RECOVERING, SCALAR, inputs_for, require_sound, simulate
from wire.errors import FaultyParty

EVERYBODY = set(range(8))
CLOSED = [Phase.JOIN, Phase.COINS, Phase.COMMIT, Phase.PUBLISH, Phase.CONFIRM]
LEFT = Script().drop(6, before=Phase.PUBLISH)


def run(
    script: Script, lie: OrganiserBehaviour | None, terms: Terms = SCALAR
) -> tuple[Simulation, RoundRecord]:
    """One logical round; first without the lie, which all parties bring to an end."""
    inputs = inputs_for(terms)
    honest = simulate(terms, script=script, toolkit=SWIFT)
    require_sound(honest, honest.run_round(inputs), inputs)
    lies = script if lie is None else script.organise(lie)
    simulation = simulate(terms, script=lies, toolkit=SWIFT)
    return simulation, simulation.run_round(inputs)


def require_stopped(simulation: Simulation, record: RoundRecord, parties: set[int]) -> None:
    """These stopped and blame the organiser; the rules blame it too, and nobody else."""
    require_blamed(simulation, record, parties)
    assert record.sums is None


def require_blamed(simulation: Simulation, record: RoundRecord, parties: set[int]) -> None:
    """The same, where a result may stand already."""
    assert record.halted.keys() == parties
    for error in record.halted.values():
        assert isinstance(error, FaultyParty)
        assert error.party == simulation.manifest.organiser
    for index in parties:
        assert isinstance(simulation.parties[index].state.stage, Stopped)
    assert {fault.author for fault in record.findings.faults} == {simulation.manifest.organiser}


@pytest.mark.parametrize("phase", CLOSED, ids=lambda phase: phase.name.lower())
def test_two_closes_for_one_phase_stop_everybody(phase: Phase) -> None:
    lie = AlteredClose(phase, with_cut(-1), beside=True)
    simulation, record = run(Script(), lie)
    require_blamed(simulation, record, EVERYBODY)
    assert (record.sums is None) == (phase is not Phase.CONFIRM)  # the first close was right
    for error in record.halted.values():
        assert isinstance(error, FaultyParty)
        assert len(error.evidence) == 64  # the leaves of both entries


@pytest.mark.parametrize("shift", [1, -100], ids=["ahead", "back"])
@pytest.mark.parametrize("phase", CLOSED, ids=lambda phase: phase.name.lower())
def test_cut_ahead_of_its_own_index_or_behind_the_last_one(phase: Phase, shift: int) -> None:
    shifted = with_cut(shift) if shift > 0 else _behind
    simulation, record = run(Script(), AlteredClose(phase, shifted))
    require_stopped(simulation, record, EVERYBODY)


def _behind(close: Close) -> Close:
    return replace(close, cut=0)


@pytest.mark.parametrize(
    "phase", [Phase.JOIN, Phase.COMMIT, Phase.PUBLISH, Phase.CONFIRM], ids=lambda p: p.name.lower()
)
def test_list_that_lacks_a_party_stops_that_party(phase: Phase) -> None:
    simulation, record = run(Script(), AlteredClose(phase, shutting_out(3)))
    require_stopped(simulation, record, {3})


def shutting_out(position: int) -> Callable[[Close], Close]:
    """A list without one party, from which a rollback follows if masks are out already."""

    def change(close: Close) -> Close:
        return with_final(final=False)(lacking(position)(close))

    return change


def test_final_list_that_lacks_a_party_stops_all_its_neighbours_too() -> None:
    """They owe edges to it, and a final close says that nobody owes anything."""
    simulation, record = run(Script(), AlteredClose(Phase.PUBLISH, lacking(3)))
    require_stopped(simulation, record, EVERYBODY)


def test_list_of_rollback_that_lacks_a_party_stops_that_party() -> None:
    """To the others a list that grew smaller is no final one, and it is called final."""
    simulation, record = run(LEFT, AlteredClose(Phase.ROLLBACK, lacking(3)))
    require_stopped(simulation, record, EVERYBODY - {6})


def test_list_of_seeds_that_lacks_a_party_stops_that_party() -> None:
    script = Script().misbehave(6, Skip(Phase.UNMASK))
    simulation, record = run(script, AlteredClose(Phase.UNMASK, lacking(3)), RECOVERING)
    require_stopped(simulation, record, {3})


def test_close_that_is_called_final_while_edges_are_owed() -> None:
    """Everybody owes an edge to the party that left."""
    lie = AlteredClose(Phase.PUBLISH, with_final(final=True))
    simulation, record = run(LEFT, lie)
    require_stopped(simulation, record, EVERYBODY - {6})


def test_rollback_whose_list_stays_but_is_not_called_final() -> None:
    lie = AlteredClose(Phase.ROLLBACK, with_final(final=False))
    simulation, record = run(LEFT, lie)
    require_stopped(simulation, record, EVERYBODY - {6})


@pytest.mark.parametrize(
    ("left", "phase"),
    [
        (Phase.COINS, Phase.COMMIT),
        (Phase.COMMIT, Phase.PUBLISH),
        (Phase.PUBLISH, Phase.ROLLBACK),
        (Phase.PUBLISH, Phase.CONFIRM),
    ],
    ids=lambda phase: phase.name.lower(),
)
def test_list_that_takes_a_party_back_stops_everybody(left: Phase, phase: Phase) -> None:
    """Edges to it may be open: whoever goes on with it would have its mask and theirs known."""
    lie = AlteredClose(phase, lambda close: with_final(final=False)(listing(6)(close)))
    simulation, record = run(Script().drop(6, before=left), lie)
    require_stopped(simulation, record, EVERYBODY - {6})


def test_second_final_close_stops_also_who_is_out_of_the_round() -> None:
    """It would count a release for each: one round has one."""
    script = Script().misbehave(6, PostsLate(Phase.PUBLISH))
    lie = ClosesAgain(Phase.ROLLBACK, with_final(final=True), follows=True)
    simulation, record = run(script, lie)
    require_stopped(simulation, record, EVERYBODY)


def close_of(phase: Phase) -> Callable[[Close], Close]:
    """A close of another phase than the open one, at the same place."""
    contents = {Phase.JOIN: Roll((RollEntry(bytes(32), bytes(32), bytes(32)),), 0)}
    everybody = Members(b"\xff", final=False)
    content = contents.get(phase, everybody)
    return lambda close: replace(close, phase=phase, content=content)


@pytest.mark.parametrize(
    ("due", "instead"),
    [
        (Phase.JOIN, Phase.COMMIT),
        (Phase.COINS, Phase.COMMIT),
        (Phase.COMMIT, Phase.JOIN),
        (Phase.PUBLISH, Phase.ROLLBACK),
    ],
    ids=lambda phase: phase.name.lower(),
)
def test_close_of_another_phase_stops_everybody(due: Phase, instead: Phase) -> None:
    """Whoever skipped the coins, say, would let the organiser choose the graph."""
    simulation, record = run(Script(), AlteredClose(due, close_of(instead)))
    require_stopped(simulation, record, EVERYBODY)


@dataclass(frozen=True, slots=True)
class ClosedInsteadOfTheResult:
    """Posts a close where the rules demand the result."""

    phase: Phase

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        if control.kind is not Kind.RESULT:
            return [control]
        result = RESULT.decode(body_of(control.entries))
        members, root = Members(b"\xff", final=False), access.board.root_at(result.cut)
        close = Close(result.acts_on, result.cut, root, self.phase, b"", members)
        return [access.instead(control, Kind.CLOSE, CLOSE.encode(close))]


@pytest.mark.parametrize(
    ("terms", "phase"),
    [(SCALAR, Phase.UNMASK), (RECOVERING, Phase.RECOVER)],
    ids=["plain", "recovering"],
)
def test_close_where_the_result_is_due(terms: Terms, phase: Phase) -> None:
    """With recovery everybody takes part in it first, and nothing is left to close."""
    recovering = terms is RECOVERING
    script = Script().misbehave(6, Skip(Phase.UNMASK)) if recovering else Script()
    simulation, record = run(script, ClosedInsteadOfTheResult(phase), terms)
    require_stopped(simulation, record, EVERYBODY)


def test_nonce_that_was_not_committed_to_stops_everybody() -> None:
    """Whoever could list another nonce for a colluding party would choose its neighbours."""

    def change(close: Close) -> Close:
        content = close.content
        assert isinstance(content, Coins)
        nonces = (*content.nonces[:3], bytes(32), *content.nonces[4:])
        return replace(close, content=replace(content, nonces=nonces))

    simulation, record = run(Script(), AlteredClose(Phase.COINS, change))
    require_stopped(simulation, record, EVERYBODY)


def test_nobody_unmasks_when_too_few_confirmed() -> None:
    """The close names everybody; parties count what they have read themselves (04-F2)."""
    script = Script()
    for party in range(4):
        script = script.misbehave(party, Skip(Phase.CONFIRM))
    lie = ClosedAnyway(Phase.CONFIRM, tuple(range(8)), 8)
    simulation, record = run(script, lie)
    assert record.halted.keys() == EVERYBODY
    board = simulation.parties[0].access.board
    for actor in simulation.parties:
        assert not board.stream(actor.author, Phase.UNMASK, 1)


@pytest.mark.parametrize("missing", [(1, 2), (1, 3)], ids=["one each", "both of a party"])
def test_nobody_unmasks_when_too_few_confirmed_around_somebody_else(
    missing: tuple[int, int],
) -> None:
    """04-F2 is about everybody in the final list, also those far away on a ring.

    Else the seeds of others expose a party that has no mask left which nobody knows.
    """
    script = Script()
    for party in missing:
        script = script.misbehave(party, Skip(Phase.CONFIRM))
    inputs, terms = inputs_for(SCALAR), replace(SCALAR, loss=1)
    lie = ClosedAnyway(Phase.CONFIRM, tuple(sorted(EVERYBODY - set(missing))), 8)
    toolkit = replace(SWIFT, graph=lambda *_: ring(8))
    simulation = simulate(terms, script=script.organise(lie), toolkit=toolkit)
    record = simulation.run_round(inputs)
    isolated = missing == (1, 3)
    board = simulation.parties[0].access.board
    unmasked = {
        actor.index for actor in simulation.parties if board.stream(actor.author, Phase.UNMASK, 1)
    }
    assert record.halted.keys() == (EVERYBODY if isolated else set())
    assert unmasked == (set() if isolated else EVERYBODY)


def test_who_confirmed_late_gives_no_shares() -> None:
    """Nobody would count them (04-U3)."""
    script = Script().misbehave(6, Skip(Phase.UNMASK)).misbehave(3, PostsLate(Phase.CONFIRM))
    simulation, record = run(script, None, RECOVERING)
    board = simulation.parties[0].access.board
    gave = {
        actor.index for actor in simulation.parties if board.stream(actor.author, Phase.RECOVER, 1)
    }
    assert gave == EVERYBODY - {3, 6}
    assert board.stream(simulation.parties[3].author, Phase.CONFIRM, 1)
    assert not record.halted


def test_list_with_too_few_parties_stops_everybody() -> None:
    """The rules demand an abort; nobody publishes a masked value into so small a group."""
    script = Script()
    for party in range(4):
        script = script.drop(party, before=Phase.COMMIT)
    lie = ClosedAnyway(Phase.COMMIT, (4, 5, 6, 7), 8)
    simulation, record = run(script, lie)
    require_stopped(simulation, record, {4, 5, 6, 7})
    board = simulation.parties[0].access.board
    for actor in simulation.parties:
        assert not board.stream(actor.author, Phase.PUBLISH, 1)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A result that contradicts what parties counted."""

    change: Callable[[ResultMessage], ResultMessage]


RESULTS = {
    "attempt": Wrong(lambda result: replace(result, attempt=result.attempt + 1)),
    "releases": Wrong(lambda result: replace(result, releases=result.releases + 1)),
    "dimension": Wrong(lambda result: replace(result, sums=(*result.sums, 0))),
    "sum out of range": Wrong(lambda result: replace(result, sums=(2**40,))),
    "a removal too few": Wrong(lambda result: replace(result, removed=())),
}


@pytest.mark.parametrize("wrong", RESULTS.values(), ids=RESULTS)
def test_result_that_contradicts_what_parties_counted(wrong: Wrong) -> None:
    simulation, record = run(LEFT, AlteredResult(wrong.change))
    expected = EVERYBODY - {6} if wrong is RESULTS["a removal too few"] else EVERYBODY
    require_stopped(simulation, record, expected)


def test_abort_that_misstates_what_was_released() -> None:
    script = Script().drop(3, before=Phase.UNMASK)
    lie = AlteredAbort(lambda abort: replace(abort, released=type(abort.released)(0)))
    simulation, record = run(script, lie)
    require_stopped(simulation, record, EVERYBODY)


def test_removed_party_never_opens_its_mask_though_all_others_open_edges_to_it() -> None:
    """The organiser leaves out a party that published: its value stays masked."""
    simulation, record = run(Script(), AlteredClose(Phase.PUBLISH, shutting_out(3)))
    require_stopped(simulation, record, {3})
    board = simulation.parties[0].access.board
    victim = simulation.parties[3].author
    assert not board.stream(victim, Phase.UNMASK, 1)
    opened = {
        edge.neighbour
        for actor in simulation.parties
        for posted in board.stream(actor.author, Phase.ROLLBACK, 1)
        for edge in OPENING.decode(posted.entry.body).edges
    }
    assert opened == {3}


def test_parties_that_stopped_are_silent_in_later_rounds() -> None:
    lie = AlteredClose(Phase.PUBLISH, with_cut(-1), beside=True)
    simulation, record = run(Script(), lie)
    require_stopped(simulation, record, EVERYBODY)
    again = simulation.run_round(inputs_for(SCALAR))
    assert [usage.posted for usage in again.usage] == [0] * 8
    assert again.sums is None


def other_nonce(close: Close) -> Close:
    assert isinstance(close.content, Coins)
    nonces = bytes(32), *close.content.nonces[1:]
    return replace(close, content=replace(close.content, nonces=nonces))


@pytest.mark.parametrize(
    ("phase", "change"),
    [(Phase.COINS, other_nonce), (Phase.PUBLISH, lacking(3))],
    ids=["a nonce", "a list"],
)
def test_error_of_a_party_that_stopped_holds_on_to_no_secret(
    phase: Phase, change: Callable[[Close], Close]
) -> None:
    """A traceback has frames, and the frames had the state of before."""
    simulation, record = run(Script(), AlteredClose(phase, change))
    assert 5 in record.halted
    chain = simulation.parties[5].state.chain
    with pytest.raises(FaultyParty) as raised:
        chain.require(False, "something")
    assert raised.value.__traceback__ is not None
    for error in record.halted.values():
        found: BaseException | None = error
        while found is not None:
            assert found.__traceback__ is None
            found = found.__cause__ or found.__context__
