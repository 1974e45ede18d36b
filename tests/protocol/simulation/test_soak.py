"""Long sessions: every round is right, and nothing grows but the log and what is kept of it."""

from __future__ import annotations

import gc
import random
import resource
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from gopa.contract.phases import Phase
from gopa.protocol.party.reading import decode_commit_head
from gopa.protocol.rules import check_log
from gopa.protocol.simulation import RoundRecord, Simulation
from gopa.protocol.simulation.script import Drop
from gopa.rounds.toolkit import Toolkit
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import FULL, RECOVERING, inputs_for, plain_sum, simulate
from tests.randomness import seeded
from zkp.noise import GaussianTable

PHASES: Final = [
    Phase.PUBLISH,
    Phase.ROLLBACK,
    Phase.CONFIRM,
    Phase.UNMASK,
    Phase.COMMIT,
    Phase.JOIN,
]
FEW: Final = replace(
    RECOVERING,
    parties=5,
    k=4,
    survivors=3,
    loss=1,
    steps=4,
    squared_sensitivity=16,
    noise=GaussianTable.with_scale("64", bits=24, rows=301),
)
LENGTHS: Final = pytest.mark.parametrize(
    "rounds", [8, pytest.param(200, marks=pytest.mark.soak)], ids=["short", "long"]
)

PARTS: Final = {
    "parties": (
        "gopa/protocol/party",
        "gopa/rounds/masks",
        "gopa/contract/beacon",
        "zkp",
        "commitments",
    ),
    "rules": (
        "gopa/protocol/rules",
        "gopa/protocol/organiser",
        "gopa/contract",
        "gopa/rounds",
        "gopa/graph",
    ),
    "log": ("bulletin_board", "gopa/protocol/simulation", "wire"),
}
"""Who holds memory, by the code that asked for it."""

PARTIES_IN_ALL: Final = 50_000
RULES_PER_ENTRY: Final = 500
LOG_PER_ENTRY: Final = 4_000
"""Most bytes that the later three quarters of a session may add.

The parties keep nothing of a round that is over, however many there are. The rules keep, for
each entry, its slot with the leaf, and of each round its findings. The log keeps entries, in
the form they have on the wire and decoded, for readers of the simulation.
"""


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes held at one moment, by part, and how many entries the log has."""

    bytes: dict[str, int]
    entries: int

    @classmethod
    def now(cls, simulation: Simulation) -> Held:
        """Without what a bounded cache keeps for all."""
        decode_commit_head.cache_clear()
        gc.collect()
        found = dict.fromkeys(PARTS, 0)
        for each in tracemalloc.take_snapshot().statistics("filename"):
            name = Path(each.traceback[0].filename).as_posix()
            for part, packages in PARTS.items():
                if any(f"/{package}/" in name for package in packages):
                    found[part] += each.size
        return cls(found, simulation.log().signed.size)


def session(
    rounds: int, toolkit: Toolkit | None
) -> Iterator[tuple[Simulation, RoundRecord, list[list[int]]]]:
    """In each round up to two of five parties leave at random and come back in the next."""
    terms = replace(FEW, rounds=rounds)
    simulation, source = simulate(terms, FULL, toolkit=toolkit), random.Random(7)
    for number in range(rounds):
        for actor in simulation.parties:
            actor.behaviours = ()
            actor.finished.clear()  # the simulation's own record of the session
        for party in source.sample(range(5), source.randint(0, 2)):
            drop = Drop(source.choice(PHASES), before=True)
            simulation.parties[party].behaviours = (drop,)
        inputs = inputs_for(terms, number)
        yield simulation, simulation.run_round(inputs), inputs
    assert simulation.over


def proofs_for(rounds: int) -> Toolkit | None:
    """Real ones in a long session."""
    return SWIFT if rounds < 100 else None


def measured(request: pytest.FixtureRequest, **figures: float) -> None:
    """Numbers for the report of the run."""
    request.node.user_properties.extend((name, round(each)) for name, each in figures.items())


@pytest.mark.slow
@LENGTHS
def test_memory_is_flat(rounds: int, request: pytest.FixtureRequest) -> None:
    samples: list[Held] = []
    tracemalloc.start()
    for number, (simulation, record, _) in enumerate(session(rounds, proofs_for(rounds))):
        assert not record.findings.faults
        if number + 1 in {rounds // 4, rounds}:
            samples.append(Held.now(simulation))
    tracemalloc.stop()
    early, late = samples
    grown = {part: late.bytes[part] - early.bytes[part] for part in PARTS}
    entries, later = late.entries - early.entries, rounds - rounds // 4
    figures = {
        "parties_per_round": grown["parties"] / later,
        "rules_per_entry": grown["rules"] / entries,
        "log_per_entry": grown["log"] / entries,
        "entries_per_round": entries / later,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    measured(request, **figures)
    assert grown["parties"] < PARTIES_IN_ALL
    assert figures["rules_per_entry"] < RULES_PER_ENTRY
    assert figures["log_per_entry"] < LOG_PER_ENTRY


@pytest.mark.slow
@LENGTHS
def test_every_round_is_right(rounds: int, request: pytest.FixtureRequest) -> None:
    """Whoever reads the whole log after any round finds a clean session and the right sums."""
    results = recovered = rolled_back = 0
    toolkit, begun = proofs_for(rounds), time.process_time()
    for number, (simulation, record, inputs) in enumerate(session(rounds, toolkit)):
        found = check_log(simulation.log().entries(), toolkit, rng=seeded("auditor"))
        assert found.faults == ()
        assert found.to_json() == simulation.findings().to_json()
        assert found.complete == (number == rounds - 1)
        assert not record.halted
        recovered += sum(bool(each.recovered) for each in record.attempts)
        rolled_back += sum(bool(each.opened) for each in record.attempts)
        if record.sums is not None:
            results += 1
            assert record.sums == plain_sum(simulation, record, inputs)
    assert results > rounds // 2
    assert recovered > rounds // 10
    assert rolled_back > rounds // 10
    cpu = time.process_time() - begun
    measured(
        request, results=results, recovered=recovered, rolled_back=rolled_back, cpu_seconds=cpu
    )
