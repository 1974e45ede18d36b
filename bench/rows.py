"""Plans for long vectors with proved lengths, beside those of every bit and of mode signed."""

from __future__ import annotations

import math
from typing import Any

from bench.measure import Numbers, Scale, require, wall_and_cpu
from gopa.contract.lengths import word_width
from gopa.contract.row_terms import equation_points
from gopa.planning import Plan, plan
from gopa.planning.noise.rows import AimedNoise
from gopa.planning.target import PlannedMode
from wire.errors import UsageError
from zkp.noise import WeightedBits
from zkp.rows.shape import RowShape

DELTA = "1e-6"
_DIMENSIONS = (1_000, 10_000, 100_000, 1_000_000)
_PARTIES = (20, 100, 1_000)
_EPSILONS = (1, 8, None)
_MOST_BITS = 2**23


def run(scale: Scale) -> dict[str, object]:
    """A row for each epsilon, number of parties and dimension; `full` adds plans with weights."""
    rows = [
        _row(parties, dimension, epsilon, weighted=weighted)
        for weighted in scale.of((False, True), (False,), (False, True))
        for epsilon in _EPSILONS
        for parties in scale.of(_PARTIES[:1], _PARTIES, _PARTIES)
        for dimension in scale.of(_DIMENSIONS[:1], _DIMENSIONS, _DIMENSIONS)
    ]
    return {"bench": "rows", "delta": DELTA, "norm": 1, "rows": rows}


def _row(parties: int, dimension: int, epsilon: float | None, *, weighted: bool) -> Numbers:
    asked: dict[str, Any] = {"n": parties, "epsilon": epsilon, "dimension": dimension}
    asked |= {"delta": DELTA, "norm": 1, "range": (-1, 1), "least_chance": 0}
    found: Numbers = {"n": parties, "dimension": dimension, "epsilon": epsilon}
    try:
        made, _, cpu = wall_and_cpu(lambda: plan(path="rows", weighted=weighted, **asked))
    except UsageError as error:
        return found | {"weighted": weighted, "refused": error.message.partition(":")[0]}
    require(made.total_delta <= float(DELTA), "a plan within its target")
    return found | {"weighted": weighted, **_said(made), **_others(made, asked), "cpu_s": cpu}


def _said(made: Plan) -> Numbers:
    terms = made.terms
    deviation = math.sqrt(terms.noise.variance)
    length = terms.steps / 2
    aimed = AimedNoise.of(terms)
    return {
        "error": made.errors.planned,
        "over_curator": made.errors.planned / made.errors.curator if made.errors.curator else None,
        "length_steps": length,
        "grown": math.sqrt(terms.squared_norm) / length,
        "noise_deviation": deviation,
        "S_over_mean": terms.noise_square / terms.dimension / deviation**2 if deviation else None,
        "K_deviations": terms.spike / deviation if deviation else None,
        "late": terms.late,
        "points": equation_points(terms.parties, terms.late, RowShape(terms.dimension).bits),
        "word_bits": word_width(terms.parties, terms.squared_norm, terms.noise_square, terms.spike),
        "choices_bits": aimed.choices_bits,
        "best_choice_deviations": None if terms.exact else aimed.best_choice,
        "session_has_result": made.liveness.session,
    }


def _others(made: Plan, asked: dict[str, Any]) -> Numbers:
    """The errors of the same target in mode signed, and in full mode where every bit is proved."""
    found: Numbers = {"error_signed": None, "error_bits": None}
    modes: tuple[PlannedMode, ...] = ("signed", "full")
    for mode in modes:
        try:
            other = plan(mode=mode, **asked)
        except UsageError:
            continue
        law = other.terms.noise
        bits = len(law.weights) if isinstance(law, WeightedBits) else 0
        bits += other.terms.steps.bit_length()
        if mode == "signed" or made.terms.dimension * bits <= _MOST_BITS:
            found["error_bits" if mode == "full" else "error_signed"] = other.errors.planned
    return found
