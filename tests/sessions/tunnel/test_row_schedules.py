"""Parties of rows in the tunnel say one thing and are never named, whenever they die."""

from __future__ import annotations

import pytest

from tests.sessions.tunnel.row_schedules import Mortals, exact_terms, require, schedule


def held(world: Mortals) -> int:
    """How many results a session has that was held to its end."""
    findings = world.hold()
    require(world, findings)
    return sum(each.sums is not None for each in findings.rounds)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_schedule_of_deaths(seed: int) -> None:
    held(schedule(seed))


@pytest.mark.slow
def test_whoever_only_loses_replies_is_in_the_result() -> None:
    world = Mortals(exact_terms("1/2", 1), seed=1, rate=0.5, most_hurt=0)
    assert held(world) == 1
    assert sum(len(each.happened) for each in world.mortals) > 10


@pytest.mark.slow
def test_an_edge_in_dispute_that_is_opened_wrongly() -> None:
    """The liar says something false about an edge; when another party is gone it opens others."""
    world = Mortals(exact_terms("1/2", 1), seed=1, rate=0.0, most_hurt=0, liar=2)
    world.lies = ("edge", "key")
    assert held(world) == 1
    (findings,) = [world.findings()]
    assert {each.author for each in findings.faults} <= {world.identities[2].public.data}


@pytest.mark.soak
def test_hundreds_of_schedules() -> None:
    worlds = [schedule(seed) for seed in range(200)]
    results = [held(each) for each in worlds]
    assert sum(results) > 150
    happened = {event for each in worlds for party in each.mortals for event in party.happened}
    assert len(happened) == 7
