"""Organisers that crash at every moment: the log never has two messages in one of their slots."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import pytest

from gopa.cli.roster import Names
from gopa.cli.session import _past_text
from gopa.contract.organiser import Abort, AbortReason, ResultMessage
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules import RoundFindings
from gopa.sessions.following.follower import Horizon
from gopa.sessions.organising import DurableOrganiser, RoundEnded, Schedule, Send, WaitUntil
from gopa.sessions.organising.reading import FinishedRound, SessionStatus
from gopa.sessions.organising.storage import RECORD, JournalStart, StoredMessage
from tests.protocol.simulation.worlds import SCALAR
from tests.sessions.organising.test_status import ticket_of
from tests.sessions.organising.worlds import (
    DEADLINES,
    JOIN,
    ONE_ROUND,
    PHASE,
    Crash,
    Crowd,
    Kept,
    Office,
    crowd,
)
from wire.errors import MalformedMessage, UsageError


def uneven() -> Crowd:
    """A round with a removal and openings, after one that has too few: every kind of message."""
    world = crowd(ONE_ROUND)
    world.silent[6] = {each for each in Phase if each >= Phase.PUBLISH}
    return world


@cache
def durable_steps() -> int:
    office = Office(uneven())
    assert office.run().over
    return office.vault.steps


def require_one_story(office: Office, included: int) -> None:
    """Each slot of the organiser has one entry, the rules are kept, and there is a result."""
    world = office.world
    assert set(world.slots_of_organiser().values()) == {1}
    found = world.findings()
    assert found.complete
    assert not found.faults
    assert not [note for note in found.notes if note.rule == "04-E6"]
    final = found.rounds[-1].final
    assert found.rounds[-1].sums is not None
    assert final is not None
    assert len(final) == included


def test_steps_are_many() -> None:
    assert durable_steps() >= 15


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("after", [False, True], ids=["before", "behind"])
def test_crash_at_every_durable_step(after: bool, part: int) -> None:
    for step in range(part, durable_steps(), 3):
        office = Office(uneven())
        office.vault.left, office.vault.after = step, after
        with pytest.raises(Crash):
            office.run()
        office.vault.left = None
        assert office.run().over, step
        require_one_story(office, 7)


@pytest.mark.thirds
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("posted", [False, True], ids=["not posted", "posted, answer lost"])
def test_crash_at_every_message_that_is_sent(posted: bool, part: int) -> None:
    messages = sum(crowd_after_run().slots_of_organiser().values())
    assert messages >= 8
    for message in range(part, messages, 3):
        office = Office(uneven())
        office.world.fails_at_submit, office.world.loses_answer = message, posted
        with pytest.raises(Crash):
            office.run()
        kept = [RECORD.decode(record) for record in office.vault.journal()]
        assert [each for each in kept if isinstance(each, StoredMessage)]
        assert office.run().over, message
        require_one_story(office, 7)


@cache
def crowd_after_run() -> Crowd:
    office = Office(uneven())
    office.run()
    return office.world


def test_crashes_one_after_the_other_in_every_process() -> None:
    office = Office(crowd(SCALAR))
    for _ in range(200):
        office.vault.left = 3
        try:
            office.run()
            break
        except Crash:
            continue
    assert office.processes > 5
    found = office.world.findings()
    assert found.complete
    assert set(office.world.slots_of_organiser().values()) == {1}


def stopped_with_unsent(kind: Kind, nth: int) -> tuple[Office, StoredMessage]:
    """A process that has stored its nth message of a kind, and did not send it."""
    office, seen = Office(uneven()), 0
    for message in range(30):
        office = Office(uneven())
        office.world.fails_at_submit = message
        with pytest.raises(Crash):
            office.run()
        last = RECORD.decode(office.vault.journal()[-1])
        assert isinstance(last, StoredMessage)
        seen += last.kind is kind
        if seen > nth:
            return office, last
    raise AssertionError("there is no such message")


def test_stored_close_is_sent_although_the_log_has_grown() -> None:
    """What a close lists was decided when it was stored: whoever comes then is late."""
    world = crowd(ONE_ROUND)
    world.late[2] = Phase.COMMIT
    office = Office(world)
    world.fails_at_submit = 4  # manifest, open, closes of join and coins come before
    with pytest.raises(Crash):
        office.run()
    said = RECORD.decode(office.vault.journal()[-1])
    assert isinstance(said, StoredMessage)
    before = world.cast.board.size
    world.speak_late()
    assert world.cast.board.size == before + 1
    organiser = office.organiser()
    organiser.take(world.cast.board.entries)
    organiser.reached(*_newest(world))
    act = organiser.act()
    assert isinstance(act, Send)
    assert act.entries == said.entries
    assert office.run().over
    require_one_story(office, 7)


def _newest(world: Crowd) -> tuple[Horizon, bytes]:
    return asyncio.run(world.newest())


def test_key_that_is_used_elsewhere_too_says_nothing_more() -> None:
    """Sending what is stored would prove to everybody that the organiser signed two messages."""
    office, _ = stopped_with_unsent(Kind.CLOSE, 0)
    world = office.world
    copy = Office(world, vault=Kept(), clock=office.clock)
    copy.clock.now += 7 * JOIN  # it reads another log size, and so says something else
    world.silent[0] = frozenset(Phase)
    before = world.cast.board.size
    world.cast.board.post(())
    other = copy.organiser()
    other.take(world.cast.board.entries)
    other.reached(*_newest(world))
    other.close()
    act = other.act()
    assert isinstance(act, Send)
    world.cast.board.post(act.entries)
    assert world.cast.board.size > before
    with pytest.raises(UsageError) as caught:
        office.run()
    assert caught.value.field == "vault"
    assert set(world.slots_of_organiser().values()) == {1}


def test_time_of_a_phase_goes_on_after_a_restart() -> None:
    world = crowd()
    world.silent[3] = {Phase.COMMIT}
    office = Office(world)
    begun: list[float] = []

    def away() -> bool:
        opened = [each.phase for each in office.told if hasattr(each, "phase")]
        if Phase.COMMIT in opened and not begun:
            begun.append(office.clock.now)
            world.fails_at_submit = 0
        return False

    world.cut_off = away
    with pytest.raises(Crash):
        office.run()
    assert office.clock.now - begun[0] >= PHASE - 1
    # The stored close waits to be sent; the phase after it has not begun.
    office.clock.now += 10 * PHASE
    assert office.run().over
    assert [each.included for each in office.told if isinstance(each, RoundEnded)] == [7]


def test_restart_in_the_middle_of_a_phase_does_not_begin_it_again() -> None:
    world = crowd()
    world.silent[3] = {Phase.COMMIT}
    office = Office(world)
    first = office.organiser()
    _drive(first, world)
    act = first.act()
    assert isinstance(act, WaitUntil)
    ends = first.ends
    assert ends == act.until
    office.clock.now += PHASE / 2
    second = office.organiser()
    second.take(world.cast.board.entries)
    second.reached(*_newest(world))
    assert second.ends == ends
    office.clock.now += PHASE / 2
    assert isinstance(second.act(), Send)


def test_clock_that_was_set_back_begins_the_phase_again() -> None:
    world = crowd()
    world.silent[3] = {Phase.COMMIT}
    office = Office(world)
    _drive(office.organiser(), world)
    office.clock.now -= 1e8
    second = office.organiser()
    second.take(world.cast.board.entries)
    second.reached(*_newest(world))
    assert second.ends == office.clock.now + PHASE


def _drive(organiser: DurableOrganiser, world: Crowd) -> None:
    """Until the organiser waits for somebody."""
    read = 0
    for _ in range(40):
        entries = world.cast.board.entries[read:]
        read = world.cast.board.size
        organiser.take(entries)
        organiser.reached(*_newest(world))
        act = organiser.act()
        if not isinstance(act, Send):
            return
        world._spread(world.cast.board.post(act.entries))
    raise AssertionError("it never rests")


def test_abort_of_a_closed_session_is_said_once() -> None:
    world = crowd(SCALAR)
    world.silent[0] = {Phase.COMMIT}
    office = Office(world)
    office.closing = lambda: bool(world.cast.board.size > 20)
    world.fails_at_submit = 4
    with pytest.raises(Crash):
        office.run()
    office.run()
    found = world.findings()
    assert not found.faults
    assert found.rounds[-1].abort is AbortReason.ORGANISER
    assert set(world.slots_of_organiser().values()) == {1}
    assert [type(each.outcome) for each in office.told if isinstance(each, RoundEnded)] == [Abort]


def test_vault_that_holds_something_else_is_refused() -> None:
    office = Office(crowd())
    office.organiser()
    office.vault.append(b"\x09")
    with pytest.raises(MalformedMessage):
        office.organiser()
    other = Office(crowd())
    other.vault.begin(b"something else")
    with pytest.raises(MalformedMessage):
        other.organiser()


def test_nothing_of_a_finished_round_stays_in_the_journal() -> None:
    office = Office(crowd(SCALAR), schedule=Schedule(DEADLINES, rounds=1))
    state = office.run()
    assert state.round is not None
    assert isinstance(state.round.ended, ResultMessage)
    assert not office.vault.journal()
    assert office.vault.memory() is not None
    assert JournalStart(1, 0).ended == state.rounds_ended


LATE = 2


@dataclass
class Watched(Office):
    """Shows the process that is running."""

    machine: DurableOrganiser | None = None

    def organiser(self) -> DurableOrganiser:
        self.machine = super().organiser()
        return self.machine


@dataclass
class Gap(Crowd):
    """Late messages come when the time of their phase is over, at this look at the log."""

    at_look: int = 2
    office: Watched | None = None
    looks: int = field(default=0)

    async def newest(self) -> tuple[Horizon, bytes]:
        office = self.office
        assert office is not None
        ends = None if office.machine is None else office.machine.ends
        if self._held and ends is not None and office.clock() >= ends:
            self.looks += 1
            if self.looks == self.at_look:
                self.speak_late()
        return await super().newest()


@dataclass
class Race(Crowd):
    """Late messages come between the moment at which the organiser signs and its entry."""

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        self.speak_late()
        await super().submit(entries)


def late_in(world: Crowd, phase: Phase) -> None:
    world.late[LATE] = phase


@pytest.mark.parametrize("phase", [Phase.CONFIRM, Phase.UNMASK])
def test_what_comes_while_an_abort_is_worked_out_is_counted(phase: Phase) -> None:
    world = Gap(crowd(ONE_ROUND).cast)
    world.office = Watched(world)
    late_in(world, phase)
    if phase is Phase.CONFIRM:  # all but the fewest are gone: one more is missing for a while
        for party in range(LATE + 1, LATE + 1 + _most_lost(world)):
            world.silent[party] = {each for each in Phase if each >= Phase.CONFIRM}
    world.office.run()
    first = world.findings().rounds[0]
    assert world.looks >= world.at_look
    if phase is Phase.UNMASK:
        assert first.sums is not None
    assert first.veto == ()
    assert [each.phase for each in first.lists if each.phase is phase] == (
        [] if phase is Phase.UNMASK else [phase]
    )


def test_whoever_closes_a_session_says_the_result_that_the_log_has() -> None:
    world = crowd(ONE_ROUND)
    office = Office(world)
    office.closing = lambda: any(p.entry.phase == Phase.UNMASK for p in world.cast.board.entries)
    office.run()
    (only,) = world.findings().rounds
    assert only.sums is not None


def test_whoever_closes_a_session_may_abort_what_is_not_complete() -> None:
    world = crowd(ONE_ROUND)
    world.silent[LATE] = {Phase.UNMASK}
    office = Office(world)
    office.closing = lambda: any(p.entry.phase == Phase.UNMASK for p in world.cast.board.entries)
    office.run()
    (only,) = world.findings().rounds
    assert only.abort is not None
    assert only.veto == ()


def judged(world: Crowd) -> tuple[Sequence[FinishedRound], Sequence[RoundFindings]]:
    status = SessionStatus(ticket_of(world))
    status.take(world.cast.board.entries)
    return status.past, world.findings().rounds


def test_a_race_that_was_lost_looks_like_a_veto_and_is_called_one() -> None:
    """The rules find it; so does the status, by numbers alone. Nobody is to blame or barred."""
    world = Race(crowd(ONE_ROUND).cast)
    late_in(world, Phase.UNMASK)
    Office(world).run()
    past, rounds = judged(world)
    assert isinstance(past[0].outcome, Abort)
    assert past[0].vetoed
    assert rounds[0].veto == (rounds[0].ended_at, *past[0].cut_off)
    assert len(past[0].cut_off) == 1
    assert rounds[0].culprits == ()
    assert rounds[1].barred == ()
    assert "VETO" in _past_text(world.manifest, past[0])
    assert not any(each.vetoed for each in past if isinstance(each.outcome, ResultMessage))


def test_an_abort_with_nothing_cut_off_looks_like_none() -> None:
    world = crowd(ONE_ROUND)
    world.silent[LATE] = {Phase.UNMASK}
    Office(world).run()
    past, rounds = judged(world)
    assert isinstance(past[0].outcome, Abort)
    assert (past[0].vetoed, past[0].cut_off, rounds[0].veto) == (False, (), ())
    assert "VETO" not in _past_text(world.manifest, past[0])
    (missing,) = past[0].culprits
    assert rounds[0].roll.index(missing) == past[0].outcome.culprits[0]
    assert f"ada ({missing.hex()[:16]})" in _past_text(
        world.manifest, past[0], Names({missing: "ada"})
    )


def _most_lost(world: Crowd) -> int:
    terms = world.manifest.terms
    return terms.parties - terms.survivors
