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
def test_whoever_lies_about_an_edge_is_out_and_named() -> None:
    """Its neighbours open their edges to it; nobody else is named or missing."""
    world = Mortals(exact_terms("1/2", 1), seed=1, rate=0.0, most_hurt=0, liar=2)
    assert held(world) == 1
    findings = world.findings()
    assert {each.author for each in findings.faults} == {world.identities[2].public.data}
    assert findings.rounds[0].final == (0, 1, 3, 4, 5)
    assert (1, 2) in findings.rounds[0].opened


@pytest.mark.slow
def test_whoever_opens_an_edge_with_another_key_is_out_and_named() -> None:
    """It has to open the edge to a party that is gone behind publish."""
    world = Mortals(exact_terms("1/2", 1), seed=1, rate=0.0, most_hurt=0, liar=2)
    world.lies, gone = ("key",), world.mortals[4]
    gone.events, gone.hurt = iter([None] * 5 + ["gone"]), True
    assert held(world) == 1
    findings = world.findings()
    assert {each.author for each in findings.faults} == {world.identities[2].public.data}
    assert findings.rounds[0].final == (0, 1, 3, 5)


@pytest.mark.soak
def test_hundreds_of_schedules() -> None:
    worlds = [schedule(seed) for seed in range(200)]
    results = [held(each) for each in worlds]
    assert sum(results) > 150
    happened = {event for each in worlds for party in each.mortals for event in party.happened}
    assert len(happened) == 7
