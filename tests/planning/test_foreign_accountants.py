"""Our curves beside those of dp-accounting and OpenDP, which only soak runs install."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gopa.accounting.distribution import loss_of_gaussian
from gopa.accounting.gaussian import gaussian_delta, zcdp_delta
from gopa.planning.exposure import composed, noise_sum
from zkp.noise import GaussianTable

pytestmark = pytest.mark.soak


@pytest.mark.parametrize(("mu", "epsilon"), [(0.0242, 0.1), (0.5, 1.0), (1.0, 2.0), (0.1, 0.3)])
def test_the_gaussian_curve(mu: float, epsilon: float) -> None:
    from dp_accounting.pld import privacy_loss_mechanism

    foreign = privacy_loss_mechanism.GaussianPrivacyLoss(1 / mu).get_delta_for_epsilon(epsilon)
    assert gaussian_delta(epsilon, mu) == pytest.approx(foreign, rel=1e-6, abs=0)


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


@pytest.mark.parametrize("count", [1, 4, 16])
def test_loss_distributions_of_gaussians(count: int) -> None:
    from dp_accounting.pld import privacy_loss_distribution

    mu, epsilon = 0.2, 0.8
    foreign = privacy_loss_distribution.from_gaussian_mechanism(
        1 / mu, value_discretization_interval=1e-4
    ).self_compose(count)
    ours = loss_of_gaussian(mu, mu / 600).repeated(count).delta(epsilon)
    assert ours == pytest.approx(foreign.get_delta_for_epsilon(epsilon), rel=5e-3, abs=0)


@pytest.mark.parametrize(("rho", "epsilon"), [(0.01, 0.5), (0.1, 2.0), (0.5, 4.0)])
def test_zcdp_conversion(rho: float, epsilon: float) -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    measurement = dp.m.make_gaussian(*space, scale=1 / math.sqrt(2 * rho))
    approximate = dp.c.make_zCDP_to_approxDP(measurement)
    foreign = approximate.map(1).delta(epsilon)
    assert zcdp_delta(epsilon, rho) == pytest.approx(foreign, rel=1e-3, abs=0)
