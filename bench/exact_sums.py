"""Sums without noise: what leaving it out saves a party, beside the same plan with noise."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench.measure import Numbers, Scale, require
from bench.protocol import inputs, play, verify_cpu
from bench.randomness import seeded
from gopa.contract.manifest import Mode
from gopa.planning import Terms, plan
from gopa.planning.target import PlannedMode
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.rules import check, read_session

PARTIES, STEPS, EPSILON = 10, 64, 100
TINY: tuple[tuple[PlannedMode, Mode, int], ...] = (
    ("signed", Mode.SIGNED, 10),
    ("full", Mode.FULL, 2),
)
CASES: tuple[tuple[PlannedMode, Mode, int], ...] = (
    ("signed", Mode.SIGNED, 1_000),
    ("signed", Mode.SIGNED, 10_000),
    ("full", Mode.FULL, 100),
)
MANY: tuple[PlannedMode, Mode, int] = ("signed", Mode.SIGNED, 100_000)


def run(scale: Scale) -> Numbers:
    """Ten parties, of whom one colludes; `full` also has vectors of 100,000 coordinates."""
    found: Numbers = {
        "bench": "exact_sums",
        "unit": "processor milliseconds of a party, with the signatures it verifies, and of an "
        "auditor; bytes that a party posts; the round with noise beside the one without",
        "parameters": f"n={PARTIES}, one corrupt, {STEPS} steps, recovery as planned, noise for "
        f"epsilon {EPSILON} and delta 1e-5",
    }
    for mode, protocol_mode, width in scale.of(TINY, CASES, (*CASES, MANY)):
        setting = SessionSetting(mode=protocol_mode)
        costs = {
            name: _least(
                [_cost(_terms(mode, width, epsilon), setting) for _ in range(scale.of(1, 3, 3))]
            )
            for name, epsilon in (("exact", None), ("noisy", EPSILON))
        }
        for what in costs["exact"]:
            for name, cost in costs.items():
                found[f"{mode}_d{width}_{name}_{what}"] = cost[what]
        spared = 1 - costs["exact"]["party_ms"] / costs["noisy"]["party_ms"]
        found[f"{mode}_d{width}_party_time_saved"] = f"{spared:.0%}"
    return found


def _least(costs: Sequence[dict[str, float]]) -> dict[str, float]:
    """Of each number the least of all runs, which others disturbed least."""
    return {what: min(each[what] for each in costs) for what in costs[0]}


def _terms(mode: PlannedMode, width: int, epsilon: float | None) -> Terms:
    made = plan(
        n=PARTIES,
        epsilon=epsilon,
        delta=1e-5,
        corrupt=1,
        range=(-1, 1),
        dimension=width,
        steps=STEPS,
        noise=None if epsilon is None else "irwin-hall",
        path="bits",
        mode=mode,
    )
    require(made.terms.exact == (epsilon is None), "noise where there is none, or none")
    return made.terms


def _cost(terms: Terms, setting: SessionSetting) -> dict[str, float]:
    values = inputs(terms)
    played = play(terms, setting, values)
    sums = played.record.sums
    plain = tuple(map(sum, zip(*values, strict=True)))
    require((sums == plain) == terms.exact, "an exact sum is that of the values to the last bit")
    raws = list(played.simulation.log().entries())
    begun = time.process_time()
    judged = check(read_session(raws), rng=seeded(2))
    audit = time.process_time() - begun
    require(judged.rounds[0].sums == sums and not judged.faults, "the rules found another sum")
    return {
        "party_ms": round(1e3 * (played.party_cpu + verify_cpu(played)), 1),
        "audit_ms": round(1e3 * audit, 1),
        "posted_bytes": round(played.posted),
        "k": terms.k,
    }
