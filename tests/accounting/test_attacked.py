"""No account is below what a test on draws of the mechanism shows, and half an account is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pytest
from scipy.stats import beta

from gopa.accounting import Loss, Rdp
from gopa.support.arrays import Floats
from tests.accounting.mechanisms import MECHANISMS, discrete_gaussian, discrete_laplace, moved

DRAWS: Final = 100_000
DOUBT: Final = 1e-6

Draws = Callable[[np.random.Generator, int], Floats]


@dataclass(frozen=True, slots=True)
class Attack:
    """Draws of the log-odds with the row and without it, and the account at a noise of `factor`."""

    ahead: Draws
    behind: Draws
    epsilon: float
    account: Callable[[float], Loss | Rdp]


def normal_odds(x: Floats, first: float, second: float, sigma: float) -> Floats:
    return ((x - second) ** 2 - (x - first) ** 2) / (2 * sigma * sigma)


def normal(first: float, second: float, sigma: float) -> tuple[Draws, Draws]:
    def draws(mean: float) -> Draws:
        return lambda rng, n: normal_odds(rng.normal(mean, sigma, n), first, second, sigma)

    return draws(first), draws(second)


def laplace(count: int, scale: float) -> tuple[Draws, Draws]:
    def draws(mean: float) -> Draws:
        def made(rng: np.random.Generator, n: int) -> Floats:
            x = rng.laplace(mean, scale, (n, count))
            return np.asarray((np.abs(x) - np.abs(x - 1)).sum(axis=1) / scale)

        return made

    return draws(1.0), draws(0.0)


def responses(epsilon: float, k: int, count: int) -> tuple[Draws, Draws]:
    def draws(true: int) -> Draws:
        def made(rng: np.random.Generator, n: int) -> Floats:
            kept = rng.random((n, count)) < math.exp(epsilon) / (math.exp(epsilon) + k - 1)
            others = (true + rng.integers(1, k, (n, count))) % k
            answers = np.where(kept, true, others)
            return np.asarray(epsilon * ((answers == 0).sum(axis=1) - (answers == 1).sum(axis=1)))

        return made

    return draws(0), draws(1)


def sampled(row: float, other: float, rest: float, rate: float, count: int) -> tuple[Draws, Draws]:
    """Normal noise of deviation 1 on `row`, or `other`, or what is there without either."""

    def odds(x: Floats) -> Floats:
        base = np.exp(-((x - rest) ** 2) / 2) * (1 - rate)
        one, two = (base + rate * np.exp(-((x - each) ** 2) / 2) for each in (row, other))
        return np.asarray(np.log(one / two).sum(axis=1))

    def draws(value: float) -> Draws:
        def made(rng: np.random.Generator, n: int) -> Floats:
            there = rng.random((n, count)) < rate
            return odds(np.where(there, value, rest) + rng.normal(size=(n, count)))

        return made

    return draws(row), draws(other)


def geometric() -> tuple[Draws, Draws]:
    """Discrete Laplace noise on an integer that moves by 1: differences of geometric draws."""

    def draws(mean: int) -> Draws:
        def made(rng: np.random.Generator, n: int) -> Floats:
            share = -math.expm1(-0.5)
            x = mean + rng.geometric(share, n) - rng.geometric(share, n)
            return np.asarray((np.abs(x) - np.abs(x - 1)) / 2)

        return made

    return draws(1), draws(0)


def stopped(sigma: float, chance: float) -> tuple[Draws, Draws]:
    """Seen after a random number of steps, each of which adds noise, and so is the number."""

    def draws(mean: float) -> Draws:
        def made(rng: np.random.Generator, n: int) -> Floats:
            width = sigma * np.sqrt(rng.geometric(chance, n))
            x = mean + width * rng.normal(size=n)
            return np.asarray((x - 0.5) / width**2)

        return made

    return draws(1.0), draws(0.0)


def horizon(sigma: float, chance: float) -> Rdp:
    steps = np.arange(1, 400)
    weights = chance * (1 - chance) ** (steps - 1)
    weights[-1] += (1 - chance) ** len(steps)
    return Rdp.gaussian(sigma).over_horizon(weights, 1 / steps)


ATTACKS: Final = {
    "normal": Attack(*normal(1.0, 0.0, 1.2), 0.8, lambda f: Loss.gaussian(1.2 * f)),
    "Laplace, 5 times": Attack(*laplace(5, 4.0), 0.6, lambda f: Loss.laplace(4.0 * f).repeated(5)),
    "response, 3 times": Attack(
        *responses(1.0, 4, 3), 1.5, lambda f: Loss.randomised_response(1.0 / f, 4).repeated(3)
    ),
    "discrete Laplace": Attack(
        *geometric(), 0.2, lambda f: moved(discrete_laplace(2.0 * f, 90), 1)
    ),
    "with a row, on samples": Attack(
        *sampled(1.0, 0.0, 0.0, 0.2, 10),
        0.7,
        lambda f: Loss.gaussian(f).subsampled(0.2).repeated(10),
    ),
    "without a row, on samples": Attack(
        *sampled(0.0, 1.0, 0.0, 0.2, 10),
        0.7,
        lambda f: Loss.gaussian(f).subsampled(0.2).repeated(10),
    ),
    "another row, on samples": Attack(
        *sampled(1.0, -1.0, 0.0, 0.2, 10),
        0.7,
        lambda f: Loss.gaussian(f).subsampled(0.2, "replace-one").repeated(10),
    ),
    "another row, on samples, by moments": Attack(
        *sampled(1.0, -1.0, 0.0, 0.2, 10),
        0.7,
        lambda f: Rdp.sampled_gaussian(2 * f - 1, 1.0, 0.2, "replace-one").repeated(10),
    ),
    "another row, samples of fixed size": Attack(
        *sampled(1.0, -1.0, -1.0, 0.2, 6),
        0.7,
        lambda f: Loss.gaussian(f, 2.0).sampled_without_replacement(0.2).repeated(6),
    ),
    "one after the other": Attack(
        lambda rng, n: normal(1.0, 0.0, 2.0)[0](rng, n) + laplace(1, 2.0)[0](rng, n),
        lambda rng, n: normal(1.0, 0.0, 2.0)[1](rng, n) + laplace(1, 2.0)[1](rng, n),
        0.5,
        lambda f: Loss.gaussian(2.0 * f).then(Loss.laplace(2.0 * f)),
    ),
    "normal, after random time": Attack(
        *stopped(0.3, 0.1), 1.0, lambda f: horizon(0.3 * f * f * f, 0.1)
    ),
}
"""Divergences are loose by themselves: there half an account is taken with more noise still."""


def shown(attack: Attack, seed: int, draws: int = DRAWS) -> float:
    """A lower bound on delta that holds but for a chance of `DOUBT`: the best test, counted."""
    rng = np.random.default_rng(seed)
    right = int((attack.ahead(rng, draws) > attack.epsilon).sum())
    wrong = int((attack.behind(rng, draws) > attack.epsilon).sum())
    least = beta.ppf(DOUBT / 2, right, draws - right + 1) if right else 0.0
    most = beta.ppf(1 - DOUBT / 2, wrong + 1, draws - wrong)
    return float(least - math.exp(attack.epsilon) * most)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_shows_no_more_than_the_account(name: str) -> None:
    attack = ATTACKS[name]
    lower = shown(attack, 7)
    assert 0 < lower <= attack.account(1.0).delta(attack.epsilon)
    # Twice the noise, or half of the sensitivity, would be too little.
    assert attack.account(2.0).delta(attack.epsilon) < lower


def tables(law: list[float], by: int, count: int) -> tuple[Draws, Draws]:
    """Integers with noise of this law, several of them, on a value that moves by `by`."""
    one, two = np.array([*[0.0] * by, *law]), np.array([*law, *[0.0] * by])

    def draws(chances: Floats) -> Draws:
        def made(rng: np.random.Generator, n: int) -> Floats:
            x = rng.choice(len(chances), (n, count), p=chances)
            with np.errstate(divide="ignore"):
                return np.asarray((np.log(one[x]) - np.log(two[x])).sum(axis=1))

        return made

    return draws(one), draws(two)


def added(*parts: tuple[Draws, Draws]) -> tuple[Draws, Draws]:
    """One mechanism after the other: log-odds add up."""

    def draws(at: int) -> Draws:
        return lambda rng, n: np.asarray(sum(part[at](rng, n) for part in parts))

    return draws(0), draws(1)


def sampled_laplace(scale: float, rate: float, count: int) -> tuple[Draws, Draws]:
    def draws(chance: float) -> Draws:
        def made(rng: np.random.Generator, n: int) -> Floats:
            x = rng.laplace(0.0, scale, (n, count)) + (rng.random((n, count)) < chance)
            ratio = np.exp((np.abs(x) - np.abs(x - 1)) / scale)
            return np.asarray(np.log1p(rate * (ratio - 1)).sum(axis=1))

        return made

    return draws(rate), draws(0.0)


SAME: Final = {
    "normal": normal(1.0, 0.0, 1.5),
    "normal, 10,000 times": normal(1.0, 0.0, 0.8),
    "Laplace": laplace(1, 0.8),
    "Laplace, 30 times": laplace(30, 3.0),
    "response": responses(1.0, 4, 1),
    "response, 50 times": responses(0.3, 2, 50),
    "discrete Laplace": tables(discrete_laplace(2.0, 90), 1, 1),
    "discrete normal, 5 times": tables(discrete_gaussian(3.0, 40), 2, 5),
    "normal on samples": sampled(1 / 1.1, 0.0, 0.0, 0.01, 1000),
    "normal on large samples": sampled(1 / 4.0, 0.0, 0.0, 0.3, 100),
    "Laplace on samples": sampled_laplace(1.0, 0.05, 200),
    "one after the other": added(normal(1.0, 0.0, 2.0), laplace(1, 2.0), normal(1.0, 0.0, 5.0)),
}
"""The mechanisms that another accountant knows; of ten thousand normal steps the mean is enough."""


LONG: Final = {"normal on samples", "normal on large samples", "Laplace on samples"}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.soak] * (each in LONG)) for each in MECHANISMS]
)
def test_draws_show_no_more_than_either_account(name: str) -> None:
    """Nor much less: whoever claims a third of the delta is found out."""
    mechanism, (ahead, behind) = MECHANISMS[name], SAME[name]
    loss = mechanism.loss()
    attack = Attack(ahead, behind, loss.epsilon(0.1), lambda _: loss)
    lower = shown(attack, 7, 20_000 if name in LONG else DRAWS)
    assert loss.delta(attack.epsilon) / 3 < lower <= loss.delta(attack.epsilon)
    if mechanism.rdp is not None:
        assert lower <= mechanism.rdp().delta(attack.epsilon)
