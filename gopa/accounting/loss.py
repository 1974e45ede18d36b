"""Bounds what mechanisms tell of one row, by themselves and together: `Loss`.

Every delta and epsilon that comes out is at or above the truth for the mechanism that is named.
Derivations and assumptions: `specs/16-accounting.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa.accounting import checks
from gopa.accounting.atoms import (
    PER_DEVIATION,
    Atoms,
    added,
    atoms_of,
    deviation,
    gridded,
    regridded,
    removed,
    replaced,
)
from gopa.accounting.checks import Relation
from gopa.accounting.convolution import Masses
from gopa.accounting.distribution import LossDistribution, any_infinite, loss_of_gaussian
from gopa.accounting.fourier import LONGEST, Repeated, sum_of, window
from wire.errors import UsageError

_CUT = 1e-26
_COARSE = 60
"""Grid points in a deviation that are left before many repetitions."""

_MOST_STEPS = 2**18
"""A discrete law of more steps is put on a coarser grid, which adds 10^-5 of epsilon at most."""

_FEW_STEPS = 2**10

_MANY = 16
_DIRECT = 2**22
"""So many products are computed one by one; more by Fourier transforms."""

Mass: TypeAlias = int | Fraction | float
Table: TypeAlias = Sequence[Mass] | npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Loss:
    """How much one row can change what is seen: with it against without it, and back.

    `sides` are the loss distributions of both directions, or of one where they are alike.
    `relation` says what neighbours are; None where that is left to whoever gives a sensitivity.
    """

    sides: tuple[LossDistribution, ...]
    relation: Relation | None = None

    @classmethod
    def gaussian(cls, sigma: float, sensitivity: float = 1.0) -> Loss:
        """Normal noise of deviation `sigma` on a vector that moves by `sensitivity` in length."""
        mu = checks.positive(sensitivity, "sensitivity") / checks.positive(sigma, "sigma")
        _require_sane(mu, 1e-6, 100.0, "sigma")
        return cls((loss_of_gaussian(mu, mu / PER_DEVIATION),))

    @classmethod
    def laplace(cls, scale: float, sensitivity: float = 1.0) -> Loss:
        """Laplace noise on every coordinate of a vector that moves by `sensitivity` in L1."""
        epsilon = checks.positive(sensitivity, "sensitivity") / checks.positive(scale, "scale")
        _require_sane(epsilon, 1e-6, 500.0, "scale")
        points = math.ceil(PER_DEVIATION * max(1.0, epsilon / 2))
        step = epsilon / points
        starts = np.arange(-points, points) * step
        between = np.exp((starts - epsilon) / 2) * (math.expm1(step / 2) / 2)
        above = 1 / (1 + math.exp(-step / 2)) + 1e-9
        values = np.zeros(2 * points + 1)
        values[:-1] = between * (1 - above)
        values[1:] += between * above
        values[0] += math.exp(-epsilon) / 2
        values[-1] += 0.5
        return cls((LossDistribution(step, Masses(-points, values, 1e-12)),))

    @classmethod
    def discrete_laplace(cls, scale: float | Fraction, sensitivity: int = 1) -> Loss:
        """Discrete Laplace noise on integers that move by `sensitivity` in all, as it is drawn.

        It tells more than Laplace noise of the same scale: up to all of epsilon on a coarse grid.
        """
        steps, width = checks.whole(sensitivity, 1, "sensitivity"), checks.positive(scale, "scale")
        _require_sane(steps / width, 1e-6, 500.0, "scale")
        while steps > _MOST_STEPS:
            steps, width = (steps + 1) // 2, width / 2
        places = np.arange(steps + 1, dtype=np.float64)
        masses = np.exp(-places / width)
        masses[1:-1] *= -math.expm1(-1 / width)
        masses /= 1 + math.exp(-1 / width)
        step = (1 + 1e-15) / width
        if steps > _FEW_STEPS:
            return cls((gridded(Atoms(masses, (steps - 2 * places) * step, 0.0, 1e-12)),))
        values = np.zeros(2 * steps + 1)
        values[::-2] = masses
        return cls((LossDistribution(step, Masses(-steps, values, 1e-12)),))

    @classmethod
    def randomised_response(cls, epsilon: float, k: int = 2) -> Loss:
        """The true one of `k` answers, or another: e^epsilon to 1 the odds against each other one.

        With two answers no mechanism of the same epsilon tells more.
        """
        _require_sane(checks.positive(epsilon, "epsilon"), 1e-9, 500.0, "epsilon")
        others = checks.whole(k, 2, "k") - 1
        lie = math.exp(-epsilon) / (1 + others * math.exp(-epsilon))
        truth = 1 / (1 + others * math.exp(-epsilon))
        values = np.array([lie, (others - 1) * lie, truth])
        return cls((LossDistribution(epsilon, Masses(-1, values, 1e-14)),))

    @classmethod
    def of_tables(cls, p: Table, q: Table) -> Loss:
        """Two laws on the same outcomes: what comes out with a row, and without it.

        Integers and fractions are taken exactly, in any unit that both share.
        """
        if len(p) != len(q) or not len(p):
            raise UsageError("both tables list the same outcomes, at least one", "q")
        if isinstance(p, np.ndarray) and isinstance(q, np.ndarray) and p.dtype.kind == "f":
            return cls(_without_copy(_of_floats(p, q), _of_floats(q, p)))
        exact = all(isinstance(each, (int, Fraction, np.integer)) for each in (*p, *q))
        of_p, of_q = _total(p, "p"), _total(q, "q")
        if abs(of_p - of_q) > (0 if exact else of_p / 10**9):
            raise UsageError("both tables have the same total", "q")
        return cls(_without_copy(_of_tables(p, q, of_p, of_q), _of_tables(q, p, of_q, of_p)))

    @classmethod
    def one_of(cls, chances: npt.ArrayLike, losses: Sequence[Loss]) -> Loss:
        """One of several mechanisms, drawn by chance and not by the data; which one is seen."""
        weights = [checks.share(each, "chances") for each in np.asarray(chances, dtype=np.float64)]
        if len(weights) != len(losses) or abs(math.fsum(weights) - 1) > 1e-9:
            raise UsageError("a chance for each loss, and together they are 1", "chances")
        if len({each.relation for each in losses}) > 1:
            raise UsageError("all losses are of the same kind of neighbours", "relation")
        both = range(max(len(each.sides) for each in losses))
        drawn = [[atoms_of(each.sides[side % len(each.sides)]) for each in losses] for side in both]
        return cls(tuple(gridded(_weighted(weights, each)) for each in drawn), losses[0].relation)

    def subsampled(self, rate: float, relation: Relation = "add-remove") -> Loss:
        """The mechanism on a sample that every row is in with chance `rate`, for itself.

        The sensitivity of the mechanism is that to one row more or less, whatever `relation` says:
        replacing a row removes one and adds one.
        """
        checks.share(rate, "rate")
        checks.relation(relation)
        if self.relation == "replace-one":
            raise UsageError("sample first: this loss is that of rows replaced", "relation")
        present, absent = atoms_of(self.sides[0]), atoms_of(self.sides[-1])
        if relation == "replace-one":
            return Loss((gridded(replaced(present, absent, rate)),), relation)
        return Loss((gridded(removed(present, rate)), gridded(added(absent, rate))), relation)

    def sampled_without_replacement(self, rate: float) -> Loss:
        """The mechanism on a sample of fixed size, that part `rate` of all rows; rows are replaced.

        The sensitivity of the mechanism is that to one row replaced.
        """
        checks.share(rate, "rate")
        if self.relation == "add-remove" or len(self.sides) > 1:
            raise UsageError("needs a loss that is the same both ways, of rows replaced")
        return Loss((gridded(removed(atoms_of(self.sides[0]), rate)),), "replace-one")

    def then(self, other: Loss) -> Loss:
        """Both mechanisms on the same data, the second chosen after seeing the first."""
        if not isinstance(other, Loss):
            raise UsageError("a loss composes with a loss", "other")
        relation = self.relation or other.relation
        if other.relation not in {None, relation}:
            raise UsageError("both losses are of the same kind of neighbours", "relation")
        pairs = zip(*_both(self.sides, other.sides), strict=True)
        return Loss(tuple(_then(one, two) for one, two in pairs), relation)

    def repeated(self, count: int) -> Loss:
        """The mechanism `count` times on the same data, with fresh randomness each time."""
        times = checks.whole(count, 1, "count")
        if times == 1:
            return self
        return Loss(tuple(_repeated(side, times) for side in self.sides), self.relation)

    def charged(self, delta: float) -> Loss:
        """The same, but anything is told with chance `delta`: for tables that were cut off."""
        probability = checks.probability(delta, "delta")
        sides = (
            LossDistribution(
                side.step, side.masses, any_infinite([(side, 1)]) * (1 - probability) + probability
            )
            for side in self.sides
        )
        return Loss(tuple(sides), self.relation)

    def delta(self, epsilon: float) -> float:
        """An upper bound on the delta at `epsilon`."""
        wanted = checks.not_negative(epsilon, "epsilon")
        return max(side.delta(wanted) for side in self.sides)

    def epsilon(self, delta: float) -> float:
        """An upper bound on the epsilon at `delta`; infinite if no number is enough.

        Raises:
            UsageError: `delta` is 0 and some outcome gives a row away, or may do so as far as
                can be computed.
        """
        wanted = checks.probability(delta, "delta")
        found = max(side.epsilon(wanted) for side in self.sides)
        if wanted == 0 and found == math.inf:
            raise UsageError("no finite epsilon is known with a delta of 0: raise it", "delta")
        return found

    def __repr__(self) -> str:
        kind = f", {self.relation}" if self.relation else ""
        return f"<Loss: epsilon {self.epsilon(1e-6):.4g} at delta 1e-6{kind}>"


def _weighted(weights: Sequence[float], parts: Sequence[Atoms]) -> Atoms:
    pairs = list(zip(weights, parts, strict=True))
    return Atoms(
        np.concatenate([weight * each.masses for weight, each in pairs]),
        np.concatenate([each.losses for each in parts]),
        math.fsum(weight * each.infinite for weight, each in pairs) * (1 + 2e-9),
        max(each.error for each in parts) + 2e-9,
    )


def _require_sane(ratio: float, least: float, most: float, field: str) -> None:
    if not least <= ratio <= most:
        raise UsageError(
            f"cannot be accounted for: {ratio:g} is not in {least:g} .. {most:g}", field
        )


def _total(table: Table, field: str) -> Fraction:
    for each in table:
        checks.not_negative(_plain(each), field)
    total = sum((Fraction(each) for each in map(_plain, table)), Fraction(0))
    if total == 0:
        raise UsageError("some outcome has a mass", field)
    return total


def _plain(mass: Mass) -> Mass:
    return mass.item() if isinstance(mass, np.generic) else mass


def _of_tables(p: Table, q: Table, of_p: Fraction, of_q: Fraction) -> LossDistribution:
    masses, losses, infinite = [], [], 0.0
    totals = math.log(of_q / of_p)
    for one, two in zip(map(_plain, p), map(_plain, q), strict=True):
        mass = float(Fraction(one) / of_p)
        if one and two:
            masses.append(mass)
            losses.append(_log(one) - _log(two) + totals)
        else:
            infinite += mass
    error = 1e-14 + len(masses) * 2.0**-52
    return gridded(Atoms(np.array(masses), np.array(losses), infinite * (1 + error), error))


def _of_floats(p: npt.NDArray[Any], q: npt.NDArray[Any]) -> LossDistribution:
    """The same for arrays of floats, whose sums have rounding errors."""
    if not all(np.isfinite(each).all() and (each >= 0).all() and each.any() for each in (p, q)):
        raise UsageError("masses are finite and not negative, and not all 0", "p")
    of_p, of_q = math.fsum(p), math.fsum(q)
    if abs(of_p - of_q) > of_p / 10**9:
        raise UsageError("both tables have the same total", "q")
    both, error = (p > 0) & (q > 0), 1e-14 + len(p) * 2.0**-52
    losses = np.log(p[both]) - np.log(q[both]) + math.log(of_q / of_p)
    infinite = float(p[(p > 0) & ~both].sum()) / of_p
    return gridded(Atoms(p[both] / of_p, losses, infinite * (1 + error), error))


def _log(mass: Mass) -> float:
    if isinstance(mass, Fraction):
        return math.log(mass.numerator) - math.log(mass.denominator)
    return math.log(mass)


def _without_copy(
    first: LossDistribution, second: LossDistribution
) -> tuple[LossDistribution, ...]:
    same = (
        first.step == second.step
        and first.infinite == second.infinite
        and first.masses.first == second.masses.first
        and np.array_equal(first.masses.values, second.masses.values)
    )
    return (first,) if same else (first, second)


def _both(
    one: tuple[LossDistribution, ...], two: tuple[LossDistribution, ...]
) -> tuple[tuple[LossDistribution, ...], tuple[LossDistribution, ...]]:
    """The sides of each in the same number; a single side stands for both directions."""
    sides = max(len(one), len(two))
    return one * (sides // len(one)), two * (sides // len(two))


def _then(one: LossDistribution, two: LossDistribution) -> LossDistribution:
    spread = math.hypot(deviation(one), deviation(two)) / PER_DEVIATION
    fine, coarse = sorted((one.step, two.step))
    step = max(fine, min(coarse, spread))
    one, two = _on(one, two, step)
    if len(one.masses.values) * len(two.masses.values) <= _DIRECT:
        return one.then(two)
    return _summed([(one, 1), (two, 1)])


def _on(
    one: LossDistribution, two: LossDistribution, step: float
) -> tuple[LossDistribution, LossDistribution]:
    """Both on the grid of `step`, or on a coarser one if one of them has to be."""
    while True:
        left, right = regridded(one, step), regridded(two, step)
        if left.step == right.step:
            return left, right
        step = max(left.step, right.step)


def _repeated(side: LossDistribution, count: int) -> LossDistribution:
    step = side.step
    if count >= _MANY:
        step = max(step, deviation(side) / _COARSE)
    coarse = regridded(side, step)
    while _too_long(coarse, count):
        coarse = regridded(side, coarse.step * 2)
    return _summed([(coarse, count)])


def _too_long(side: LossDistribution, count: int) -> bool:
    if not side.masses.values.any():
        return False
    first, last = window([Repeated(side.masses, count)], _CUT)
    return last - first >= LONGEST


def _summed(parts: Sequence[tuple[LossDistribution, int]]) -> LossDistribution:
    masses = sum_of([Repeated(side.masses, count) for side, count in parts], _CUT)
    return LossDistribution(parts[0][0].step, masses, any_infinite(parts))
