"""What several connected honest parties give away about one, for any law of noise.

The law of the sum of their noise comes from the masses of the law (section 9), and everything
else from that sum, so no law has a part of its own here. The pair (P x N(0, 1), P shifted by
m x N(mu, 1)) dominates what the adversary sees, for all changes of one input by at most m steps
at once: P is the law of the noise in one connected component, mu the price of Gaussian masks (0
for uniform masks).

For single numbers delta comes from Theorem D if there is one release, and from loss distributions
if there are several. A single number has one worst change. A vector may spread a change over its
coordinates in many ways, and in Renyi divergences of one coordinate the worst of them is known: so
delta of vectors comes from these. Specification: `specs/03-privacy.md`, sections 4, 5 and 9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np

from gopa.accounting.convolution import UNIT_ROUNDOFF, Masses
from gopa.accounting.distribution import CUT, LossDistribution, loss_of_gaussian, on_grid
from gopa.accounting.gaussian import delta_of_shift, rdp_delta
from gopa.contract.terms import MOST_PARTIES, check_integer
from gopa.support.arrays import Floats
from wire.errors import UsageError
from zkp.noise import NoiseLaw

BUCKETS_PER_DEVIATION: Final = 600
_HOPELESS: Final = 50.0
"""No epsilon that is ever asked for leaves a delta below one after so many deviations."""


def loss_of_round(noise: Masses, shift: int, mask_mu: float, step: float) -> LossDistribution:
    """Gives the loss distribution of one scalar round: noise and masks together."""
    loss = loss_of_shift(noise, shift, step)
    return loss.then(loss_of_gaussian(mask_mu, step)) if mask_mu else loss


def delta_of_rounds(
    noise: Masses, shift: int, epsilon: float, *, mask_mu: float = 0.0, releases: int = 1
) -> float:
    """Bounds delta after `releases` rounds on the same inputs."""
    if releases == 1:
        return theorem_d(noise, shift, epsilon, mask_mu=mask_mu)
    if _total_mu(noise, shift, mask_mu, releases) > _HOPELESS:
        return 1.0
    found = composed(noise, shift, mask_mu, releases)
    # Everybody counts the same as lost, however they cut.
    lost = max(found.masses.lost, 4 * CUT * releases)
    return replace(found, masses=replace(found.masses, lost=lost)).delta(epsilon)


def composed(noise: Masses, shift: int, mask_mu: float, releases: int) -> LossDistribution:
    """Composes the losses of several rounds, on a grid fine enough for their spread."""
    step = _total_mu(noise, shift, mask_mu, releases) / BUCKETS_PER_DEVIATION
    return loss_of_round(noise, shift, mask_mu, step).repeated(releases)


def _total_mu(noise: Masses, shift: int, mask_mu: float, releases: int) -> float:
    """About how many deviations the change moves all releases together."""
    return math.hypot(shift / math.sqrt(noise.variance), mask_mu) * math.sqrt(releases)


_STRIDE: Final = 20
"""Shifts above this grow by a twentieth: a chord between two is 6e-4 above a parabola."""

_POWERS: Final = (0, -3, -2, -1, 1, 2, 3)
"""Of two: how much further from 1 than the best order for a Gaussian others are."""

_LOG_ERROR: Final = 1e-13
"""Several times the error of the difference of two logarithms of masses."""


def delta_of_vectors(  # noqa: PLR0913 - a target and a law, all named
    noise: Masses,
    squared_sensitivity: int,
    largest_coordinate: int,
    epsilon: float,
    *,
    dimension: int,
    parties: int = 1,
    mask_mu: float = 0.0,
    releases: int = 1,
    narrow: bool = False,
) -> float:
    """Bounds delta for integer vectors, one independent noise per coordinate.

    `parties` is how many draws `noise` is the sum of: rounding is accounted for by it.
    Inputs move by integer vectors of squared length at most `squared_sensitivity`, no
    coordinate by more than `largest_coordinate`. `noise` is log-concave and symmetric.
    `mask_mu` is the price of the masks for the whole vector. `narrow` noise has few outcomes:
    it need not look like a Gaussian, and several orders are tried.
    """
    reach = min(largest_coordinate, math.isqrt(squared_sensitivity))
    if reach >= len(noise.values):
        return 1.0  # some shift leaves no outcome that both laws can have
    variance = noise.variance
    mu_squared = releases * (squared_sensitivity / variance + mask_mu**2)
    coordinate = Coordinate(noise, reach)
    bounds = []
    for order in orders(epsilon, mu_squared, narrow=narrow):
        moments = squared_sensitivity * coordinate.rate(order)
        granted = (2 * order - 1) * granted_rounding(parties)
        moments += dimension * max(granted, coordinate.rounding(order))
        divergence = releases * (moments / (order - 1) + order * mask_mu**2 / 2)
        bounds.append(rdp_delta(epsilon, np.array([order]), np.array([divergence])))
    return min(1.0, min(bounds) + releases * dimension * coordinate.outside)


def granted_rounding(parties: int) -> float:
    """Gives what everybody adds to each log-moment for rounding, times twice the order less one.

    One number for all: were it each program's own, long vectors would be worth different deltas.
    It covers what `Coordinate.rounding` finds.
    """
    return (parties + 32) * 2.0**-44


def require_accountable(epsilon: float, *, dimension: int, parties: int, releases: int) -> None:
    """Refuses targets of which rounding takes half of epsilon or more.

    Beyond that no noise is wide enough.
    """
    granted = 2 * releases * dimension * granted_rounding(parties)
    if dimension > 1 and 2 * granted >= epsilon:
        raise UsageError(
            f"{releases} releases of {dimension} coordinates by {parties} parties cannot be "
            "accounted for: take fewer rounds, shorter vectors or a larger epsilon",
            "dimension",
        )


def orders(epsilon: float, mu_squared: float, *, narrow: bool) -> list[float]:
    """Lists the orders that are tried: the best one for a Gaussian, and others around it."""
    best = best_order(epsilon, mu_squared)
    if not narrow:
        return [best]
    return [1 + (best - 1) * 2.0**power for power in _POWERS]


def best_order(epsilon: float, mu_squared: float) -> float:
    """Computes the best order for Gaussians: where the bound of one has slope zero.

    Every order gives a valid bound.
    """
    linear = mu_squared / 2 + epsilon
    found = (linear + math.sqrt(linear * linear + 4 * mu_squared)) / (2 * mu_squared)
    return max(1.5, found)


def shifts_up_to(reach: int) -> list[int]:
    """Lists all small shifts, some of the others, and `reach` itself."""
    shifts = [1]
    while shifts[-1] < reach:
        shifts.append(min(reach, shifts[-1] + max(1, shifts[-1] // _STRIDE)))
    return shifts


class Coordinate:
    """One coordinate's noise beside its shifts by up to `reach`, on common outcomes.

    Only outcomes that every one of these shifts leaves possible are compared; the mass of
    the others, `outside`, is lost.
    """

    def __init__(self, noise: Masses, reach: int) -> None:
        self._logs: Floats = np.log(noise.values)
        self._reach = reach
        self._error = noise.error
        edge = max(math.fsum(noise.values[:reach]), math.fsum(noise.values[-reach:]))
        self.outside = edge * (1 + noise.error) + noise.lost

    def rate(self, order: float) -> float:
        """The largest log-moment per squared shift, for every shift up to `reach`.

        Log-moments are convex in the shift and at most 0 where nothing is shifted, so between
        those that are computed they lie below a chord.
        """
        points = [(shift, self.log_moment(order, shift)) for shift in shifts_up_to(self._reach)]
        steepest = max(moment / shift**2 for shift, moment in points)
        chords = (_steepest_chord(*left, *right) for left, right in pairwise(points))
        return max(0.0, steepest, *chords) * (1 + 1e-12)

    def log_moment(self, order: float, shift: int) -> float:
        """ln of the sum of P(k)^order P(k - shift)^(1 - order), but for `rounding`."""
        here = self._logs[self._reach :]
        there = self._logs[self._reach - shift : len(self._logs) - shift]
        exponents = (order - 1) * (here - there) + here
        top = float(exponents.max())
        return math.log(float(np.exp(exponents - top).sum())) + top

    def rounding(self, order: float) -> float:
        """How far above a computed log-moment the true one may be."""
        largest = float(-self._logs.min()) * (2 * order + 1)
        enclosure = (2 * order - 1) * -math.log1p(-self._error)
        return enclosure + (2 * order - 1) * _LOG_ERROR + 16 * UNIT_ROUNDOFF * largest + 1e-12


def _steepest_chord(left: int, at_left: float, right: int, at_right: float) -> float:
    """The largest value over its squared place of a straight line, strictly between its ends.

    0 where no integer lies between them, or where one of the ends is steepest.
    """
    slope = (at_right - at_left) / (right - left)
    start = at_left - slope * left
    if right - left == 1 or start >= 0 or slope <= 0:
        return 0.0
    place = min(max(-2 * start / slope, left), right)
    return (start + slope * place) / place**2


_CUT_SHARE: Final = 1e-9
"""Tails that hold this part of delta, shared by all parties, are counted as lost."""

NARROW: Final = 2**14
"""Sums of noise with at most so many outcomes are looked at in more than one order."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """How many honest parties hide an input, how far it moves, and how often it is used.

    `epsilon` is where delta is asked for; `delta` says how small tails have to be to
    matter. `mask_mu` is the price of Gaussian masks, for the whole vector.
    """

    honest: int
    squared_sensitivity: int
    largest_coordinate: int
    dimension: int
    epsilon: float
    delta: float
    mask_mu: float
    releases: int


@lru_cache(maxsize=256)
def delta_of(exposure: Exposure, law: NoiseLaw) -> float:
    """Bounds delta. What is planned and what receivers verify is this one function."""
    noise = noise_sum(law, exposure.honest, exposure.delta * _CUT_SHARE / exposure.honest)
    # Everybody counts the same as lost, however they cut.
    noise = replace(noise, lost=max(noise.lost, 2 * _CUT_SHARE * exposure.delta))
    if exposure.dimension == 1:
        return delta_of_rounds(
            noise,
            math.isqrt(exposure.squared_sensitivity),
            exposure.epsilon,
            mask_mu=exposure.mask_mu,
            releases=exposure.releases,
        )
    return delta_of_vectors(
        noise,
        exposure.squared_sensitivity,
        exposure.largest_coordinate,
        exposure.epsilon,
        dimension=exposure.dimension,
        parties=exposure.honest,
        mask_mu=exposure.mask_mu,
        releases=exposure.releases,
        narrow=2 * exposure.honest * law.radius <= NARROW,
    )


_ORDERS: Final = 6


@lru_cache(maxsize=64)
def epsilon_by_release(exposure: Exposure, law: NoiseLaw, noise_delta: float) -> tuple[float, ...]:
    """Bounds epsilon after each of the releases, all at the delta that they come to in the end.

    Vectors are looked at in few orders, so numbers may lie a little above what was planned; the
    planned epsilon bounds them all.
    """
    many = range(1, exposure.releases + 1)
    if len(many) == 1:
        return (exposure.epsilon,)
    noise = noise_sum(law, exposure.honest, exposure.delta * _CUT_SHARE / exposure.honest)
    if exposure.dimension == 1:
        shift = math.isqrt(exposure.squared_sensitivity)
        losses = (composed(noise, shift, exposure.mask_mu, each) for each in many)
        found = [loss.epsilon(noise_delta) for loss in losses]
        return tuple(min(each, exposure.epsilon) for each in found)
    squared, reach = exposure.squared_sensitivity, exposure.largest_coordinate
    coordinate = Coordinate(noise, min(reach, math.isqrt(squared)))
    lost = max(coordinate.outside, 2 * _CUT_SHARE * exposure.delta) * exposure.dimension
    bend = squared / noise.variance + exposure.mask_mu**2
    # The best order for normal noise, after one release and after all of them.
    widest = math.sqrt(-2 * math.log(noise_delta) / bend)
    ends = 1 + widest / math.sqrt(many[-1]), 1 + widest
    epsilons = np.full(len(many), exposure.epsilon)
    for order in np.geomspace(ends[0], ends[1], min(_ORDERS, len(many))).tolist():
        room = (2 * order - 1) * granted_rounding(exposure.honest)
        moment = squared * coordinate.rate(order)
        moment += exposure.dimension * max(room, coordinate.rounding(order))
        divergence = moment / (order - 1) + order * exposure.mask_mu**2 / 2
        for place, releases in enumerate(many):
            left = noise_delta - releases * lost
            if left > 0:
                added = math.log1p(-1 / order) - math.log(order * left) / (order - 1)
                epsilons[place] = min(epsilons[place], releases * divergence + added)
    return tuple(np.maximum(epsilons, 0.0).tolist())


NEGLIGIBLE: Final = 1e-26
"""Tail mass left out at each doubling; what it adds up to is added to delta."""

MOST_VARIANCE: Final = 2**26
"""A wider sum would take too long, and who receives terms has to evaluate it."""


def single(law: NoiseLaw) -> Masses:
    """Gives one party's noise: the exact integers of the law, each rounded once."""
    total = law.total
    values = np.array([mass / total for mass in law.masses])
    return Masses(-law.radius, values, 2 * UNIT_ROUNDOFF, 0.0)


def most_summed(law: NoiseLaw) -> int:
    """The number of parties whose noise is summed; what holds for them holds for more."""
    return math.floor(MOST_VARIANCE / law.variance)


@lru_cache(maxsize=16)
def noise_sum(law: NoiseLaw, parties: int, cut: float = NEGLIGIBLE) -> Masses:
    """Encloses the noise of `parties` honest parties together, by direct positive convolutions."""
    check_integer(parties, 1, MOST_PARTIES, "parties")
    if parties > most_summed(law):
        raise UsageError("this sum takes too long to account for: use a coarser grid", "noise")
    return single(law).times(parties, cut=cut)


_FEWEST = 1e-300


def theorem_d(noise: Masses, shift: int, epsilon: float, *, mask_mu: float = 0.0) -> float:
    """An upper bound on delta at `epsilon`, for inputs that move by at most `shift` steps.

    `noise` is symmetric or not: both directions are evaluated and the worse is returned
    (they agree for symmetric laws). Everything is rounded upwards: each mass by the
    error of `noise`, each log-ratio by twice that error, and the mass that `noise` leaves
    out is added.
    """
    _check(shift, epsilon, mask_mu)
    if shift == 0:
        return 0.0
    up = _one_direction(noise.values, noise.error, shift, epsilon, mask_mu)
    down = _one_direction(noise.values[::-1], noise.error, shift, epsilon, mask_mu)
    return min(1.0, max(up, down) * (1 + 1e-12) + noise.lost)


def log_ratios(values: Floats, shift: int, error: float) -> tuple[Floats, Floats]:
    """Masses p(k) and upper bounds on ln(p(k) / p(k - shift)); infinite where p(k - shift) = 0.

    Rows too small for a float to hold with full precision count as impossible
    denominators: that only raises the loss.
    """
    shifted = np.zeros(len(values))
    shifted[shift:] = values[: max(0, len(values) - shift)]
    with np.errstate(divide="ignore"):
        safe = np.where(shifted > _FEWEST, shifted, 0.0)
        losses = np.log(values) - np.log(safe) + 2 * error + 1e-13
    return values, np.where(values > 0, losses, -np.inf)


def _one_direction(
    values: Floats, error: float, shift: int, epsilon: float, mask_mu: float
) -> float:
    masses, losses = log_ratios(values, shift, error)
    terms = masses * delta_of_shift(epsilon - losses, mask_mu)
    return math.fsum(terms) * (1 + error)


def _check(shift: int, epsilon: float, mask_mu: float) -> None:
    if type(shift) is not int or shift < 0:
        raise UsageError("a shift is a number of grid steps", "shift")
    if not math.isfinite(epsilon):
        raise UsageError("epsilon is finite", "epsilon")
    if not (math.isfinite(mask_mu) and mask_mu >= 0):
        raise UsageError("mask_mu is a finite number, at least 0", "mask_mu")


def loss_of_shift(noise: Masses, shift: int, step: float) -> LossDistribution:
    """Losses of a symmetric noise law against itself shifted by `shift` steps."""
    masses, losses = log_ratios(noise.values, shift, noise.error)
    finite = np.isfinite(losses) & (masses > 0)
    infinite = math.fsum(masses[~finite]) * (1 + noise.error) + noise.lost
    return on_grid(masses[finite], losses[finite], step, noise.error, infinite)
