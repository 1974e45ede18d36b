"""Every lie of the table in every session where it means something, judged by both verifiers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

import pytest

from gopa.contract.phases import Phase
from gopa.protocol.rules import check_log
from gopa.protocol.simulation import Script
from gopa.protocol.simulation.script import Replay
from tests.lies.table import LEAVER, LIAR, LIES
from tests.lies.worlds import WORLDS, Told
from tests.protocol.simulation.worlds import (
    culprits,
    inputs_for,
    require_sound,
    simulate,
)
from tests.randomness import seeded
from tests.verifier.answers import ACCEPTED, first, second
from tests.verifier.test_sessions import archive_of

TELLINGS: Final = [
    pytest.param(name, world, marks=pytest.mark.slow if WORLDS[world].in_rows else ())
    for name, lie in LIES.items()
    for world in lie.worlds
]


@cache
def honest(world: str) -> Told:
    """The session in which nobody lies: accepted, with everybody in it."""
    told = WORLDS[world].tell(None)
    assert told.record.findings.faults == ()
    assert told.record.halted == {}
    assert told.record.included == tuple(range(6))
    assert told.record.sums == told.expected
    require_checked(told)
    return told


@pytest.mark.thirds
@pytest.mark.parametrize(("name", "world"), TELLINGS)
def test_the_liar_alone_is_named_and_left_out(name: str, world: str) -> None:
    """For what it did, where it did it; the sum is exact, and nobody honest stops."""
    honest(world)
    lie, told = LIES[name], WORLDS[world].tell(LIES[name])
    simulation, record = told.simulation, told.record
    assert culprits(simulation, record) == ({LIAR: set(lie.rules)} if lie.rules else {})
    assert record.halted.keys() <= {LIAR}
    assert record.sums == told.expected
    gone = {LEAVER} if lie.beside == "leaves" else set()
    gone |= {LIAR} if lie.left else set()
    assert set(record.included) == set(range(6)) - gone
    author = simulation.parties[LIAR].author
    rows = [row for row in record.attempts[0].removals if row.author == author]
    assert [(row.phase, row.cause) for row in rows] == ([lie.left] if lie.left else [])
    assert not lie.rules or {row.rule for row in rows} <= lie.rules
    recovered = record.attempts[0].recovered
    assert recovered == (() if lie.recovered is None else (lie.recovered,))
    for attempt in record.attempts:
        final = set(attempt.final or ())
        shut = final - {LIAR} if "04-O5" in lie.rules else final
        assert not [pair for pair in attempt.opened if shut.issuperset(pair)]
        assert final.issuperset(attempt.unmasked)
    require_checked(told)


def require_checked(told: Told) -> None:
    """Whoever reads the log later finds what the organiser found."""
    toolkit = told.simulation.parties[0].access.toolkit
    found = check_log(told.simulation.log().entries(), toolkit, rng=seeded("auditor"))
    assert found.to_json() == told.simulation.findings().to_json()


@pytest.mark.parametrize(
    "phase",
    [Phase.JOIN, Phase.COINS, Phase.COMMIT, Phase.PUBLISH, Phase.CONFIRM, Phase.UNMASK],
    ids=lambda phase: phase.name.lower(),
)
def test_a_replay_of_an_earlier_round_counts_for_nothing(phase: Phase) -> None:
    terms = replace(WORLDS["number"].terms, rounds=2)
    simulation = simulate(terms, script=Script().misbehave(LIAR, Replay(phase)))
    for number in range(2):
        inputs = inputs_for(terms, number)
        record = simulation.run_round(inputs)
        require_sound(simulation, record, inputs)
        assert record.sums is not None
        replayed = number == 1 and phase < Phase.ROLLBACK
        assert (LIAR in record.included) is not replayed
        kept = number == 1 and phase is Phase.UNMASK
        assert record.attempts[0].recovered == ((LIAR,) if kept else ())


@pytest.mark.slow
@pytest.mark.thirds(9)
@pytest.mark.parametrize(
    ("name", "world"), [each for each in TELLINGS if each.values[1] != "forms"]
)
def test_both_verifiers_name_it(name: str, world: str) -> None:
    archive, anchors = archive_of(honest(world).simulation)
    assert second(archive, anchors).faults == frozenset()
    told = WORLDS[world].tell(LIES[name])
    archive, anchors = archive_of(told.simulation)
    found = second(archive, anchors)
    assert found == first(archive, anchors)
    assert {rule for *_, rule in found.faults} == LIES[name].rules
    assert found.verdict in ACCEPTED
    whole = check_log(told.simulation.log().entries(), rng=seeded("reader"))
    assert whole.rounds[-1].sums == told.expected
