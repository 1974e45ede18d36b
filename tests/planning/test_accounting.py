"""Curves, convolutions and loss distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.thesis import classical_deviation
from gopa.accounting.convolution import Masses, convolve
from gopa.accounting.distribution import LossDistribution, loss_of_gaussian
from gopa.accounting.gaussian import (
    central_deviation,
    check_target,
    gaussian_delta,
    gaussian_mu,
    zcdp_delta,
)
from gopa.planning.noise.exposure import (
    composed,
    delta_of_rounds,
    delta_of_vectors,
    loss_of_shift,
    noise_sum,
    theorem_d,
)
from gopa.planning.noise.rows import exponential_sums
from tests.pace import examples
from tests.planning.exact import delta_of_view, noise_view
from tests.planning.samples import exact_sum, log_concave, sum_of
from wire.errors import UsageError
from zkp.noise import GaussianTable, binomial

SMALL = GaussianTable.with_scale(2, bits=30, rows=21)


@pytest.mark.parametrize("parties", [1, 2, 3, 7, 20])
def test_the_enclosure_holds_the_exact_sum(parties: int) -> None:
    enclosed = noise_sum(SMALL, parties, 1e-60)
    exact = exact_sum(SMALL.masses, parties)
    radius = SMALL.radius * parties
    total = SMALL.total**parties
    missing = Fraction(0)
    for value, mass in zip(range(-radius, radius + 1), exact, strict=True):
        if not enclosed.first <= value <= enclosed.last:
            missing += Fraction(mass, total)
            continue
        computed = Fraction(float(enclosed.values[value - enclosed.first]))
        assert abs(computed - Fraction(mass, total)) <= computed * Fraction(enclosed.error)
    assert missing <= Fraction(enclosed.lost)


@settings(deadline=None, max_examples=examples(15))
@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(0, 2**32 - 1))
def test_blocks_convolve_like_loops(left: int, right: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = generator.random(left) ** 20, generator.random(right) ** 20
    assert np.allclose(convolve(first, second), np.convolve(first, second), rtol=1e-11, atol=0)


def test_tails_that_are_cut_are_counted() -> None:
    whole = noise_sum(SMALL, 50, 1e-200)
    cut = noise_sum(SMALL, 50, 1e-6)
    assert len(cut.values) < len(whole.values)
    assert math.fsum(whole.values) - math.fsum(cut.values) <= cut.lost <= 1e-4
    for epsilon in (0.01, 0.1, 0.5):
        assert theorem_d(cut, 4, epsilon) >= theorem_d(whole, 4, epsilon) * (1 - 1e-9)


def test_the_documented_deviations() -> None:
    assert central_deviation(0.1, 1e-7) == pytest.approx(41.33, abs=0.005)
    assert classical_deviation(0.1, 1e-8) == pytest.approx(61.06, abs=0.005)


@given(st.floats(0.01, 5), st.floats(0.01, 5))
def test_zcdp_of_a_gaussian_is_weaker_than_its_curve(epsilon: float, mu: float) -> None:
    assert zcdp_delta(epsilon, mu * mu / 2) >= gaussian_delta(epsilon, mu) * (1 - 1e-9)


@given(st.floats(0.01, 8), st.floats(-25, -0.5))
def test_mu_and_delta_are_inverse(epsilon: float, exponent: float) -> None:
    delta = 10**exponent
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(epsilon, mu) <= delta
    assert gaussian_delta(epsilon, mu * 1.001) > delta


def test_a_table_with_many_parties_is_nearly_gaussian() -> None:
    table = GaussianTable.with_scale(8)
    mu = 20 / (8 * 100)
    bound = theorem_d(noise_sum(table, 10_000), 20, 0.1)
    assert bound == pytest.approx(gaussian_delta(0.1, mu), rel=1e-3)


def test_masks_and_noise_add_like_gaussians() -> None:
    table = GaussianTable.with_scale(8)
    mu, mask_mu = 20 / (8 * 100), 0.012
    bound = theorem_d(noise_sum(table, 10_000), 20, 0.1, mask_mu=mask_mu)
    assert bound == pytest.approx(gaussian_delta(0.1, math.hypot(mu, mask_mu)), rel=2e-3)


@pytest.mark.parametrize("releases", [1, 2, 5, 50])
def test_composition_is_above_and_near_the_gaussian_limit(releases: int) -> None:
    noise = noise_sum(binomial(256), 2000)
    mu, mask_mu = 30 / (8 * math.sqrt(2000)), 0.02
    bound = composed(noise, 30, mask_mu, releases).delta(1.0)
    limit = gaussian_delta(1.0, math.hypot(mu, mask_mu) * math.sqrt(releases))
    assert limit * 0.99 <= bound <= limit * 1.02 + 1e-20


def test_one_release_by_losses_is_barely_above_the_direct_bound() -> None:
    noise = noise_sum(SMALL, 30)
    direct = delta_of_rounds(noise, 5, 0.5, mask_mu=0.1)
    losses = composed(noise, 5, 0.1, 1).delta(0.5)
    assert direct <= losses * (1 + 1e-9) <= direct * 1.001


@pytest.mark.parametrize("seed", range(5))
def test_two_releases_are_enumerated(seed: int) -> None:
    """Two rounds with the same input are one view with two coordinates that move together."""
    generator = np.random.default_rng(seed)
    law = log_concave(generator, 3)
    epsilon = float(generator.uniform(0.1, 1.5))
    view = noise_view(law, 2, 13)
    moved = np.roll(view, (2, 2), axis=(0, 1))
    exact = float(np.maximum(view - math.exp(epsilon) * moved, 0).sum())
    bound = composed(sum_of(law, 1), 2, 0.0, 2).delta(epsilon)
    assert exact <= bound + 1e-12
    assert bound <= exact + 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_vectors_are_enumerated(seed: int) -> None:
    """Every way to move two coordinates within the length stays below the bound."""
    generator = np.random.default_rng(seed)
    law = np.asarray(SMALL.masses, dtype=float) / SMALL.total
    parties, epsilon = 4, float(generator.uniform(0.3, 2))
    total = sum_of(law, parties)
    square = np.multiply.outer(total.values, total.values)
    padded = np.pad(square, 4)
    bound = delta_of_vectors(total, 9, 3, epsilon, dimension=2)
    for move in ((3, 0), (2, 2), (2, 1), (0, 3), (1, 1)):
        moved = np.roll(padded, move, axis=(0, 1))
        exact = float(np.maximum(padded - math.exp(epsilon) * moved, 0).sum())
        assert exact <= bound


@pytest.mark.parametrize("mu", [0.05, 0.3, 2.0])
def test_gaussian_losses_stay_above_the_curve_far_out(mu: float) -> None:
    """Down to where the last bucket ends, and beyond it."""
    loss = loss_of_gaussian(mu, mu / 300)
    for deviations in np.linspace(-2, 13, 61):
        epsilon = mu * mu / 2 + float(deviations) * mu
        if epsilon > 0:
            assert loss.delta(epsilon) >= gaussian_delta(epsilon, mu) * (1 - 1e-9)


def test_what_losses_leave_out_is_counted() -> None:
    cut = LossDistribution(0.1, Masses(0, np.array([0.5, 0.4]), lost=0.1), infinite=0.01)
    assert cut.delta(5.0) == pytest.approx(0.11)
    assert cut.epsilon(0.1) == math.inf
    twice = cut.then(LossDistribution(0.1, Masses(0, np.array([0.7])), infinite=0.3))
    assert twice.infinite == pytest.approx(1 - 0.99 * 0.7)
    assert cut.repeated(3).infinite == pytest.approx(1 - 0.99**3)
    noise = Masses(-1, np.array([0.2, 0.5, 0.2]), error=1e-6, lost=0.1)
    shifted = loss_of_shift(noise, 1, 0.05)
    assert shifted.infinite == pytest.approx(0.2 + 0.1, rel=1e-5)
    assert shifted.masses.error > 1e-6


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("mask_mu", [0.0, 0.3])
def test_every_measure_within_an_enclosure_is_covered(seed: int, mask_mu: float) -> None:
    """The true masses may be anywhere within the stated relative error."""
    generator = np.random.default_rng(seed)
    law, error = log_concave(generator, 4), 0.02
    bound = theorem_d(Masses(-4, law, error, 0.0), 2, 0.6, mask_mu=mask_mu)
    for _ in range(20):
        true = law * (1 + error * generator.choice([-1.0, 1.0], len(law)))
        assert theorem_d(Masses(-4, true), 2, 0.6, mask_mu=mask_mu) <= bound


def geometric(ratio: float, radius: int) -> Masses:
    """Two-sided geometric noise: Renyi divergences grow more slowly than squares."""
    law = ratio ** np.abs(np.arange(-radius, radius + 1, dtype=float))
    return Masses(-radius, law / law.sum())


def test_many_small_moves_may_be_worse_than_one_large() -> None:
    noise = geometric(0.7, 60)
    small = delta_of_vectors(noise, 16, 1, 3.0, dimension=16)
    assert delta_of_vectors(noise, 16, 4, 3.0, dimension=16) >= small > 0


@pytest.mark.parametrize("mu", [0.2, 0.5, 1.0])
def test_masks_of_vectors_are_no_better_than_a_gaussian(mu: float) -> None:
    """Next to noise so wide that only the masks tell anything."""
    wide = noise_sum(GaussianTable.with_scale(30, bits=60, rows=401), 4000)
    for epsilon in (0.5, 1.0, 2.0):
        found = delta_of_vectors(wide, 1, 1, epsilon, dimension=1, mask_mu=mu)
        assert gaussian_delta(epsilon, mu) <= found


@pytest.mark.parametrize("releases", [1, 3])
def test_what_a_vector_moves_off_the_support_is_lost(releases: int) -> None:
    noise = sum_of(np.array([0.25, 0.5, 0.25]), 2)
    found = delta_of_vectors(noise, 2, 1, 60.0, dimension=5, releases=releases)
    assert found >= releases * 5 * float(noise.values[-1])
    cut = Masses(noise.first, noise.values, lost=0.01)
    assert delta_of_vectors(cut, 2, 1, 60.0, dimension=5) >= found / releases + 0.04


def test_losses_refuse_two_grids_and_count_impossible_outcomes() -> None:
    loss = loss_of_shift(noise_sum(SMALL, 1), 21, 0.01)
    assert loss.infinite > 1e-6
    assert loss.epsilon(1e-12) == math.inf
    with pytest.raises(UsageError):
        loss.then(loss_of_gaussian(0.1, 0.02))
    assert loss.then(loss_of_gaussian(0.1, 0.01)).delta(1.0) >= loss.delta(1.0)


def test_epsilon_inverts_delta() -> None:
    loss = loss_of_gaussian(0.3, 0.0005)
    epsilon = loss.epsilon(1e-5)
    assert loss.delta(epsilon) <= 1e-5
    assert loss.delta(epsilon - 1e-3) > 1e-5
    assert gaussian_delta(epsilon, 0.3) == pytest.approx(1e-5, rel=1e-2)


@pytest.mark.parametrize(
    ("shift", "epsilon", "mask_mu"), [(-1, 1.0, 0.0), (1, math.inf, 0.0), (1, 1.0, -0.1)]
)
def test_nonsense_is_refused(shift: int, epsilon: float, mask_mu: float) -> None:
    theorem_d(noise_sum(SMALL, 2), 1, 1.0)
    with pytest.raises(UsageError):
        theorem_d(noise_sum(SMALL, 2), shift, epsilon, mask_mu=mask_mu)


def test_what_no_curve_is_about_is_refused() -> None:
    loss = loss_of_gaussian(0.3, 0.001)
    assert loss.epsilon(0.9) == 0.0
    assert loss.repeated(1).delta(0.5) >= loss.delta(0.5) * (1 - 1e-9)
    assert zcdp_delta(1.0, 0.0) == 0.0
    assert gaussian_mu(1e-3, 1e-10) > 0
    check_target(1, 1e-5)
    wrong: list[Callable[[], object]] = [
        lambda: loss.repeated(0),
        lambda: loss.repeated(True),
        lambda: loss_of_gaussian(0.0, 0.001),
        lambda: loss_of_gaussian(math.inf, 0.001),
        lambda: loss_of_gaussian(0.3, 1e-9),
        lambda: loss_of_shift(noise_sum(SMALL, 1), 1, 1e-9),
        lambda: zcdp_delta(-1.0, 0.1),
        lambda: zcdp_delta(1.0, -0.1),
        lambda: gaussian_mu(1e-20, 1e-30),
    ]
    for each in wrong:
        with pytest.raises(UsageError):
            each()
    for delta in (0, 1, 1e-31, math.nan, "1e-5"):
        with pytest.raises(UsageError) as caught:
            check_target(1, delta)  # type: ignore[arg-type]
        assert caught.value.field == "delta"


def test_masses_know_their_place() -> None:
    assert Masses(-3, np.ones(7)).last == 3
    assert delta_of_view(noise_view(np.ones(3) / 3, 1, 9), 0, 0, 0.0) == 0


@pytest.mark.soak
@pytest.mark.parametrize(("mu", "epsilon"), [(0.0242, 0.1), (0.5, 1.0), (1.0, 2.0), (0.1, 0.3)])
def test_the_gaussian_curve(mu: float, epsilon: float) -> None:
    from dp_accounting.pld import privacy_loss_mechanism

    foreign = privacy_loss_mechanism.GaussianPrivacyLoss(1 / mu).get_delta_for_epsilon(epsilon)
    assert gaussian_delta(epsilon, mu) == pytest.approx(foreign, rel=1e-6, abs=0)


@pytest.mark.soak
@pytest.mark.parametrize("releases", [1, 2, 8])
def test_loss_distributions_of_rounds(releases: int) -> None:
    from dp_accounting.pld import privacy_loss_distribution

    noise = noise_sum(GaussianTable.with_scale(8), 500)
    shift, epsilon = 30, 1.0
    index = np.arange(noise.first, noise.last + 1)
    with np.errstate(divide="ignore"):
        logs = np.log(noise.values)
    lower = dict(zip(index.tolist(), logs.tolist(), strict=True))
    upper = dict(zip((index + shift).tolist(), logs.tolist(), strict=True))
    foreign = privacy_loss_distribution.from_two_probability_mass_functions(
        log_probability_mass_function_lower=lower,
        log_probability_mass_function_upper=upper,
        value_discretization_interval=2e-4,
        pessimistic_estimate=True,
    ).self_compose(releases)
    ours = composed(noise, shift, 0.0, releases).delta(epsilon)
    assert ours == pytest.approx(foreign.get_delta_for_epsilon(epsilon), rel=5e-3, abs=0)


@pytest.mark.soak
@pytest.mark.parametrize("count", [1, 4, 16])
def test_loss_distributions_of_gaussians(count: int) -> None:
    from dp_accounting.pld import privacy_loss_distribution

    mu, epsilon = 0.2, 0.8
    foreign = privacy_loss_distribution.from_gaussian_mechanism(
        1 / mu, value_discretization_interval=1e-4
    ).self_compose(count)
    ours = loss_of_gaussian(mu, mu / 600).repeated(count).delta(epsilon)
    assert ours == pytest.approx(foreign.get_delta_for_epsilon(epsilon), rel=5e-3, abs=0)


@pytest.mark.soak
@pytest.mark.parametrize(("rho", "epsilon"), [(0.01, 0.5), (0.1, 2.0), (0.5, 4.0)])
def test_zcdp_conversion(rho: float, epsilon: float) -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    measurement = dp.m.make_gaussian(*space, scale=1 / math.sqrt(2 * rho))
    approximate = dp.c.make_zCDP_to_approxDP(measurement)
    foreign = approximate.map(1).delta(epsilon)
    assert zcdp_delta(epsilon, rho) == pytest.approx(foreign, rel=1e-3, abs=0)


def added_up(weights: np.ndarray, angles: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    turns = np.multiply.outer(numbers.astype(np.longdouble), angles.astype(np.longdouble))
    parts = np.mod(turns, 2 * np.arccos(np.longdouble(-1)))
    return np.asarray((weights * np.exp(1j * parts.astype(np.float64))).sum(axis=1))


@pytest.mark.parametrize("exponent", [1, 2, 8])
@pytest.mark.parametrize(("first", "last"), [(0, 4000), (4000, 4007), (16_000, 64_000)])
def test_they_are_what_adding_up_gives(exponent: int, first: int, last: int) -> None:
    source = np.random.default_rng(exponent)
    weights, angles = source.random(500), 7.0 * source.random(500) ** exponent
    weights /= weights.sum()
    found = exponential_sums(weights, angles, first, last)
    assert len(found) == last - first
    numbers = np.unique(np.linspace(first, last - 1, 40).round().astype(np.int64))
    expected = added_up(weights, angles, numbers)
    # A double has 2^-53 of k times the angle.
    room = 2.0**-48 + 2.0**-53 * 7 * last
    assert np.abs(found[numbers - first] - expected).max() < room
    # And none of them is one of its neighbours.
    assert np.abs(found[numbers - first][1:] - expected[:-1]).max() > 1000 * room


def test_one_value_turns_around() -> None:
    found = exponential_sums(np.ones(1), np.array([np.pi / 2]), 0, 8)
    assert np.allclose(found, [1, 1j, -1, -1j, 1, 1j, -1, -1j], rtol=0, atol=1e-14)
