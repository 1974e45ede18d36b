"""Delta of all releases of a plan, for scalars and for vectors.

Scalars: theorem D for one release, loss distributions for several. Vectors: Renyi
divergences of one coordinate, because the worst way to spread a change over the
coordinates is then known. Specification: `specs/03-privacy.md`, sections 4 to 6 and 9.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gopa.planning.convolution import Floats, Masses
from gopa.planning.gaussian import rdp_delta
from gopa.planning.loss import LossDistribution, loss_of_gaussian, loss_of_shift
from gopa.planning.round_privacy import theorem_d
from wire.errors import UsageError

BUCKETS_PER_DEVIATION: Final = 600
_MOST_WORK: Final = 4e9
_HOPELESS: Final = 50.0
"""No epsilon that is ever asked for leaves a delta below one after so many deviations."""


def loss_of_round(noise: Masses, shift: int, mask_mu: float, step: float) -> LossDistribution:
    """The loss distribution of one scalar round: noise and masks together."""
    loss = loss_of_shift(noise, shift, step)
    return loss.then(loss_of_gaussian(mask_mu, step)) if mask_mu else loss


def delta_of_rounds(
    noise: Masses, shift: int, epsilon: float, *, mask_mu: float = 0.0, releases: int = 1
) -> float:
    """An upper bound on delta after `releases` rounds on the same inputs."""
    if releases == 1:
        return theorem_d(noise, shift, epsilon, mask_mu=mask_mu)
    if _total_mu(noise, shift, mask_mu, releases) > _HOPELESS:
        return 1.0
    return composed(noise, shift, mask_mu, releases).delta(epsilon)


def composed(noise: Masses, shift: int, mask_mu: float, releases: int) -> LossDistribution:
    """The loss distribution of several rounds, on a grid fine enough for their spread."""
    step = _total_mu(noise, shift, mask_mu, releases) / BUCKETS_PER_DEVIATION
    return loss_of_round(noise, shift, mask_mu, step).repeated(releases)


def _total_mu(noise: Masses, shift: int, mask_mu: float, releases: int) -> float:
    """About how many deviations the change moves all releases together."""
    return math.hypot(shift / math.sqrt(_variance(noise)), mask_mu) * math.sqrt(releases)


def delta_of_vectors(  # noqa: PLR0913 - a target and a law, all named
    noise: Masses,
    squared_sensitivity: int,
    largest_coordinate: int,
    epsilon: float,
    *,
    dimension: int,
    mask_mu: float = 0.0,
    releases: int = 1,
) -> float:
    """An upper bound on delta for integer vectors, one independent noise per coordinate.

    Inputs move by integer vectors of squared length at most `squared_sensitivity`, no
    coordinate by more than `largest_coordinate`. With R(j) the Renyi divergence of one
    coordinate, the total is at most squared_sensitivity * max_j R(j) / j^2.
    `mask_mu` is the price of the masks for the whole vector.
    """
    reach = min(largest_coordinate, math.isqrt(squared_sensitivity))
    if reach >= len(noise.values):
        return 1.0  # some shift leaves no outcome that both laws can have
    mu_squared = releases * (squared_sensitivity / _variance(noise) + mask_mu**2)
    centre = max(1.5, epsilon / mu_squared + 0.5)
    orders = 1 + (centre - 1) * np.geomspace(0.5, 2.0, 9)
    if reach * len(noise.values) * len(orders) > _MOST_WORK:
        raise UsageError("this vector plan takes too long to account for: use a coarser grid")
    rates = np.zeros(len(orders))
    for shift in range(1, reach + 1):
        rates = np.maximum(rates, _renyi(noise, shift, orders) / shift**2)
    divergences = releases * (squared_sensitivity * rates + orders * mask_mu**2 / 2)
    outside = _outside(noise, reach)
    return min(1.0, rdp_delta(epsilon, orders, divergences) + releases * dimension * outside)


def _renyi(noise: Masses, shift: int, orders: Floats) -> Floats:
    """Renyi divergences of the law and its shift, over the outcomes both can have.

    What lies outside carries mass `_outside`, counted as lost.
    """
    values = noise.values
    logs = np.log(values[shift:])
    ratios = logs - np.log(values[:-shift]) + 2 * noise.error + 1e-13
    exponents = (orders[:, None] - 1) * ratios + logs
    top = exponents.max(axis=1, keepdims=True)
    sums = np.log(np.exp(exponents - top).sum(axis=1)) + top[:, 0] + noise.error + 1e-12
    return np.asarray(np.maximum(sums, 0.0) / (orders - 1))


def _outside(noise: Masses, reach: int) -> float:
    """Mass that a shift by up to `reach` moves off the support, with what was cut away."""
    edge = max(math.fsum(noise.values[:reach]), math.fsum(noise.values[-reach:]))
    return edge * (1 + noise.error) + noise.lost


def _variance(noise: Masses) -> float:
    index = np.arange(noise.first, noise.last + 1, dtype=float)
    return float((noise.values * index * index).sum() / noise.values.sum())
