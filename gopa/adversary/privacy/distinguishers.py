"""Finds the best tests of one input against another, from what a coalition sees.

By the lemma of Neyman and Pearson no test beats a threshold on the likelihood ratio, at any
rate of false alarms; so every score here is a logarithm of one, exact where the law allows
it. Releases and coordinates are independent given the inputs: their scores add. A score
that is not the ratio only makes the measured bounds weaker, never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from gopa.adversary.privacy.bounds import TrialCounts
from gopa.adversary.privacy.views import Law, Release, Views, Words, World
from gopa.graph.resistance import solve
from gopa.support.arrays import Floats
from wire.errors import UsageError

CERTAIN: Final = 1e6
"""The score of a view that only one of both inputs can give."""

_LARGEST_DENSE: Final = 2000
_RIDGE: Final = 1e-6


class Score(Protocol):
    """The score of a view: grows with how likely it is that the input moved."""

    @property
    def name(self) -> str: ...

    def of(self, views: Views) -> Floats:
        """One number for each view."""


def scores_for(world: World) -> list[Score]:
    """All scores that may be best in this world; which one is, a first sample decides.

    Uniform masks: the total alone, exactly. Otherwise also the whole view: exactly for two
    parties, by the best linear score for more.
    """
    found: list[Score] = [Totals(world)]
    if not world.masks.hides_all:
        found.append(_Sum("whole view", tuple(_best(world, each) for each in world.releases)))
    return found


class Totals:
    """The sum of what the victim and everybody connected with it published, as a score.

    *Optimal where masks are uniform.* Given the total of a component, its values are
    uniform whatever the inputs are (03-V12), and other components do not depend on the
    victim; so the total is sufficient, and the ratio of its laws is that of the view. Its
    law is the law of the noise of all members, and that shifted.
    """

    def __init__(self, world: World) -> None:
        self.name = "total"
        self._change = world.change
        self._parts = [_part(world, release) for release in world.releases]

    def of(self, views: Views) -> Floats:
        total = np.zeros(views[0].shape[-1])
        for values, (members, law) in zip(views, self._parts, strict=True):
            sums = values[members].sum(axis=0, dtype=np.uint64).view(np.int64)
            for row, step in zip(sums, self._change, strict=True):
                total += _log_ratio(law.at(row - step), law.at(row))
        return total


def _part(world: World, release: Release) -> tuple[npt.NDArray[np.int64], Law]:
    members = release.members
    speaking = sum(int(member) not in release.silent for member in members)
    return members, world.noise.total(speaking)


class _OneRelease(Protocol):
    def of(self, values: Words) -> Floats: ...


@dataclass(frozen=True, slots=True)
class _Sum:
    """The sum of scores of single releases."""

    name: str
    parts: tuple[_OneRelease, ...]

    def of(self, views: Views) -> Floats:
        return np.asarray(
            sum(part.of(values) for part, values in zip(self.parts, views, strict=True)),
            dtype=np.float64,
        )


def _best(world: World, release: Release) -> _OneRelease:
    if len(release.members) == 2 and world.masks.deviation:
        return _Pair(world, release)
    return _Linear(world, release)


class _Pair:
    """Two parties and one Gaussian mask: the exact likelihood ratio.

    For inputs (j, 0) the values (y, z) come from a noise e of the victim, the mask y - j - e
    and the noise y + z - j - e of the other, so their chance is the sum over e of
    p(e) D(y - j - e) p(y + z - j - e).
    """

    def __init__(self, world: World, release: Release) -> None:
        self._victim = release.victim
        self._other = next(int(each) for each in release.members if each != release.victim)
        own, other = (
            Law.none() if party in release.silent else world.noise
            for party in (self._victim, self._other)
        )
        self._noise, self._others, self._mask = own, other, world.masks.law()
        self._change = world.change

    def of(self, values: Words) -> Floats:
        own, other = (values[party].view(np.int64) for party in (self._victim, self._other))
        total = np.zeros(values.shape[-1])
        for y, z, step in zip(own, other, self._change, strict=True):
            total += _log_ratio(self._chance(y - step, z), self._chance(y, z))
        return total

    def _chance(self, own: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> Floats:
        found = np.zeros(len(own))
        for noise, chance in zip(self._noise.support, self._noise.chances, strict=True):
            mask = own - noise
            found += chance * self._mask.at(mask) * self._others.at(mask + other)
        return found


class _Linear:
    """w . y with w = S^-1 e_u, S the covariance of the view: noise on the diagonal, sD^2 L.

    *Optimal for normal laws.* Two of them with one covariance S and means d e_u apart have
    the log-ratio d (S^-1 e_u) . y - d^2 theta_u / 2, so the score is sufficient and attains
    the curve of 03-V8. Among all linear scores it has the largest shift per deviation
    for any law with this covariance (Cauchy and Schwarz). Noise tables summed over many
    parties and rounded Gaussian masks are close to normal, so little is left to others.
    """

    def __init__(self, world: World, release: Release) -> None:
        members = release.members
        graph = release.graph.induced(members)
        variances = np.array(
            [0.0 if int(member) in release.silent else world.noise.variance for member in members]
        )
        covariance = graph.laplacian() * world.masks.variance
        covariance.setdiag(covariance.diagonal() + variances + _RIDGE)
        unit = (members == release.victim).astype(float)
        self._weights = _solution(covariance, unit)
        self._members, self._change = members, np.array(world.change, dtype=np.float64)

    def of(self, values: Words) -> Floats:
        signed = values[self._members].view(np.int64)
        along = np.tensordot(self._change, signed, axes=(0, 1))
        return np.asarray(self._weights @ along, dtype=np.float64)


def _solution(covariance: sparse.csr_array, unit: Floats) -> Floats:
    if len(unit) > _LARGEST_DENSE:
        return solve(covariance, unit, tolerance=1e-8)
    found = linalg.solve(covariance.toarray(), unit, assume_a="pos")
    return np.asarray(found, dtype=np.float64)


def _log_ratio(moved: Floats, still: Floats) -> Floats:
    """ln(moved / still); certainty where one is 0, nothing where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(moved) - np.log(still)
    found = np.where((moved > 0) & (still > 0), found, 0.0)
    found += np.where((moved > 0) & (still == 0), CERTAIN, 0.0)
    return found - np.where((moved == 0) & (still > 0), CERTAIN, 0.0)


def all_scores(scores: Sequence[Score], views: Views) -> Floats:
    """A row for each score."""
    return np.stack([score.of(views) for score in scores])


FEWEST_DRAWS: Final = 100

_RANKS: Final = 400

Worth = Callable[[Floats, Floats, float], Floats]
"""The bound that hits and alarms out of so many draws give."""


@dataclass(frozen=True, slots=True)
class ScoreTest:
    """The test "moved" where sign * score reaches a threshold; with -1, that it did not move.

    A claim is about both orders of two inputs, so hits may be counted among either.
    """

    score: int
    sign: int
    threshold: float

    def counts(self, moved: Floats, still: Floats) -> TrialCounts:
        yes, no = (moved, still) if self.sign == 1 else (still, moved)
        hits = self.sign * yes[self.score] >= self.threshold
        alarms = self.sign * no[self.score] >= self.threshold
        return TrialCounts(int(hits.sum()), int(alarms.sum()), yes.shape[1])


def best_test(moved: Floats, still: Floats, counted: int, worth: Worth) -> ScoreTest:
    """The test that would give the best bound if the rates of this sample were the true ones."""
    best, found = -math.inf, ScoreTest(0, 1, math.inf)
    for score in range(len(moved)):
        for sign, yes, no in ((1, moved, still), (-1, still, moved)):
            right, wrong = np.sort(sign * yes[score]), np.sort(sign * no[score])
            cuts = _cuts(right, wrong)
            hits, alarms = (
                (len(each) - np.searchsorted(each, cuts)).astype(np.float64)
                for each in (right, wrong)
            )
            # One more false alarm than was seen: the best of many cuts was lucky.
            scale = counted / len(right)
            values = worth(hits * scale, np.minimum((alarms + 1.0) * scale, counted), counted)
            place = int(np.argmax(values))
            if values[place] > best:
                best, found = float(values[place]), ScoreTest(score, sign, float(cuts[place]))
    return found


def _cuts(right: Floats, wrong: Floats) -> Floats:
    """Thresholds at ranks of both samples, closer together towards the top."""
    ranks = np.unique(np.geomspace(1, len(right), _RANKS).astype(np.int64))
    return np.unique(np.concatenate([right[-ranks], wrong[-ranks], [CERTAIN / 2]]))


def require_enough(draws: int, risk: float) -> None:
    """Refuses too few draws, and a risk that is no probability."""
    if draws < FEWEST_DRAWS:
        raise UsageError(f"must be at least {FEWEST_DRAWS} views", "draws")
    if not 0 < risk < 1:
        raise UsageError("must be a probability above 0 and below 1", "confidence")
