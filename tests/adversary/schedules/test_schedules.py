"""No schedule makes the protocol break what it promises."""

from __future__ import annotations

import pytest

from tests.adversary.schedules.arena import Arena
from tests.adversary.schedules.judgement import ACCEPTED, require_everything
from tests.adversary.schedules.searching import search
from tests.adversary.schedules.worlds import WORLDS

EXAMPLES = 80
LONG = 500


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


@pytest.mark.parametrize("number", [0, 1])
def test_random_schedules(number: int) -> None:
    counts = search(EXAMPLES, number)
    assert counts["runs"] >= EXAMPLES
    assert all(counts[each] for each in ("with a result", "with an abort", "with lying parties"))


@pytest.mark.soak
@pytest.mark.parametrize("number", range(100, 120))
def test_many_random_schedules(number: int) -> None:
    assert search(LONG, number)["runs"] >= LONG
