"""Means over many runs are unbiased and vary as the plan says.

Two statistics are tested each time: the mean of n standardised errors, with deviation
1 / sqrt(n), and their mean square, with deviation sqrt(2 / n) for errors close to normal.
Seeds are fixed; with fresh ones a limit of 4.5 deviations on both sides gives a false alarm
in about one of 150,000 runs of a statistic. Each coordinate of a vector is a run of its own: all
its noise, masks and rounding are. Inputs lie in the middle between two points
of the grid, where the variance of rounding is exactly its bound.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from gopa import LocalAggregator, Result
from gopa.aggregation import sessions
from gopa.aggregation.values import flat
from gopa.aggregation.variances import Moments, variance_of
from gopa.planning import Terms
from tests.aggregation.plans import lasting, planned, terms
from tests.protocol.simulation.doubles import SWIFT

LIMIT = 4.5
RUNS = 2000
FEWER = 600
WIDE = 20
"""Coordinates, and so runs, of a round in mode off."""
DROPPING = ["join", "commit", "publish", "rollback", "unmask"]


def dropouts(
    parties: int, chance: float, phases: Sequence[str] = DROPPING
) -> Callable[[int], Mapping[int, str]]:
    """Every party fails with this chance in every round, in any of the phases."""

    def script(number: int) -> Mapping[int, str]:
        chooser = random.Random(number)
        failing = [party for party in range(parties) if chooser.random() < chance]
        return {party: chooser.choice(phases) for party in failing}

    return script


def halves(made: Terms) -> np.ndarray[Any, Any]:
    """A vector for each party, between two points of the grid everywhere."""
    chooser = np.random.default_rng(17)
    steps = chooser.integers(0, made.steps, (made.parties, made.dimension)) + 0.5
    width = float(made.high - made.low)
    return np.asarray(float(made.low) + steps / made.steps * width)


def errors(aggregator: LocalAggregator, rounds: int) -> tuple[list[float], list[Result]]:
    """Standardised errors of all coordinates, against the plain mean of the included."""
    values = halves(aggregator.terms)
    found: list[float] = []
    results = []
    for _ in range(rounds):
        result = aggregator.average(list(values))
        plain = values[list(result.included)].mean(axis=0)
        found.extend(((flat(result.mean) - plain) / flat(result.stderr)).tolist())
        results.append(result)
    return found, results


def require_standard(found: list[float], runs: int = RUNS) -> None:
    count = len(found)
    assert count >= runs
    assert abs(np.mean(found)) < LIMIT / count**0.5
    assert abs(np.mean(np.square(found)) - 1) < LIMIT * (2 / count) ** 0.5


@pytest.mark.parametrize("chance", [0.0, 0.1])
def test_the_mean_in_mode_off(chance: float) -> None:
    shape = {"parties": 12, "survivors": 4, "loss": 6, "dimension": WIDE, "rounds": RUNS // WIDE}
    made = terms(**shape)
    script = dropouts(made.parties, chance, ["join"])
    aggregator = LocalAggregator(made, mode="off", seed=str(chance).encode(), script=script)
    found, results = errors(aggregator, made.rounds)
    require_standard(found)
    counts = {result.count for result in results}
    assert (len(counts) > 3) == (chance > 0)
    spreads = {round(float(result.stderr[0]), 12) for result in results}
    assert len(spreads) == len(counts)


@pytest.mark.parametrize("dimension", [1, 3])
def test_the_standard_error_is_that_of_the_plan(dimension: int) -> None:
    noise = "gaussian" if dimension == 1 else "irwin-hall"
    plan = planned(n=25, epsilon=4, dropout=0.0, dimension=dimension, noise=noise)
    result = LocalAggregator(plan, mode="off").average([np.full(dimension, 0.123)] * 25)
    assert np.allclose(result.stderr, plan.errors.planned, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("trust", ["malicious", "honest-but-curious"])
@pytest.mark.parametrize("chance", [0.0, 0.1])
def test_the_mean_in_signed_mode(chance: float, trust: Any) -> None:
    """Honest but curious, masks towards whoever left are in the sum, and in its error."""
    masks = {} if trust == "malicious" else {"mask": "gaussian", "mask_deviation": 500}
    made = lasting(rounds=10, dimension=200, charged=3, **masks)
    script = dropouts(made.parties, chance)
    with LocalAggregator(made, mode="signed", trust=trust, seed=5, script=script) as aggregator:
        found, results = errors(aggregator, 10)
    require_standard(found)
    assert any(result.excluded for result in results) == (chance > 0)
    spreads = {round(float(result.stderr[0]), 12) for result in results}
    counts = {result.count for result in results}
    assert (len(spreads) > len(counts)) == (chance > 0 and trust != "malicious")


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("chance", [0.0, 0.1])
def test_the_mean_in_full_mode(chance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs are those of `doubles`; the long test below has real ones."""
    monkeypatch.setattr(sessions, "LocalSession", partial(sessions.LocalSession, toolkit=SWIFT))
    made = lasting(rounds=5, dimension=10, charged=3)
    script = dropouts(made.parties, chance)
    with LocalAggregator(made, mode="full", seed=5, script=script) as aggregator:
        found, results = errors(aggregator, 5)
    require_standard(found, 50)
    assert any(result.excluded for result in results) == (chance > 0)


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["signed", "full"])
@pytest.mark.parametrize("chance", [0.0, 0.1])
def test_two_thousand_runs_of_one_number(mode: Any, chance: float) -> None:
    found: list[float] = []
    for seed in range(RUNS // 50):
        made = lasting(rounds=50, charged=3)
        script = dropouts(made.parties, chance)
        with LocalAggregator(made, mode=mode, seed=seed, script=script) as aggregator:
            found.extend(errors(aggregator, 50)[0])
    require_standard(found)


def test_the_weighted_mean() -> None:
    """The last coordinate of what is summed is the weight."""
    rounds = FEWER // WIDE
    made = terms(
        parties=20, survivors=15, loss=5, k=10, dimension=WIDE + 1, steps=2000, rounds=rounds
    )
    aggregator = LocalAggregator(made, mode="off", seed=2, max_weight=10)
    chooser = np.random.default_rng(3)
    values, weights = chooser.random((20, WIDE)), chooser.uniform(2, 10, 20)
    exact = np.average(values, axis=0, weights=weights)
    total = weights @ values
    results = [aggregator.average(list(values), weights=weights.tolist()) for _ in range(rounds)]
    standard = [(flat(result.mean) - exact) / flat(result.stderr) for result in results]
    sums = [(flat(result.sum) - total) / flat(result.sum_stderr) for result in results]
    for found in (np.ravel(standard), np.ravel(sums)):
        assert len(found) == FEWER
        assert abs(np.mean(found)) < LIMIT / FEWER**0.5
        # Rounding varies less than its bound: a few parts in a hundred here.
        assert 1 - 0.15 < np.mean(np.square(found)) < 1 + LIMIT * (2 / FEWER) ** 0.5


@pytest.mark.slow
def test_variances_are_unbiased() -> None:
    made = terms(parties=12, survivors=8, loss=4, k=6, dimension=2, steps=50, rounds=FEWER)
    values = np.random.default_rng(4).random(12)
    aggregator = LocalAggregator(made, mode="off", seed=6)
    found = []
    for _ in range(FEWER):
        result = variance_of(aggregator.aggregate(values.tolist(), Moments(made)), 0.5)
        found.append((result.estimate - float(np.var(values))) / result.variance_stderr)
    # Rounding is not taken off: at most 2 % of a deviation here.
    assert abs(np.mean(found)) < LIMIT / FEWER**0.5 + 0.02
    assert 1 - 0.15 < np.mean(np.square(found)) < 1 + LIMIT * (2 / FEWER) ** 0.5
