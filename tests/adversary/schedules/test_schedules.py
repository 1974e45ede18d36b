"""No schedule makes the protocol break what it promises."""

from __future__ import annotations

import pytest

from gopa.contract.organiser import AbortReason
from gopa.protocol.party.states import Committed, Confirmed
from tests.adversary.schedules.arena import Arena
from tests.adversary.schedules.judgement import ACCEPTED, require_everything
from tests.adversary.schedules.searching import search
from tests.adversary.schedules.worlds import WORLDS

EXAMPLES = 8
LONG = 500


@pytest.mark.thirds
@pytest.mark.parametrize("name", WORLDS)
def test_a_fair_schedule_ends_with_the_right_result(name: str) -> None:
    world = WORLDS[name]
    arena = Arena(world, 1)
    for party in range(world.terms.parties):
        for logical in range(world.terms.rounds):
            arena.supply(party, logical)
    arena.finish()
    judged = require_everything(arena, second=world.real and world.terms.rounds == 1)
    assert judged.verdict in ACCEPTED
    assert (judged.results, judged.aborts) == (world.terms.rounds, 0)


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("number", range(3))
def test_random_schedules(number: int) -> None:
    counts = search(EXAMPLES, number)
    assert counts["runs"] >= EXAMPLES
    assert all(counts[each] for each in ("with a result", "with an abort", "with lying parties"))


@pytest.mark.soak
@pytest.mark.parametrize("number", range(100, 120))
def test_many_random_schedules(number: int) -> None:
    assert search(LONG, number)["runs"] >= LONG


def test_whoever_stopped_waiting_behind_its_commit_may_be_barred_from_the_retry() -> None:
    """It does not know whether it was listed: left off the next roll it blames nobody."""
    arena = Arena(WORLDS["five"], 1)
    for party in range(5):
        arena.supply(party, 0)
    waiting, silent = arena.parties[3], arena.parties[2]
    while not isinstance(waiting.state.stage, Committed):
        arena.land_all()
        arena.hear(3)
        if not isinstance(waiting.state.stage, Committed):
            arena.fair_phase()
    assert not waiting.state.listed
    arena.time_out(3)
    while not isinstance(silent.state.stage, Confirmed):
        arena.fair_phase()
    arena.silence(2)
    arena.pending = [post for post in arena.pending if post.author != 2]
    desk = arena.sides[0].desk
    assert desk is not None
    machine = desk.machine
    while machine.state.round is not None and machine.state.round.attempt == 0:
        arena.fair_phase()
    arena.silent.discard(2)
    arena.finish()
    first, retry = machine.findings().rounds[:2]
    assert first.abort is AbortReason.NOT_UNMASKED
    assert waiting.author in retry.barred
    assert not [each.halted for each in arena.parties if each.halted]
