"""Bounds from runs of any mechanism are below its epsilon, and close to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from gopa.adversary import DistinguishResult, distinguish
from gopa.adversary.privacy.distinguishing import ScoreMany
from wire.errors import UsageError

DRAWS = 200_000


def delta_of_normal(epsilon: float, shift: float) -> float:
    return float(
        ndtr(shift / 2 - epsilon / shift) - math.exp(epsilon) * ndtr(-shift / 2 - epsilon / shift)
    )


class Known(NamedTuple):
    """A mechanism on answers 0 and 1, and its epsilon at a delta."""

    run: Callable[[int, float], Callable[[np.random.Generator, int], Any]]
    delta: float
    epsilon: float


def normal(answer: int, less: float) -> Callable[[np.random.Generator, int], Any]:
    return lambda rng, many: answer + rng.normal(0, 1 / less, many)


def laplace(answer: int, less: float) -> Callable[[np.random.Generator, int], Any]:
    return lambda rng, many: answer + rng.laplace(0, 1 / less, many)


def response(answer: int, less: float) -> Callable[[np.random.Generator, int], Any]:
    """Five answers, the true one with odds e^1 against each other; `less` noise raises the odds."""
    true = math.exp(less) / (math.exp(less) + 4)

    def run(rng: np.random.Generator, many: int) -> Any:
        others = (answer + rng.integers(1, 5, many)) % 5
        return np.where(rng.random(many) < true, answer, others)

    return run


KNOWN = {
    "normal": Known(normal, 1e-3, brentq(lambda e: delta_of_normal(e, 1.0) - 1e-3, 0, 20)),
    "normal, large delta": Known(
        normal, 0.05, brentq(lambda e: delta_of_normal(e, 1.0) - 0.05, 0, 20)
    ),
    "laplace": Known(laplace, 0.0, 1.0),
    "randomised response": Known(response, 0.0, 1.0),
}
SCORES = {
    "normal": lambda seen: seen,
    "normal, large delta": lambda seen: seen,
    "laplace": lambda seen: seen,
    "randomised response": lambda seen: (seen == 1) * 1.0 - (seen == 0),
}


def played(name: str, less: float = 1.0, draws: int = DRAWS, seed: int = 0) -> DistinguishResult:
    known = KNOWN[name]
    zero, one = (known.run(answer, less) for answer in (0, 1))
    return distinguish(zero, one, SCORES[name], known.delta, draws, seed=seed)


@pytest.mark.parametrize("name", KNOWN)
def test_the_bound_is_below_the_truth_and_above_seven_tenths_of_it(name: str) -> None:
    found = played(name)
    assert 0.7 * KNOWN[name].epsilon < found.epsilon <= KNOWN[name].epsilon


@pytest.mark.parametrize("name", KNOWN)
def test_half_the_noise_is_exposed(name: str) -> None:
    assert played(name).epsilon <= KNOWN[name].epsilon < played(name, less=2.0).epsilon


@pytest.mark.parametrize("name", KNOWN)
def test_no_seed_leads_above_the_truth(name: str) -> None:
    bounds = [played(name, draws=1_000, seed=seed).epsilon for seed in range(15)]
    assert max(bounds) <= KNOWN[name].epsilon
    assert np.median(bounds) > 0.1 * KNOWN[name].epsilon


def test_a_bound_errs_no_more_often_than_its_risk() -> None:
    """With a confidence of 0.6 some bounds are too large, but no more than four in ten."""
    zero, one = (KNOWN["laplace"].run(answer, 1.0) for answer in (0, 1))
    wrong = [
        distinguish(zero, one, lambda x: x, 0.0, 1_000, confidence=0.6, seed=seed).epsilon > 1
        for seed in range(50)
    ]
    assert 0 < sum(wrong) < 0.4 * 50


def test_nothing_is_found_where_nothing_is() -> None:
    same = KNOWN["laplace"].run(0, 1.0)
    assert distinguish(same, same, lambda x: x, 0.0, 20_000).epsilon < 0.1


def test_what_gives_itself_away_has_a_large_epsilon() -> None:
    found = distinguish(
        lambda _, many: np.zeros(many), lambda _, many: np.ones(many), lambda x: x, 0.01, 20_000
    )
    assert found.epsilon > 6


def test_the_best_of_many_scores_is_chosen_and_a_bad_one_weakens_only() -> None:
    zero, one = (KNOWN["laplace"].run(answer, 1.0) for answer in (0, 1))
    scores: list[ScoreMany] = [lambda x: -np.abs(x), lambda x: x, np.zeros_like]
    found = distinguish(zero, one, scores, 0.0, 50_000)
    assert found.score == 1
    assert found.epsilon == distinguish(zero, one, scores[1], 0.0, 50_000).epsilon
    assert distinguish(zero, one, scores[2], 0.0, 50_000).epsilon == 0
    assert distinguish(zero, one, lambda x: -x, 0.0, 50_000).epsilon > 0.8


def test_both_orders_of_the_inputs_count() -> None:
    """Side b is rarely where side a never is: only alarms of the other order show it."""

    def certain(_: np.random.Generator, many: int) -> Any:
        return np.zeros(many)

    def leaking(rng: np.random.Generator, many: int) -> Any:
        return (rng.random(many) < 0.1) * 1.0

    forth = distinguish(certain, leaking, lambda x: x, 0.01, 20_000)
    back = distinguish(leaking, certain, lambda x: x, 0.01, 20_000)
    assert min(forth.epsilon, back.epsilon) > 3


def test_equal_seeds_find_the_same_and_others_do_not() -> None:
    first = played("laplace", draws=5_000, seed=3)
    assert first == played("laplace", draws=5_000, seed=3)
    assert first != played("laplace", draws=5_000, seed=4)


def test_the_two_sides_share_no_stream() -> None:
    """A mechanism without noise of its own would else look private: both sides draw the same."""
    seen: list[Any] = []

    def run(rng: np.random.Generator, many: int) -> Any:
        seen.append(rng.random(many))
        return seen[-1]

    distinguish(run, run, lambda x: x, 0.0, 200)
    assert not np.isin(seen[0], seen[1]).any()


def test_runs_are_made_in_parts() -> None:
    sizes: list[int] = []

    def run(rng: np.random.Generator, many: int) -> Any:
        sizes.append(many)
        return rng.random(many)

    distinguish(run, run, lambda x: x, 0.0, 250, at_once=100)
    assert sizes == [100, 100, 50] * 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"draws": 50}, "draws"),
        ({"draws": 1e5}, "draws"),
        ({"delta": -0.1}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": 0.0}, "confidence"),
        ({"at_once": 0}, "at_once"),
        ({"seed": "seven"}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"seed": -1}, "seed"),
        ({"scores": []}, "scores"),
        ({"scores": lambda x: x[:-1]}, "scores[0]"),
        ({"scores": [lambda x: x, lambda x: x * math.nan]}, "scores[1]"),
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any], field: str) -> None:
    run = KNOWN["laplace"].run
    asked: dict[str, Any] = {"scores": lambda x: x, "delta": 0.0, "draws": 1_000}
    assert distinguish(run(0, 1.0), run(1, 1.0), **asked).epsilon > 0
    with pytest.raises(UsageError) as caught:
        distinguish(run(0, 1.0), run(1, 1.0), **{**asked, **changes})
    assert caught.value.field == field


@pytest.mark.soak
@pytest.mark.parametrize("name", KNOWN)
def test_no_seed_leads_above_the_truth_in_long_runs(name: str) -> None:
    bounds = [played(name, draws=100_000, seed=seed).epsilon for seed in range(300)]
    assert max(bounds) <= KNOWN[name].epsilon
