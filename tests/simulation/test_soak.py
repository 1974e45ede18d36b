"""Long sessions: parties remember nothing of rounds that are over, and every round is right."""

from __future__ import annotations

import gc
import random
import tracemalloc
from dataclasses import replace

import pytest

from gopa.messages.phases import Phase
from gopa.party.reading import decode_commit
from gopa.rules import check_log
from gopa.simulation.departures import Drop
from tests.randomness import seeded
from tests.simulation.doubles import SWIFT
from tests.simulation.worlds import FULL, RECOVERING, inputs_for, plain_sum, simulate
from zkp.noise_table import GaussianTable

PHASES = [Phase.PUBLISH, Phase.ROLLBACK, Phase.CONFIRM, Phase.UNMASK, Phase.COMMIT, Phase.JOIN]
FEW = replace(
    RECOVERING,
    parties=5,
    k=4,
    survivors=3,
    loss=2,
    steps=4,
    squared_sensitivity=16,
    noise=GaussianTable.with_scale("64", bits=24, rows=301),
)
MACHINES = tuple(
    tracemalloc.Filter(True, f"*/{package}/*")
    for package in ("gopa/party", "gopa/masks", "zkp", "commitments")
)


def held() -> int:
    """Bytes that the parties' machines hold, without what a bounded cache keeps for all."""
    decode_commit.cache_clear()
    gc.collect()
    snapshot = tracemalloc.take_snapshot().filter_traces(MACHINES)
    return sum(each.size for each in snapshot.statistics("filename"))


@pytest.mark.parametrize(
    "rounds", [12, pytest.param(200, marks=pytest.mark.soak)], ids=["short", "long"]
)
def test_many_rounds_with_dropouts_and_recovery(rounds: int) -> None:
    """Five parties; in each round up to two leave at random and come back in the next."""
    terms, toolkit = replace(FEW, rounds=rounds), SWIFT if rounds == 12 else None
    simulation, source = simulate(terms, FULL, toolkit=toolkit), random.Random(7)
    early = results = 0
    tracemalloc.start()
    for number in range(rounds):
        for actor in simulation.parties:
            actor.behaviours = ()
            actor.finished.clear()  # the simulation's own record of the session
        for party in source.sample(range(5), source.randint(0, 2)):
            drop = Drop(source.choice(PHASES), before=True)
            simulation.parties[party].behaviours = (drop,)
        inputs = inputs_for(terms, number)
        record = simulation.run_round(inputs)
        assert not record.findings.faults
        assert not record.halted
        if record.sums is not None:
            results += 1
            assert record.sums == plain_sum(simulation, record, inputs)
        early = held() if number == rounds // 4 else early
    growth = held() - early
    tracemalloc.stop()
    assert results > rounds // 2
    assert growth < 50_000
    found = check_log(simulation.log().entries(), toolkit, rng=seeded("auditor"))
    assert found.to_json() == simulation.findings().to_json()
    assert found.complete
