"""Renyi divergences: closed forms, integrals, random horizons, and the best order."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom

from gopa.accounting import (
    Loss,
    Rdp,
    Relation,
    composed_epsilon,
    gaussian_sigma,
    optimal_delta,
    optimal_epsilon,
)
from gopa.accounting.atoms import Atoms, gridded, regridded
from gopa.accounting.convolution import Masses
from gopa.accounting.distribution import LossDistribution
from gopa.accounting.fourier import LONGEST, Repeated, sum_of, window
from gopa.accounting.gaussian import zcdp_delta
from tests.accounting.foreign import FILE
from tests.accounting.mechanisms import DELTAS, MECHANISMS, ORDERS
from tests.planning.samples import exact_sum
from wire.errors import UsageError

FOREIGN = json.loads(FILE.read_text())


WITH_CURVE = [name for name in MECHANISMS if FOREIGN[name]["rdp"] is not None]


LOOSE = {"normal on samples", "normal on large samples"}


"""Below order 2 the other accountant takes the divergence of a higher order."""


@pytest.mark.parametrize("name", WITH_CURVE)
def test_divergences_are_those_of_another_accountant(name: str) -> None:
    make = MECHANISMS[name].rdp
    assert make
    orders = ORDERS[1:] if name in LOOSE else ORDERS
    theirs = FOREIGN[name]["rdp"][-len(orders) :]
    assert make().rdp(orders) == pytest.approx(theirs, rel=1e-6)
    assert (make().rdp(ORDERS) <= np.array(FOREIGN[name]["rdp"]) * (1 + 1e-6)).all()


@pytest.mark.parametrize("name", WITH_CURVE)
def test_divergences_show_no_less_than_losses_do(name: str) -> None:
    """Both hold, and losses are tight: the other bound is above, and not by much."""
    make = MECHANISMS[name].rdp
    assert make
    for delta in DELTAS[1:]:
        loose, tight = make().epsilon(delta), MECHANISMS[name].loss().epsilon(delta)
        assert tight <= loose * 1.001
        assert loose <= 1.25 * tight


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("order", [1.01, 1.7, 5.0, 33.3, 300.0])
def test_sampled_normal_noise_is_integrated(relation: Relation, order: float) -> None:
    rate, mu = 0.03, 1.6
    z = np.linspace(-30, order * mu + 30, 100_001)
    plain, ahead, behind = (-((z - mean) ** 2) / 2 for mean in (0.0, mu, -mu))

    def mixed(moved: np.ndarray) -> np.ndarray:
        return np.logaddexp(math.log1p(-rate) + plain, math.log(rate) + moved)

    first, second = mixed(ahead), mixed(behind) if relation == "replace-one" else plain
    width = math.log((z[-1] - z[0]) / (len(z) - 1) / math.sqrt(2 * math.pi))
    both = [
        float(logsumexp(b + order * (a - b))) + width for a, b in ((first, second), (second, first))
    ]
    exact = max(both) / (order - 1)
    found = float(Rdp.sampled_gaussian(1 / mu, 1.0, rate, relation).rdp(order)[0])
    assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-6) + 1e-9


def test_divergences_of_losses() -> None:
    for orders in (1.0001, 1.5, 7.0, 60.0):
        exact, found = Rdp.laplace(0.7).rdp(orders), Rdp.of_loss(Loss.laplace(0.7)).rdp(orders)
        assert (exact <= found * (1 + 1e-9)).all()
        assert found == pytest.approx(exact, rel=1e-3)
    ratio = math.exp(1.2)
    true, false = ratio / (ratio + 2), 1 / (ratio + 2)
    power = true**3 * false**-2 + false**3 * true**-2 + false
    assert Rdp.randomised_response(1.2, 3).rdp(3.0)[0] == pytest.approx(math.log(power) / 2)
    assert Rdp.of_loss(Loss.of_tables([1, 2, 0], [0, 1, 2])).rdp(2.0)[0] == math.inf
    table = Rdp.of_loss(Loss.of_tables([1, 3], [2, 2]))
    up, down = (1 / 2 + 9 / 2) / 4, (4 + 4 / 3) / 4
    assert table.rdp(2.0)[0] == pytest.approx(math.log(max(up, down)), rel=1e-4)


def test_a_certain_horizon_is_no_horizon() -> None:
    plain = Rdp.gaussian(3.0)
    assert plain.over_horizon([1.0], [1.0]).epsilon(1e-6) == pytest.approx(plain.epsilon(1e-6))
    halves = plain.over_horizon([0.5, 0.5], [1.0, 4.0]).rdp(3.0)[0]
    exact = math.log((math.exp(2 * 3 / 18) + math.exp(2 * 4 * 3 / 18)) / 2) / 2
    assert halves == pytest.approx(exact, rel=1e-6)


def walk(sigma: float, users: int = 2000, steps: int = 20_000, colluders: int = 1) -> Rdp:
    """Gradients of length 0.4 on a token that comes back after a random time."""
    chance, time_since = (colluders + 1) / users, np.arange(1, steps + 1)
    weights = chance * (1 - chance) ** (time_since - 1.0)
    weights[-1] += (1 - chance) ** steps
    return Rdp.gaussian(sigma, 0.8).over_horizon(weights, 1 / time_since).repeated(12)


def test_a_token_that_walks() -> None:
    """The published setting, and its noise."""
    started = time.process_time()
    assert walk(0.4727).epsilon(1e-6) == pytest.approx(10, rel=0.01)
    assert walk(3.2505).epsilon(1e-6) == pytest.approx(1, rel=0.01)
    assert walk(0.51, colluders=3).epsilon(1e-6) == pytest.approx(10, rel=0.1)
    assert time.process_time() - started < 1.5
    # With 1/n in place of 2/n less would be claimed than holds.
    assert walk(3.2505, colluders=0).epsilon(1e-6) < 0.95


@pytest.mark.parametrize("rho", [1e-4, 0.02, 1.0])
def test_the_best_order_is_found(rho: float) -> None:
    curve = Rdp.gaussian(1 / math.sqrt(2 * rho))
    for delta in (1e-3, 1e-9):
        epsilon, order = curve.at(delta)
        around = curve.rdp(np.linspace(1 + (order - 1) * 0.8, order * 1.2, 41))
        assert around[0] < around[-1]
        assert zcdp_delta(epsilon, rho) == pytest.approx(delta, rel=1e-3)
        assert curve.delta(epsilon) == pytest.approx(delta, rel=1e-3)


def test_huge_and_tiny_divergences_stay_finite() -> None:
    assert Rdp.gaussian(1e-3).epsilon(1e-6) < 6e5
    assert 0 <= Rdp.gaussian(1e7).epsilon(1e-6) < 1e-5
    assert Rdp.gaussian(1e-3).delta(1.0) == 1.0
    assert Rdp.laplace(1e-2).repeated(10**6).epsilon(1e-6) <= 1.001e8


NAN, INF = math.nan, math.inf


GOOD = Rdp.gaussian(1.0)


REFUSED: dict[str, Callable[[], object]] = {
    f"{field} {value}": (lambda make=make, value=value: make(value))  # type: ignore[misc]
    for field, make, values in [
        ("orders", GOOD.rdp, (1.0, 0.5, NAN, INF, [2.0, 1.0])),
        ("sigma", Rdp.gaussian, (0, -1.0, NAN, INF)),
        ("scale", Rdp.laplace, (0, -1.0, NAN, INF)),
        ("epsilon", Rdp.randomised_response, (0, -1.0, NAN, INF)),
        ("rate", lambda v: Rdp.sampled_gaussian(1.0, 1.0, v), (0, 1.1, -0.1, NAN)),
        ("relation", lambda v: Rdp.sampled_gaussian(1.0, 1.0, 0.1, v), ("swap",)),
        ("count", GOOD.repeated, (0, 1.5, True)),
        ("delta", GOOD.epsilon, (0.0, 1.0, -1.0, NAN)),
        ("epsilon", GOOD.delta, (-1.0, NAN, INF)),
        (
            "weights",
            lambda v: GOOD.over_horizon(v, [1.0, 2.0]),
            ([0.5, 0.4], [1.5, -0.5], [NAN, 1]),
        ),
        ("scales", lambda v: GOOD.over_horizon([0.5, 0.5], v), ([1.0], [1.0, -1.0], [1.0, INF])),
    ]
    for value in values
}


def test_losses_and_divergences_compose_with_their_like() -> None:
    loss, divergence = Loss.gaussian(1.0), Rdp.gaussian(1.0)
    assert divergence.then(Rdp.of_loss(Loss.laplace(1.0))).epsilon(1e-6) > loss.epsilon(1e-6)
    with pytest.raises(UsageError):
        divergence.then(loss)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        loss.then(divergence)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused(name: str) -> None:
    GOOD.over_horizon([0.5, 0.5], [1.0, 2.0]).repeated(3).epsilon(1e-6)
    with pytest.raises(UsageError) as caught:
        REFUSED[name]()
    assert caught.value.field == name.split(maxsplit=1)[0]


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (8.0, 1e-3)])
def test_noise_is_enough_and_hardly_more(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon, delta, 3.0)
    assert Loss.gaussian(sigma, 3.0).delta(epsilon) <= delta * 1.001
    assert Loss.gaussian(sigma * 0.999, 3.0).delta(epsilon) > delta


def test_the_classical_noise_on_request() -> None:
    assert gaussian_sigma(1.0, 1e-5, classical=True) == pytest.approx(4.8448, abs=1e-4)
    assert gaussian_sigma(1.0, 1e-5) == pytest.approx(3.7306, abs=1e-4)
    with pytest.raises(UsageError):
        gaussian_sigma(30.0, 1e-5, classical=True)


def published(epsilon: float, count: int, cut: int, delta: float) -> tuple[float, float]:
    """Theorem 3.3 of Kairouz et al., word by word."""
    total = (
        sum(
            math.comb(count, lies)
            * (math.exp((count - lies) * epsilon) - math.exp((count - 2 * cut + lies) * epsilon))
            for lies in range(cut)
        )
        / (1 + math.exp(epsilon)) ** count
    )
    return (count - 2 * cut) * epsilon, 1 - (1 - delta) ** count * (1 - total)


@pytest.mark.parametrize("delta", [0.0, 1e-4])
@pytest.mark.parametrize(("epsilon", "count"), [(0.3, 6), (1.0, 11), (0.05, 60)])
def test_the_published_composition(epsilon: float, count: int, delta: float) -> None:
    for cut in range(count // 2 + 1):
        total, exact = published(epsilon, count, cut, delta)
        assert optimal_delta(epsilon, count, total, delta) == pytest.approx(exact, abs=1e-12)
        if exact > 1e-9 + count * delta:
            assert optimal_epsilon(epsilon, count, exact, delta) == pytest.approx(total, abs=1e-6)


def test_a_bound_for_different_mechanisms() -> None:
    epsilons = [0.1] * 50 + [0.3] * 10
    loss = (
        Loss.randomised_response(0.1).repeated(50).then(Loss.randomised_response(0.3).repeated(10))
    )
    for delta in (1e-3, 1e-6):
        assert loss.epsilon(delta) <= composed_epsilon(epsilons, delta) < sum(epsilons)
        assert optimal_epsilon(0.1, 50, delta) <= composed_epsilon([0.1] * 50, delta)
    assert composed_epsilon(epsilons, 0.0) == pytest.approx(8.0)
    assert composed_epsilon([2.0], 1e-6) == pytest.approx(2.0)
    assert optimal_epsilon(0.5, 3, 0.0) == pytest.approx(1.5)
    assert optimal_epsilon(0.01, 2, 0.5) == 0


REFUSED_CALIBRATION: dict[str, Callable[[], object]] = {
    f"{field} {value}": (lambda make=make, value=value: make(value))  # type: ignore[misc]
    for field, make, values in [
        ("epsilon", lambda v: gaussian_sigma(v, 1e-6), (0, -1.0, NAN, INF, 101.0)),
        ("delta", lambda v: gaussian_sigma(1.0, v), (0, -1.0, 1.0, NAN)),
        ("sensitivity", lambda v: gaussian_sigma(1.0, 1e-6, v), (0, -1.0, NAN, INF)),
        ("epsilon", lambda v: optimal_delta(v, 2, 1.0), (0, -1.0, NAN, INF)),
        ("count", lambda v: optimal_delta(1.0, v, 1.0), (0, 1.5, True, 10**7)),
        ("total", lambda v: optimal_delta(1.0, 2, v), (-1.0, NAN, INF)),
        ("delta", lambda v: optimal_delta(1.0, 2, 1.0, v), (-0.1, 1.0, NAN)),
        ("total_delta", lambda v: optimal_epsilon(1.0, 2, v, 1e-3), (0.0, 1e-3, 1.0, NAN)),
        ("epsilons", lambda v: composed_epsilon(v, 1e-6), ([], [0.0], [NAN], [1.0, -1.0])),
        ("delta", lambda v: composed_epsilon([1.0], v), (1.0, -1.0, NAN)),
    ]
    for value in values
}


@pytest.mark.parametrize("name", REFUSED_CALIBRATION)
def test_nonsense_is_not_calibrated(name: str) -> None:
    assert gaussian_sigma(1.0, 1e-6) > 0
    assert composed_epsilon([1.0], optimal_delta(1.0, 2, 1.0, 0.1)) > 0
    with pytest.raises(UsageError) as caught:
        REFUSED_CALIBRATION[name]()
    assert caught.value.field == name.split(maxsplit=1)[0]


@pytest.mark.parametrize("law", [[1, 2, 3, 4, 5], [10**6, 0, 1], [1, 0, 0, 0, 0, 999_999]])
@pytest.mark.parametrize("count", [1, 9, 60])
def test_every_value_is_above_the_exact_one(law: list[int], count: int) -> None:
    """Down to 1e-26 of the whole, where a plain transform has lost everything below 1e-16."""
    part = Repeated(Masses(-2, np.array(law) / sum(law)), count)
    found, exact = sum_of([part], 1e-26), exact_sum(law, count)
    total, missing = Fraction(sum(law)) ** count, Fraction(0)
    for place, mass in enumerate(exact, -2 * count):
        share = Fraction(mass) / total
        if not found.first <= place <= found.last:
            missing += share if place > found.last else 0
            continue
        bound = Fraction(float(found.values[place - found.first])) * (1 + Fraction(found.error))
        assert share <= bound
    assert missing <= Fraction(found.lost)
    top = [float(Fraction(mass) / total) for mass in exact][-3:]
    if found.last == len(exact) - 1 - 2 * count and top[-1] > 1e-24:
        assert found.values[-1] == pytest.approx(top[-1], rel=0.05)


def test_what_parts_lost_is_lost() -> None:
    part = Masses(0, np.array([0.5, 0.49]), error=1e-3, lost=0.01)
    found = sum_of([Repeated(part, 3), Repeated(part, 2)], 1e-26)
    assert 0.05 <= found.lost <= 0.0501
    assert found.error >= 5e-3
    assert sum_of([Repeated(Masses(0, np.zeros(1), lost=0.2), 2)], 1e-26).lost >= 0.4


def test_what_lies_above_the_window_is_lost() -> None:
    part = Repeated(Masses(0, np.full(2, 0.5)), 10_000)
    first, last = window([part], 1e-20)
    assert 4000 < first < last < 6000
    assert sum_of([part], 1e-20).lost >= 1e-20


@pytest.fixture
def longest(monkeypatch: pytest.MonkeyPatch) -> int:
    """Sums may have 256 times fewer values than outside of tests, which saves time."""
    for module in ("fourier", "loss"):
        monkeypatch.setattr(f"gopa.accounting.{module}.LONGEST", LONGEST >> 8)
    return LONGEST >> 8


def test_sums_that_are_too_long_are_refused(longest: int) -> None:
    wide = np.zeros(longest // 4)
    wide[[0, -1]] = 0.5
    assert len(sum_of([Repeated(Masses(0, wide), 2)], 1e-26).values) < longest
    with pytest.raises(UsageError):
        sum_of([Repeated(Masses(0, wide), 9)], 1e-26)


def test_a_loss_that_would_be_too_long_gets_a_coarser_grid(longest: int) -> None:
    values = np.zeros(2**10 + 1)
    values[[0, -1]] = 0.5
    step = 2.0**-12
    found = Loss((LossDistribution(step, Masses(-(2**9), values)),)).repeated(15).repeated(15)
    assert len(found.sides[0].masses.values) < longest
    assert found.sides[0].step > step
    sums = (2 * np.arange(226) - 225) * 2**9 * step
    for epsilon in (0.5, 2.0, 5.0):
        gained = np.maximum(-np.expm1(epsilon - sums), 0)
        exact = float((binom.pmf(np.arange(226), 225, 0.5) * gained).sum())
        assert exact * (1 - 1e-9) <= found.delta(epsilon) <= exact * 1.01


def test_other_grids_keep_what_is_infinite_or_lost() -> None:
    side = LossDistribution(0.1, Masses(0, np.full(4, 0.2), lost=0.05), infinite=0.1)
    other = regridded(side, 0.07)
    assert other.infinite == pytest.approx(0.15)
    assert other.delta(0.15) >= side.delta(0.15)
    assert gridded(Atoms(np.array([1e-30, 0.5]), np.array([9.0, 1.0]), 0.3)).infinite >= 0.3
    nothing = gridded(Atoms(np.zeros(2), np.zeros(2), 0.3))
    assert Loss((nothing,)).repeated(20).delta(1.0) == pytest.approx(1 - 0.7**20)
