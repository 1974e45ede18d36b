"""Organisers from the first round to the last, with parties that come, go, and are late."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bulletin_board import RefusalReason, Refused
from bulletin_board.client.http import NetworkError
from bulletin_board.reader import CHECKPOINT, MissingResource
from gopa.contract.manifest import OpenAdmission
from gopa.contract.organiser import Abort, AbortReason, RemovalCause, ResultMessage
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.sessions.board_access import NotShown
from gopa.sessions.following import Horizon
from gopa.sessions.organising import (
    BoardFound,
    BoardLost,
    Deadlines,
    Heard,
    LogIsShorter,
    PhaseOpened,
    RoundEnded,
    Schedule,
    SessionEnded,
)
from gopa.sessions.organising.organiser import Send, WaitUntil
from tests.protocol.simulation.worlds import CURIOUS, FULL, LENIENT, RECOVERING, SCALAR, SIGNED
from tests.sessions.organising.worlds import DEADLINES, JOIN, ONE_ROUND, PHASE, Office, crowd
from wire.errors import (
    FaultyBoard,
    InvalidProof,
    InvalidSignature,
    MalformedMessage,
    ProtocolError,
    UsageError,
)

WORLDS = {
    "full": (SCALAR, FULL),
    "recovery": (RECOVERING, FULL),
    "signed": (SCALAR, SIGNED),
    "honest but curious": (CURIOUS, LENIENT),
}


def ended(office: Office) -> list[RoundEnded]:
    return [each for each in office.told if isinstance(each, RoundEnded)]


def opened(office: Office) -> list[Phase]:
    return [each.phase for each in office.told if isinstance(each, PhaseOpened)]


@pytest.mark.thirds
@pytest.mark.parametrize(("terms", "setting"), WORLDS.values(), ids=WORLDS)
def test_rounds_follow_each_other_and_nobody_waits(terms: Terms, setting: SessionSetting) -> None:
    world = crowd(terms, setting)
    office = Office(world)
    begun = office.clock.now
    state = office.run()
    assert state.over
    assert not state.failed
    assert [type(each.outcome) for each in ended(office)] == [ResultMessage] * terms.rounds
    assert {each.included for each in ended(office)} == {terms.parties}
    assert office.clock.now - begun < PHASE  # no phase lasts longer than somebody is expected
    found = world.findings()
    assert found.complete
    assert not found.faults
    assert office.told[-1] == SessionEnded(terms.rounds, terms.rounds, complete=True)


SPOKEN = [Phase.JOIN, Phase.COINS, Phase.COMMIT, Phase.PUBLISH, Phase.CONFIRM]


@pytest.mark.thirds
@pytest.mark.parametrize("phase", SPOKEN, ids=lambda phase: phase.name.lower())
def test_phase_ends_without_the_one_that_is_absent(phase: Phase) -> None:
    world = crowd(RECOVERING)
    world.silent[3] = frozenset(Phase)
    world.silent[3] = {each for each in Phase if each >= phase}
    office = Office(world, schedule=Schedule(DEADLINES, rounds=1))
    begun = office.clock.now
    office.run()
    waited = JOIN if phase is Phase.JOIN else PHASE
    # Who confirms nothing unmasks nothing either: two phases wait.
    phases = 2 if phase is Phase.CONFIRM else 1
    assert phases * waited <= office.clock.now - begun < phases * waited + PHASE
    (end,) = ended(office)
    assert isinstance(end.outcome, ResultMessage)
    assert end.included == (8 if phase is Phase.CONFIRM else 7)
    assert not world.findings().faults


def test_too_few_join_and_every_attempt_is_aborted_by_the_rules() -> None:
    world = crowd(ONE_ROUND)
    for index in range(4):
        world.silent[index] = frozenset(Phase)
    office = Office(world)
    begun = office.clock.now
    state = office.run()
    outcomes = [each.outcome for each in ended(office)]
    assert [each.reason for each in outcomes if isinstance(each, Abort)] == [
        AbortReason.TOO_FEW_JOINED
    ] * ONE_ROUND.attempts
    assert state.over
    assert not state.failed
    assert office.clock.now - begun >= ONE_ROUND.attempts * JOIN


def test_message_behind_the_close_does_not_count() -> None:
    world = crowd()
    world.late[2] = Phase.COMMIT
    office = Office(world)
    office.run()
    (end,) = ended(office)
    assert isinstance(end.outcome, ResultMessage)
    assert [(each.phase, each.cause) for each in end.outcome.removed] == [
        (Phase.COMMIT, RemovalCause.ABSENT)
    ]
    found = world.findings()
    assert found.complete
    assert not found.faults


@pytest.mark.parametrize(("joining", "waits"), [(8, False), (6, True)], ids=["full", "open"])
def test_open_admission_waits_for_its_time_or_until_it_is_full(joining: int, waits: bool) -> None:
    world = crowd(admission=OpenAdmission(ONE_ROUND.parties))
    for index in range(joining, 8):
        world.silent[index] = frozenset(Phase)
    office = Office(world)
    begun = office.clock.now
    office.run()
    (end,) = ended(office)
    assert isinstance(end.outcome, ResultMessage)
    assert end.included == joining
    assert (office.clock.now - begun >= JOIN) == waits


def test_rounds_of_the_schedule_end_before_those_of_the_plan() -> None:
    office = Office(crowd(SCALAR), schedule=Schedule(DEADLINES, rounds=2))
    state = office.run()
    assert not state.over
    assert state.rounds_ended == 2
    assert office.told[-1] == SessionEnded(2, 2, complete=False)
    office.schedule = Schedule(DEADLINES)
    assert office.run().over
    assert office.world.findings().complete


PASSES: dict[str, tuple[ProtocolError, bool]] = {
    "nobody answers": (NetworkError("nobody answers"), True),
    "a proxy's page": (MalformedMessage("not a checkpoint"), True),
    "too busy": (Refused(RefusalReason.BUSY), True),
    "a quota that is used up": (Refused(RefusalReason.QUOTA), True),
    "no room": (Refused(RefusalReason.FULL), True),
    "an address that has written much": (Refused(RefusalReason.ADDRESS), True),
    "a disk that is nearly full": (Refused(RefusalReason.STORAGE), True),
    "a log that is closed for a moment": (Refused(RefusalReason.UNAVAILABLE), True),
    "not admitted": (Refused(RefusalReason.UNREGISTERED), False),
    "another entry in the slot": (Refused(RefusalReason.CONFLICT), False),
    "no entry": (Refused(RefusalReason.MALFORMED), False),
    "a tile that is not there": (MissingResource("not found", "tile/entries/000"), True),
    "no checkpoint": (MissingResource("not found", CHECKPOINT), True),
    "no quorum": (InvalidProof("too few witnesses", "05-P2"), True),
    "tiles of another moment": (InvalidProof("another root", "05-L4"), True),
    "a receipt that does not hold": (InvalidProof("wrong", "05-R1"), True),
    "another's signature": (InvalidSignature("not the log's"), True),
    "a fork": (FaultyBoard("two histories", b""), False),
}


@pytest.mark.parametrize(("error", "expected"), PASSES.values(), ids=PASSES)
def test_what_may_pass_is_waited_for_and_nothing_else(error: ProtocolError, expected: bool) -> None:
    """Who gave up on one wrong answer would lose a round; who asked again what is refused for
    good, or went on with a fork, would hang or harm."""
    world = crowd()
    world.failure, world.outages = error, 3
    office = Office(world)
    if expected:
        assert office.run().over
        assert not world.outages
    else:
        with pytest.raises(type(error)):
            office.run()
        assert (world.outages, office.told) == (2, [])


def test_an_old_log_is_waited_for_before_it_ends_the_process() -> None:
    """A cache may show one for a while; nothing is said meanwhile."""
    office = Office(crowd(SCALAR), schedule=Schedule(DEADLINES, rounds=1))
    office.run()
    old = Office(crowd(SCALAR), vault=office.vault, clock=office.clock, outage_seconds=100.0)
    begun = office.clock.now
    with pytest.raises(LogIsShorter):
        old.run()
    assert office.clock.now - begun >= 100
    assert [type(each) for each in old.told] == [BoardLost]
    assert not old.world.slots_of_organiser()


def test_before_the_log_was_read_nothing_is_said() -> None:
    """Whatever was said before a restart may stand in it."""
    office = Office(crowd())
    organiser = office.organiser()
    assert (organiser.size, organiser.act()) == (0, WaitUntil(None))
    organiser.reached(Horizon(0, bytes(32)), b"")
    assert isinstance(organiser.act(), Send)


def test_pause_lies_between_rounds_and_not_before_the_first() -> None:
    office = Office(crowd(SCALAR), schedule=Schedule(DEADLINES, pause=1000.0))
    begun = office.clock.now
    office.run()
    waited = office.clock.now - begun
    assert 2 * 1000.0 <= waited < 2 * 1000.0 + PHASE


def test_pause_goes_on_after_a_restart() -> None:
    office = Office(crowd(SCALAR), schedule=Schedule(DEADLINES, rounds=1, pause=1000.0))
    office.run()
    office.clock.now += 900
    begun = office.clock.now
    office.schedule = Schedule(DEADLINES, rounds=2, pause=1000.0)
    office.run()
    assert 90 <= office.clock.now - begun <= 110


def test_whoever_closes_a_session_aborts_its_round_and_opens_no_other() -> None:
    world = crowd(SCALAR)
    world.silent[0] = {Phase.COMMIT}
    office = Office(world)
    office.closing = lambda: Phase.COMMIT in opened(office)
    begun = office.clock.now
    state = office.run()
    assert not state.over
    assert office.clock.now - begun < PHASE
    (end,) = ended(office)
    assert isinstance(end.outcome, Abort)
    assert end.outcome.reason is AbortReason.ORGANISER
    assert end.why
    assert not world.findings().faults
    size = world.cast.board.size
    office.run()
    assert world.cast.board.size == size


def test_session_that_is_closed_before_it_began_is_not_begun() -> None:
    world = crowd()
    office = Office(world, closing=lambda: True)
    office.run()
    assert not world.cast.board.size
    assert office.told == [SessionEnded(0, 0, complete=False)]


def test_result_that_is_due_is_said_also_by_who_closes() -> None:
    """With honest-but-curious trust the result follows from the close of publish."""
    world = crowd(replace(CURIOUS, rounds=2), LENIENT)
    office = Office(world)
    due = len([Phase.ORGANISER, Phase.ORGANISER, *SPOKEN[:4]])
    office.closing = lambda: sum(world.slots_of_organiser().values()) == due
    office.run()
    assert sum(world.slots_of_organiser().values()) == due + 1
    assert [type(each.outcome) for each in ended(office)] == [ResultMessage]
    found = world.findings()
    assert not found.faults
    assert len(found.rounds) == 1


def test_events_say_who_is_expected_and_how_long() -> None:
    world = crowd()
    world.silent[3] = {each for each in Phase if each >= Phase.COMMIT}
    office = Office(world)
    office.run()
    phases = [each for each in office.told if isinstance(each, PhaseOpened)]
    assert opened(office) == [
        Phase.JOIN,
        Phase.COINS,
        Phase.COMMIT,
        Phase.PUBLISH,
        Phase.CONFIRM,
        Phase.UNMASK,
    ]
    commit = phases[2]
    assert (commit.present, commit.expected, commit.round, commit.attempt) == (8, 1, 1, 0)
    assert commit.ends - phases[0].ends < PHASE - JOIN + PHASE
    assert not [each for each in office.told if isinstance(each, Heard)]  # all spoke at once


@pytest.mark.parametrize(
    "failure",
    [
        NetworkError("nobody answers"),
        MalformedMessage("a page that says try later", "answer"),
        InvalidProof("the partial tiles do not lead to the checkpoint's root", "05-L2"),
    ],
    ids=["silence", "page of a proxy", "tiles of another moment"],
)
def test_outage_is_borne_and_the_phase_lasts_longer(failure: ProtocolError) -> None:
    world = crowd()
    world.failure = failure
    world.silent[3] = {Phase.COMMIT}
    office = Office(world)
    begun: list[float] = []

    def away() -> bool:
        if Phase.COMMIT in opened(office) and not begun:
            begun.append(office.clock.now)
        return bool(begun) and begun[0] + 30 < office.clock.now < begun[0] + 530

    world.cut_off = away
    office.run()
    assert [type(each) for each in office.told if isinstance(each, BoardLost | BoardFound)] == [
        BoardLost,
        BoardFound,
    ]
    assert PHASE + 490 <= office.clock.now - begun[0] <= PHASE + 520
    assert isinstance(ended(office)[0].outcome, ResultMessage)


def test_outage_that_lasts_too_long_ends_the_process_and_not_the_session() -> None:
    world = crowd()
    office = Office(world, outage_seconds=100.0)
    world.outages = 1_000
    with pytest.raises(NotShown):
        office.run()
    world.outages = 0
    assert office.run().over


@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("join", lambda bad: Deadlines(join=bad)),
        ("phase", lambda bad: Deadlines(phase=bad)),
        ("publish", lambda bad: Deadlines(others={Phase.PUBLISH: bad})),
        ("pause", lambda bad: Schedule(pause=bad)),
        ("beacon_margin", lambda bad: Schedule(beacon_margin=bad)),
    ],
    ids=["join", "phase", "other", "pause", "margin"],
)
def test_times_are_finite_and_not_negative(field: str, make: object) -> None:
    assert callable(make)
    make(1.0)
    for bad in (-1.0, float("nan"), float("inf"), 1e12):
        with pytest.raises(UsageError) as caught:
            make(bad)
        assert caught.value.field == field


def test_at_least_one_round() -> None:
    Schedule(rounds=1)
    with pytest.raises(UsageError) as caught:
        Schedule(rounds=0)
    assert caught.value.field == "rounds"
