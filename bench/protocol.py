"""Whole rounds of the protocol: CPU time, bytes and wall time, results checked inside."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from bench.measure import Numbers, Scale, require
from bench.randomness import seeded
from commitments import backend_status
from gopa.aggregation import LocalAggregator
from gopa.contract.manifest import Mode, Trust
from gopa.contract.terms import MaskLaw
from gopa.planning import Terms, plan
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.rules import check, read_session
from gopa.protocol.simulation import RoundRecord, Simulation, SimulationOptions
from wire.ed25519 import SigningKey, verify

ABSENT = 5
"""Parties that scalar plans expect to miss: without recovery k is then 16 to 21 for any number."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one simulated round cost, with signatures as each party would verify them."""

    record: RoundRecord
    simulation: Simulation
    cpu: float
    wall: float

    @property
    def party_cpu(self) -> float:
        """The median over parties of the processor time of its own steps."""
        return statistics.median(usage.cpu_seconds for usage in self.record.usage)

    @property
    def posted(self) -> float:
        """Mean bytes of a party's entries."""
        return statistics.fmean(usage.posted for usage in self.record.usage)

    @property
    def read(self) -> float:
        """Mean bytes of the entries a party reads: closes whole, messages of its neighbours."""
        return statistics.fmean(usage.read for usage in self.record.usage)


def run(scale: Scale) -> Numbers:
    """All numbers; without `full`, 1,000 parties are scaled from 200, vectors are shorter."""
    parties = scale.of(20, 100, 100)
    vectors, coordinates = scale.of(5, 5, 40), scale.of(50, 100_000, 100_000)
    status = backend_status()
    return {
        "bench": "protocol",
        "backend": status.active,
        "backend_details": status.details,
        "unit": "CPU time, one run each; *_s of whole simulations is wall time",
        "cores": os.cpu_count(),
        **_scalar(parties),
        **_threshold(parties),
        **_thousand(scale.of(20, 200, 1000)),
        **_vectors(vectors, scale.of(2, 100, 1000)),
        **_seeds(scale),
        **_signed(parties, coordinates),
        **_gaussian(parties, coordinates),
        **_off(),
    }


def scalar_terms(parties: int, recovery: str | None = None) -> Terms:
    """A plan for numbers when some five parties are expected to be absent."""
    return plan(
        n=parties,
        epsilon=1,
        delta=1e-6,
        corrupt=0.1,
        dropout=min(0.05, ABSENT / parties),
        mask="uniform",
        charged=1,
        recovery=recovery,
        least_chance=0,
    ).terms


def vector_terms(  # noqa: PLR0913 - what differs among the measured rounds
    parties: int,
    dimension: int,
    *,
    steps: int = 16,
    norm: int | None = None,
    mask: MaskLaw = "uniform",
    rounds: int = 1,
    recovery: str | None = None,
) -> Terms:
    """A plan for vectors with coordinates in [-1, 1] and of bounded length, if `norm` is given."""
    return plan(
        n=parties,
        epsilon=8 if rounds == 1 else 80,
        delta=1e-5,
        corrupt=0.1,
        dropout=0.02,
        range=(-1, 1),
        dimension=dimension,
        norm=norm,
        steps=steps,
        rounds=rounds,
        mask=mask,
        noise="irwin-hall",
        objective="error" if mask == "uniform" else "masks",
        charged=1,
        recovery=recovery,
        least_chance=0,
    ).terms


def play(terms: Terms, setting: SessionSetting, inputs: Sequence[Sequence[int]]) -> Round:
    """One round in which everybody takes part; its sum is checked."""
    with ThreadPoolExecutor(os.cpu_count()) as executor:
        options = SimulationOptions(executor=executor, remember_noise=True, clock=time.process_time)
        cpu, wall = time.process_time(), time.perf_counter()
        simulation = Simulation(terms, rng=seeded(1), setting=setting, options=options)
        record = simulation.run_round(inputs)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    _require_right(simulation, record, inputs)
    return Round(record, simulation, cpu, wall)


def _require_right(
    simulation: Simulation, record: RoundRecord, inputs: Sequence[Sequence[int]]
) -> None:
    """The sum is exactly that of inputs and noise, everybody is in, nobody is at fault."""
    require(record.included == tuple(range(len(inputs))), "somebody is missing")
    require(not record.findings.faults, "an honest party is at fault")
    noise = np.array([simulation.noise_for_tests[1, party] for party in record.included])
    expected = np.array([inputs[party] for party in record.included]) + noise
    require(record.sums == tuple(expected.sum(axis=0).tolist()), "the sum is wrong")


def inputs(terms: Terms) -> list[list[int]]:
    """A number from the whole range; vectors near its middle, short enough for any norm here."""
    if terms.dimension == 1:
        return [[party % (terms.steps + 1)] for party in range(terms.parties)]
    middle = terms.steps // 2
    return [
        [middle + (party + coordinate) % 3 - 1 for coordinate in range(terms.dimension)]
        for party in range(terms.parties)
    ]


def verify_cpu(played: Round) -> float:
    """Seconds for the signatures of all that one party reads: neighbours and closes."""
    key = SigningKey.generate(seeded(9))
    message, count = bytes(2000), 200
    signature = key.sign(message)
    begun = time.process_time()
    for _ in range(count):
        verify(key.public, message, signature)
    each = (time.process_time() - begun) / count
    return each * statistics.median(usage.entries for usage in played.record.usage)


def _scalar(parties: int) -> Numbers:
    terms = scalar_terms(parties)
    played = play(terms, SessionSetting(), inputs(terms))
    signatures = verify_cpu(played)
    return {
        "party_ms": round(1e3 * (played.party_cpu + signatures), 1),
        "party_of_that_signatures_read_ms": round(1e3 * signatures, 1),
        "party_parameters": f"full, scalar, n={parties}, k={terms.k}, commit-reveal, no recovery",
        "bytes_per_party": round(played.posted),
        "bytes_read_per_party": round(played.read),
    }


def _threshold(parties: int) -> Numbers:
    terms = scalar_terms(parties, recovery="2/3")
    played = play(terms, SessionSetting(), inputs(terms))
    return {
        "bytes_per_party_threshold": round(played.posted),
        "party_threshold_ms": round(1e3 * (played.party_cpu + verify_cpu(played)), 1),
        "threshold_parameters": f"as party_ms, k={terms.k}, recovery by more than 2/3 of the "
        "neighbours",
    }


def _seeds(scale: Scale) -> Numbers:
    """What shares of seeds cost: rounds with them, and rounds of the same size without."""
    parties, dimension = scale.of(10, 12, 40), scale.of(2, 20, 100)
    words, coordinates = scale.of(20, 100, 100), scale.of(50, 10_000, 10_000)
    setting = SessionSetting(mode=Mode.SIGNED, word_width=32)

    def short(recovery: str | None) -> Terms:
        return vector_terms(parties, dimension, recovery=recovery)

    def long(recovery: str | None) -> Terms:
        return vector_terms(words, coordinates, steps=64, norm=10, recovery=recovery)

    found: Numbers = {}
    for name, made, how in (("short", short, SessionSetting()), ("signed_10k", long, setting)):
        for ending, recovery in (("alone", None), ("threshold", "4/5")):
            terms = made(recovery)
            played = play(terms, how, inputs(terms))
            cpu = 1e3 * (played.party_cpu + verify_cpu(played))
            found[f"{name}_{ending}_party_ms"] = round(cpu, 1)
            found[f"{name}_{ending}_bytes"] = round(played.posted)
            found[f"{name}_{ending}_parameters"] = (
                f"n={terms.parties}, d={terms.dimension}, k={terms.k}"
                + (f", recovery by more than {recovery} of the neighbours" if recovery else "")
            )
    return found


def _thousand(parties: int) -> Numbers:
    terms = scalar_terms(parties)
    played = play(terms, SessionSetting(), inputs(terms))
    return {
        "simulate_1000_s": round(played.wall * 1000 / parties, 1),
        "simulate_1000_cpu_s": round(played.cpu * 1000 / parties, 1),
        "simulate_1000_from_parties": parties,
        "simulate_1000_parameters": f"full, scalar, k={terms.k}; organiser, board and all checks",
    }


def _vectors(parties: int, dimension: int) -> Numbers:
    terms = vector_terms(parties, dimension)
    played = play(terms, SessionSetting(), inputs(terms))
    return {
        f"vec{dimension}_party_s": round(played.party_cpu + verify_cpu(played), 3),
        f"vec{dimension}_bytes_per_party": round(played.posted),
        f"vec{dimension}_parameters": f"full, d={dimension}, uniform masks, weighted bits, "
        f"n={parties}, k={terms.k}",
    }


def _signed(parties: int, dimension: int) -> Numbers:
    terms = vector_terms(parties, dimension, steps=64, norm=10)
    played = play(terms, SessionSetting(mode=Mode.SIGNED, word_width=32), inputs(terms))
    raws = list(played.simulation.log().entries())
    begun = time.process_time()
    found = check(read_session(raws), rng=seeded(2))
    server = time.process_time() - begun
    require(found.rounds[0].sums == played.record.sums, "the rules found another sum")
    return {
        "signed_100k_party_ms": round(1e3 * (played.party_cpu + verify_cpu(played)), 1),
        "signed_100k_server_s": round(server, 3),
        "signed_100k_bytes": round(played.posted),
        "signed_100k_parameters": f"signed, d={dimension}, n={parties}, k={terms.k}, "
        "32-bit words; the server reads, verifies and checks the whole log",
    }


def _gaussian(parties: int, dimension: int) -> Numbers:
    terms = vector_terms(parties, dimension, steps=64, norm=10, mask="gaussian")
    setting = SessionSetting(mode=Mode.SIGNED, trust=Trust.HONEST_BUT_CURIOUS, word_width=32)
    played = play(terms, setting, inputs(terms))
    return {
        "gaussian_100k_party_ms": round(1e3 * (played.party_cpu + verify_cpu(played)), 1),
        "gaussian_100k_parameters": f"signed, honest but curious, d={dimension}, n={parties}, "
        f"k={terms.k}, masks of deviation {terms.mask_deviation}",
    }


def _off() -> Numbers:
    terms = vector_terms(20, 100, rounds=100)
    values = [np.full(100, party / 20) for party in range(20)]
    begun = time.perf_counter()
    with LocalAggregator(terms, mode="off", seed=1) as aggregator:
        means = [aggregator.average(values).mean for _ in range(100)]
    wall = time.perf_counter() - begun
    error = float(np.abs(np.mean(means) - np.mean(values)))
    require(error < 0.05, "the mean of many rounds is wrong")
    return {"rounds_100_s": round(wall, 2), "rounds_100_parameters": "off, n=20, d=100"}
