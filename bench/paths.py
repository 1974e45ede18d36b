"""What a vector costs its party and an auditor by both ways of full mode, by its dimension."""

from __future__ import annotations

import os
import statistics
import time
from typing import Any, Final

import numpy as np

from bench.measure import Numbers, Scale, require, wall_and_cpu
from bench.randomness import seeded
from commitments import ristretto255
from gopa.aggregation.encoding import NoisySum, Plain
from gopa.aggregation.engine import fresh_stream
from gopa.contract.row_terms import sums_of_positions
from gopa.planning import Plan, plan
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.rules import check_log
from gopa.protocol.simulation import RoundRecord, Simulation, SimulationOptions
from wire.domains import ROUNDING

PARTIES: Final = 10
"""Of the rounds, in which everybody is everybody's neighbour or nearly."""

PLANNED: Final = 20
_DIMENSIONS: Final = (2, 5, 10, 31, 100)
_PATHS: Final = ("bits", "rows")


def run(scale: Scale) -> Numbers:
    """A row for each dimension and path; `full` adds 1,000 coordinates, half an hour of proofs."""
    dimensions = scale.of((2,), _DIMENSIONS, (*_DIMENSIONS, 1_000))
    rows = [
        {"dimension": each, "path": path, **cost(each, path), **_errors(each, path)}
        for each in dimensions
        for path in _PATHS
    ]
    return {"bench": "paths", "parties": PARTIES, "planned": PLANNED, "norm": 1, "rows": rows}


def _planned(dimension: int, path: str, **asked: Any) -> Plan:
    given: dict[str, Any] = {"n": PARTIES, "epsilon": 8, "delta": "1e-6", "path": path}
    given |= {"range": (-1, 1), "norm": 1, "dimension": dimension, "least_chance": 0}
    return plan(**(given | asked))


def cost(dimension: int, path: str, parties: int = PARTIES) -> Numbers:
    """What one round of so many parties takes of each of them, and of an auditor."""
    made = _planned(dimension, path, n=parties)
    require(made.path == path, "a plan of the path that was asked for")
    vectors = np.random.default_rng(dimension).normal(size=(parties, dimension))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None] * 1.000001
    rng = seeded(1)
    encoding = Plain(made.terms)
    stream = fresh_stream(ristretto255(), rng, ROUNDING)
    encoded = encoding.encode(list(vectors), stream, clip=False)
    inputs = [[] if row is None else row.tolist() for row in encoded.rows]
    simulation = Simulation(
        made.terms,
        rng=rng,
        setting=SessionSetting(),
        options=SimulationOptions(clock=time.process_time),
    )
    record = simulation.run_round(inputs)
    _require_right(made, record, vectors)
    entries = list(simulation.log().entries())
    findings, _, judged = wall_and_cpu(lambda: check_log(entries, rng=os.urandom))
    require(not findings.faults, "a log without faults")
    usage = record.usage
    return {
        "client_s": statistics.median(each.cpu_seconds for each in usage),
        "audit_s_per_party": judged / parties,
        "posted_bytes": round(statistics.fmean(each.posted for each in usage)),
    }


def _errors(dimension: int, path: str) -> Numbers:
    """Of the mean of a coordinate, for a norm and for a range, at two targets."""
    kinds: dict[str, dict[str, Any]] = {"norm": {}, "range": {"norm": None}}
    return {
        f"error_{name}_{epsilon}": _planned(
            dimension, path, n=PLANNED, epsilon=epsilon, **kind
        ).errors.planned
        for name, kind in kinds.items()
        for epsilon in (1, 8)
    }


def _require_right(made: Plan, record: RoundRecord, vectors: Any) -> None:
    require(
        record.sums is not None and len(record.included) == len(vectors), "a result of everybody"
    )
    sums = np.array(sums_of_positions(made.terms, record.sums or (), len(vectors)))
    noise = len(vectors) * float(made.terms.noise.variance)
    found = Plain(made.terms).decode(NoisySum(sums, len(vectors), noise, exact=False))
    off = abs(found.mean - vectors.mean(axis=0)) / found.mean_deviation
    require(bool((off < 7).all()), "means within seven standard errors")
