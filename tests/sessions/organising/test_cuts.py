"""An organiser looks again before it aborts, and vetoes nothing that the log has ([O5])."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from gopa.cli.roster import Names
from gopa.cli.session import _past_text
from gopa.contract.organiser import Abort, ResultMessage
from gopa.contract.phases import Phase
from gopa.protocol.rules import RoundFindings
from gopa.sessions.following.follower import Horizon
from gopa.sessions.organising import DurableOrganiser
from gopa.sessions.organising.reading import FinishedRound, SessionStatus
from tests.sessions.organising.test_status import ticket_of
from tests.sessions.organising.worlds import ONE_ROUND, Crowd, Office, crowd

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
