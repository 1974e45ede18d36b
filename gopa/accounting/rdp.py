"""Bounds what mechanisms tell by Renyi divergences, as functions of the order: `Rdp`.

Looser than `Loss`, but it covers mechanisms whose worst pair of laws nobody knows, and those that
run for a random time. Derivations: `specs/16-accounting.md`, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from gopa.accounting import checks
from gopa.accounting.atoms import Atoms, atoms_of
from gopa.accounting.checks import Relation
from gopa.accounting.gaussian import SLACK
from gopa.accounting.loss import Loss
from gopa.support.arrays import Floats
from wire.errors import UsageError

Curve: TypeAlias = Callable[[Floats], Floats]

_LEAST, _MOST = 1e-6, 1e8
"""How far above 1 orders are looked for."""

_BLOCK = 2**20
_RELATIVE = 1 + 1e-10
"""Above the rounding of every curve here."""

_LOG_PI: Final = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True, eq=False)
class Rdp:
    """A bound on the Renyi divergence of every order above 1, in both directions."""

    curve: Curve = field(repr=False)

    def rdp(self, orders: npt.ArrayLike) -> Floats:
        """The divergence at each of `orders`."""
        given = np.atleast_1d(np.asarray(orders, dtype=np.float64))
        if not (np.isfinite(given).all() and (given > 1).all()):
            raise UsageError("orders are finite and above 1", "orders")
        return np.maximum(self.curve(given), 0.0)

    @classmethod
    def gaussian(cls, sigma: float, sensitivity: float = 1.0) -> Rdp:
        """Normal noise of deviation `sigma` on a vector that moves by `sensitivity` in length."""
        ratio = checks.positive(sensitivity, "sensitivity") / checks.positive(sigma, "sigma")
        return cls(lambda orders: orders * (ratio * ratio / 2 * _RELATIVE))

    @classmethod
    def laplace(cls, scale: float, sensitivity: float = 1.0) -> Rdp:
        """Laplace noise on every coordinate of a vector that moves by `sensitivity` in L1."""
        epsilon = checks.positive(sensitivity, "sensitivity") / checks.positive(scale, "scale")

        def curve(orders: Floats) -> Floats:
            up = np.log(orders / (2 * orders - 1)) + (orders - 1) * epsilon
            down = np.log((orders - 1) / (2 * orders - 1)) - orders * epsilon
            rounding = 4e-16 * (1 + orders * epsilon)
            return np.minimum((np.logaddexp(up, down) + rounding) / (orders - 1), epsilon)

        return cls(curve)

    @classmethod
    def randomised_response(cls, epsilon: float, k: int = 2) -> Rdp:
        """The true one of `k` answers, or another: e^epsilon to 1 against each other one."""
        return cls.of_loss(Loss.randomised_response(epsilon, k))

    @classmethod
    def of_loss(cls, loss: Loss) -> Rdp:
        """The divergences of a loss; infinite where some of it is, as in cut off normal tails."""
        sides = [atoms_of(side) for side in loss.sides]

        def curve(orders: Floats) -> Floats:
            each = [[_of_atoms(side, order) for order in orders] for side in sides]
            return np.asarray(np.max(each, axis=0))

        return cls(curve)

    @classmethod
    def sampled_gaussian(
        cls,
        sigma: float,
        sensitivity: float,
        rate: float,
        relation: Relation = "add-remove",
    ) -> Rdp:
        """Normal noise on the sum of a sample that every row is in with chance `rate`.

        `sensitivity` is the length of one row's share, whatever `relation` says.
        """
        mu = checks.positive(sensitivity, "sensitivity") / checks.positive(sigma, "sigma")
        part = checks.share(rate, "rate")
        checks.relation(relation)
        if mu > 100:
            raise UsageError("cannot be accounted for: above a hundredth of the length", "sigma")
        pair = _moved(part, mu), (_moved(part, -mu) if relation == "replace-one" else _normal)
        pairs = (pair,) if relation == "replace-one" else (pair, pair[::-1])
        # The nearest zero of either density is at least pi/mu off the real line.
        step = min(0.1, 0.3 / mu)

        def curve(orders: Floats) -> Floats:
            each = [_by_trapezoids(pairs, order, mu, step) for order in orders]
            return np.array(each)

        return cls(curve)

    def then(self, other: Rdp) -> Rdp:
        """Both mechanisms on the same data, the second chosen after seeing the first."""
        if not isinstance(other, Rdp):
            raise UsageError("divergences compose with divergences: take Rdp.of_loss", "other")
        return Rdp(lambda orders: (self.curve(orders) + other.curve(orders)) * _RELATIVE)

    def repeated(self, count: int) -> Rdp:
        """The mechanism `count` times on the same data, with fresh randomness each time."""
        times = checks.whole(count, 1, "count")
        return Rdp(lambda orders: times * self.curve(orders))

    def over_horizon(self, weights: npt.ArrayLike, scales: npt.ArrayLike) -> Rdp:
        """A mechanism that stops at random: case i has chance weights[i] and scales[i] of this.

        Whether it stops must not depend on the data. The curve of case i is scales[i] times this
        curve, as with noise of 1/scales[i] times the variance. The chances sum to 1: add what lies
        behind the last case to it, which is safe where scales fall.
        """
        chances = np.asarray(weights, dtype=np.float64)
        parts = np.asarray(scales, dtype=np.float64)
        if chances.ndim != 1 or chances.shape != parts.shape or not len(chances):
            raise UsageError("there are as many scales as weights, at least one", "scales")
        if not (np.isfinite(chances).all() and (chances >= 0).all()):
            raise UsageError("chances are not negative", "weights")
        if abs(float(chances.sum()) - 1) > 1e-9:
            raise UsageError("chances sum to 1", "weights")
        if not (np.isfinite(parts).all() and (parts >= 0).all()):
            raise UsageError("scales are finite and not negative", "scales")
        held = chances > 0
        logs, parts = np.log(chances[held]), parts[held]

        def curve(orders: Floats) -> Floats:
            inner = (orders - 1) * self.curve(orders)
            size = max(1, _BLOCK // len(parts))
            found = np.empty(len(orders))
            for start in range(0, len(orders), size):
                rows = slice(start, start + size)
                found[rows] = logsumexp(logs + np.multiply.outer(inner[rows], parts), axis=1)
            return (found + 2e-9) / (orders - 1) * _RELATIVE

        return Rdp(curve)

    def epsilon(self, delta: float) -> float:
        """An upper bound on the epsilon at `delta`, at the best order."""
        return self.at(delta)[0]

    def at(self, delta: float) -> tuple[float, float]:
        """The epsilon at `delta`, and the order that shows it."""
        chance = checks.probability(delta, "delta")
        if chance == 0:
            raise UsageError("divergences show nothing with a delta of 0: raise it", "delta")

        def bounds(orders: Floats) -> Floats:
            tail = np.log1p(-1 / orders) - (math.log(chance) + np.log(orders)) / (orders - 1)
            return np.asarray(self.rdp(orders) + tail)

        order, found = _least(bounds)
        return max(0.0, found + SLACK * (1 + abs(found))), order

    def delta(self, epsilon: float) -> float:
        """An upper bound on the delta at `epsilon`, at the best order."""
        wanted = checks.not_negative(epsilon, "epsilon")

        def bounds(orders: Floats) -> Floats:
            tail = (orders - 1) * np.log1p(-1 / orders) - np.log(orders)
            return np.asarray((orders - 1) * (self.rdp(orders) - wanted) + tail)

        found = _least(bounds)[1]
        return math.exp(min(0.0, found + SLACK * (1 + abs(found))))


def _least(bounds: Callable[[Floats], Floats]) -> tuple[float, float]:
    """The order with the least bound, and the bound: a grid of orders, made finer around it."""
    orders = 1 + np.geomspace(_LEAST, _MOST, 57)
    for _ in range(4):
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.nan_to_num(bounds(orders), nan=math.inf, posinf=math.inf)
        best = int(np.argmin(values))
        low, high = orders[max(0, best - 1)], orders[min(best + 1, len(orders) - 1)]
        found = float(orders[best]), float(values[best])
        orders = 1 + np.geomspace(low - 1, high - 1, 13)
    return found


def _of_atoms(side: Atoms, order: float) -> float:
    if side.infinite > 0:
        return math.inf
    return float(logsumexp(np.log(side.masses) + (order - 1) * side.losses)) / (order - 1)


def _normal(places: Floats) -> Floats:
    return -places * places / 2 - _LOG_PI


def _moved(rate: float, mu: float) -> Curve:
    """ln of the density of a normal law that is moved by `mu` with chance `rate`."""

    def log_density(places: Floats) -> Floats:
        moved = _normal(places - mu) + math.log(rate)
        return moved if rate == 1 else np.logaddexp(_normal(places) + math.log1p(-rate), moved)

    return log_density


def _by_trapezoids(
    pairs: Sequence[tuple[Curve, Curve]], order: float, mu: float, step: float
) -> float:
    """The larger divergence; for analytic densities the trapezoidal rule errs by e^-60 or so."""
    reach, step = order * mu + 14, step / math.sqrt(1 + order / 8)
    count = math.ceil(2 * reach / step)
    if count > _BLOCK:
        return math.inf
    places: Floats = (np.arange(count + 1, dtype=np.float64) - count / 2) * step
    found = -math.inf
    for first, second in pairs:
        other = second(places)
        exponents = other + order * (first(places) - other)
        found = max(found, float(logsumexp(exponents)) + math.log(step))
    return (found * _RELATIVE + 1e-12) / (order - 1)
