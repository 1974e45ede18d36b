"""All parties in one process, round after round."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import pickle
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

import gopa
from gopa.aggregation import sessions
from gopa.aggregation.aggregator import Aggregator, LocalAggregator
from gopa.aggregation.engine import RoundAborted
from gopa.aggregation.result import Result, WeightTooSmall
from gopa.aggregation.transcript import NO_TRANSCRIPT
from gopa.aggregation.values import InvalidValue, OutOfRange, flat
from gopa.aggregation.variances import Moments, variance_of
from gopa.planning import Terms
from tests.aggregation.plans import lasting, planned, terms
from tests.protocol.simulation.doubles import SWIFT
from wire.errors import UsageError

VALUES = [0.1, 0.2, 0.3, 0.4, 0.5, 1.0]


def off(changes: dict[str, Any] | None = None, **settings: Any) -> LocalAggregator:
    return LocalAggregator(terms(**(changes or {})), **{"mode": "off", "seed": 1, **settings})


def learning(aggregator: Aggregator) -> Any:
    """What learning code sees: the protocol alone."""
    update = {"w": np.zeros((2, 2)), "b": [0.5]}
    return aggregator.average([update for _ in aggregator.own]).mean


def test_learning_code_sees_the_protocol_only() -> None:
    aggregator = off({"dimension": 5})
    assert isinstance(aggregator, Aggregator)
    mean = learning(aggregator)
    assert mean["w"].shape == (2, 2)
    assert isinstance(mean["b"][0], float)
    assert aggregator.own == range(6)
    assert aggregator.rounds_left == 49


def test_a_result_says_what_happened() -> None:
    result = off(script={2: "join"}).average(VALUES)
    assert result.included == (0, 1, 3, 4, 5)
    assert result.count == 5
    assert [(lost.party, lost.phase, lost.cause) for lost in result.excluded] == [
        (2, "JOIN", "ABSENT")
    ]
    assert result.rolled_back == ()
    assert (result.mode, result.trust, result.simulation) == ("off", "malicious", True)
    assert result.privacy is None
    assert result.transcript is NO_TRANSCRIPT
    assert (result.attempts, result.vetoes, result.clipped, result.scaled) == (1, 0, 0, 0)
    assert result.sum == pytest.approx(5 * result.mean)
    assert result.sum_stderr == pytest.approx(5 * result.stderr)
    assert abs(result.mean - 0.44) < 5 * result.stderr
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.mean = 0.0  # type: ignore[misc]


def test_the_standard_error_is_that_of_noise_and_rounding() -> None:
    result = off().average(VALUES)
    law = terms().noise
    assert result.rounding == pytest.approx(0.01**2 / 4 / 6)
    assert result.stderr**2 == pytest.approx((0.01**2) * float(law.variance) / 6 + result.rounding)


def test_integers_on_the_grid_are_not_rounded() -> None:
    result = off().average([0, 1, 1, 0, 1, 1])
    assert result.rounding == 0
    assert result.stderr**2 == pytest.approx((0.01**2) * float(terms().noise.variance) / 6)


def test_sum_and_average_are_one_round() -> None:
    assert off().sum(VALUES).sum == off().average(VALUES).sum


def test_the_async_twins_do_the_same() -> None:
    async def both() -> tuple[float, float]:
        aggregator = off()
        first, second = await asyncio.gather(
            aggregator.average_async(VALUES), aggregator.sum_async(VALUES)
        )
        assert aggregator.rounds_left == 48
        return first.mean, second.mean

    alone = off()
    expected = {alone.average(VALUES).mean, alone.average(VALUES).mean}
    assert set(asyncio.run(both())) == expected


@pytest.mark.parametrize("seed", [7, b"seven"])
def test_a_seed_reproduces_everything(seed: Any) -> None:
    def run(with_seed: Any) -> list[float]:
        aggregator = off(seed=with_seed)
        return [aggregator.average(VALUES).mean for _ in range(3)]

    assert run(seed) == run(seed)
    assert run(seed) != run(b"another")
    assert len(set(run(seed))) > 1
    assert run(None) != run(None)


@pytest.mark.parametrize("seed", [True, 1.5, [1], "seven"])
def test_other_seeds_are_refused(seed: Any) -> None:
    with pytest.raises(UsageError) as caught:
        off(seed=seed)
    assert caught.value.field == "seed"


def test_a_refused_value_releases_nothing_and_costs_no_round() -> None:
    aggregator = off()
    for wrong in (1.5, "text", np.nan):
        with pytest.raises(InvalidValue) as caught:
            aggregator.average([*VALUES[:5], wrong])
        assert caught.value.party == 5
    assert aggregator.rounds_left == 50
    fresh, after = off(), aggregator.average(VALUES)
    assert after.count == fresh.average(VALUES).count


def test_clipping_is_counted() -> None:
    values = [-1.0, 0.2, 1.5, 0.4, 0.5, 1.0]
    with pytest.raises(OutOfRange):
        off().average(values)
    result = off(clip=True).average(values)
    assert result.clipped == 2
    assert result.mean == off(clip=True).average([0.0, 0.2, 1.0, 0.4, 0.5, 1.0]).mean
    assert off(clip=True).average(VALUES).clipped == 0


def test_vectors_that_are_too_long_are_scaled_and_counted() -> None:
    plan = planned(n=50, dimension=4, norm=1, range=(-1, 1))
    values = [np.array([0.6, 0.8, 0.6, 0.0])] * 2 + [np.zeros(4)] * 48
    with pytest.raises(OutOfRange) as caught:
        LocalAggregator(plan, mode="off").average(values)
    assert caught.value.party == 0
    result = LocalAggregator(plan, mode="off", clip=True).average(values)
    assert (result.scaled, result.clipped) == (2, 0)


def test_the_rounds_of_a_plan_are_all_there_is() -> None:
    aggregator = off({"rounds": 2})
    aggregator.average(VALUES)
    aggregator.average(VALUES)
    assert aggregator.rounds_left == 0
    with pytest.raises(UsageError) as caught:
        aggregator.average(VALUES)
    assert caught.value.field == "rounds"


def test_a_closed_aggregator_runs_no_more() -> None:
    with off() as aggregator:
        aggregator.average(VALUES)
    aggregator.close()
    with pytest.raises(UsageError) as caught:
        aggregator.average(VALUES)
    assert caught.value.field == "aggregator"


def test_an_aborted_round_says_why_and_counts() -> None:
    aggregator = off(script=dict.fromkeys(range(3), "join"))
    with pytest.raises(RoundAborted) as caught:
        aggregator.average(VALUES)
    assert isinstance(caught.value, gopa.Aborted)
    assert caught.value.reason == "TOO_FEW_JOINED"
    assert caught.value.culprits == ()
    assert aggregator.rounds_left == 49
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (copy.culprits, copy.reason, copy.attempts, copy.released) == (
        (),
        "TOO_FEW_JOINED",
        3,
        "none",
    )


def test_parties_may_stay_away() -> None:
    result = off().average([None, *VALUES[1:]])
    assert result.included == (1, 2, 3, 4, 5)
    with pytest.raises(UsageError):
        off().average([None] * 6)


@pytest.mark.parametrize("values", [VALUES[:5], [*VALUES, 0.5], [[0.1, 0.2]] * 6])
def test_values_have_the_number_and_dimension_of_the_plan(values: Any) -> None:
    off().average(VALUES)
    with pytest.raises(UsageError) as caught:
        off().average(values)
    assert caught.value.field == "values"


SETTINGS: dict[str, dict[str, Any]] = {
    "mode": {"mode": "fast"},
    "trust": {"trust": "everybody"},
    "beacon": {"beacon": "dice"},
    "storage": {"storage": "somewhere"},
    "script": {"script": 3},
    "max_weight": {"max_weight": 0},
}


@pytest.mark.parametrize("field", SETTINGS)
def test_settings_that_do_not_fit_are_named(field: str) -> None:
    off()
    with pytest.raises(UsageError) as caught:
        off(**SETTINGS[field])
    assert caught.value.field == field


def test_full_mode_trusts_nobody() -> None:
    plan = planned(n=6)
    LocalAggregator(plan, mode="full", seed=1).close()
    with pytest.raises(UsageError) as caught:
        LocalAggregator(plan, mode="full", trust="honest-but-curious")
    assert caught.value.field == "trust"


@pytest.mark.parametrize("script", [{9: "publish"}, {1: "lunch"}, {True: "publish"}])
def test_a_script_names_parties_and_phases(script: Any) -> None:
    with pytest.raises(UsageError) as caught:
        off(script=script)
    assert caught.value.field == "script"
    with pytest.raises(UsageError):
        off(script=lambda _: script).average(VALUES)


def test_a_script_may_depend_on_the_round() -> None:
    aggregator = off(script=lambda number: {number: "join"} if number < 3 else {})
    found = [aggregator.average(VALUES).included for _ in range(3)]
    assert found == [(0, 2, 3, 4, 5), (0, 1, 3, 4, 5), (0, 1, 2, 3, 4, 5)]


def test_rounds_are_logged_without_values(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="gopa"):
        off(script={2: "join"}).average(VALUES)
    messages = [record.getMessage() for record in caplog.records if record.name.startswith("gopa")]
    assert messages == ["round 1: 5 parties included, 1 excluded, 1 attempt"]


WIDE = {"dimension": 2, "steps": 1000}


def test_weights_stay_inside_and_the_mean_is_theirs() -> None:
    weights = [10, 0, 3.5, 7, 1, 9.99]
    result = off(WIDE, max_weight=10).average(VALUES, weights=weights)
    assert abs(result.mean - np.average(VALUES, weights=weights)) < 5 * result.stderr
    assert result.stderr < 0.01
    assert result.weight is not None
    assert result.weight_stderr is not None
    assert abs(result.weight - sum(weights)) < 5 * result.weight_stderr
    assert abs(result.sum - np.dot(VALUES, weights)) < 5 * result.sum_stderr


def test_weights_need_their_bound_and_the_bound_needs_weights() -> None:
    with pytest.raises(UsageError):
        off().average(VALUES, weights=[1] * 6)
    with pytest.raises(UsageError):
        off(WIDE, max_weight=1).average(VALUES)


def test_weights_that_vanish_in_the_noise_give_a_result_without_a_mean() -> None:
    with pytest.raises(WeightTooSmall) as caught:
        off(WIDE, max_weight=10).average(VALUES, weights=[0.0] * 5 + [0.1])
    result = caught.value.result
    assert np.isnan(result.mean)
    assert np.isfinite(result.sum)
    assert result.count == 6
    assert "nan" in str(result)
    assert str(caught.value) == caught.value.message
    assert pickle.loads(pickle.dumps(caught.value)).result.count == 6  # noqa: S301


LIMIT = 4.5


RUNS = 2000


FEWER = 600


WIDE_STATISTICS = 20


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
    shape = {
        "parties": 12,
        "survivors": 4,
        "loss": 6,
        "dimension": WIDE_STATISTICS,
        "rounds": RUNS // WIDE_STATISTICS,
    }
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
    rounds = FEWER // WIDE_STATISTICS
    made = terms(
        parties=20,
        survivors=15,
        loss=5,
        k=10,
        dimension=WIDE_STATISTICS + 1,
        steps=2000,
        rounds=rounds,
    )
    aggregator = LocalAggregator(made, mode="off", seed=2, max_weight=10)
    chooser = np.random.default_rng(3)
    values, weights = chooser.random((20, WIDE_STATISTICS)), chooser.uniform(2, 10, 20)
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
