"""Draws pairs of users, shares a budget out among them, and says how far their mean is off.

Specification: `specs/23-pairwise.md`, section 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.checks import whole
from gopa.learning.clipping import finite
from gopa.learning.data import Users
from gopa.learning.pairwise.answers import MOST_COINS, PrivateAnswers, WholeKernel
from gopa.learning.pairwise.kernels import Kernel, Places, points_of
from gopa.learning.pairwise.local import exact_variance
from gopa.learning.privacy import Charge, Privacy
from gopa.support.arrays import Floats
from gopa.support.draws import Draws
from gopa.twoparty import laplace_noise, randomised_answer

ROUNDS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""One of these is chosen: around the best one errors hardly differ."""

_MOST_EPSILON: Final = 30.0
"""An answer that is random with a chance of 10^-13 need not be random less often."""

_MOST_POINTS: Final = 4096
"""Of a law; between each two of them the kernel is kept."""

_LEAST_TRUNCATION: Final = Fraction(1, 2**56)


def pairings(kernel: Kernel, labels: npt.ArrayLike, rounds: int, seed: int) -> Places:
    """Disjoint pairs of users, anew in each round; every pair is equally likely.

    All users, but one if they are odd; for public labels the low one stands first, and everybody
    with the rarer label has a partner. Axes: round, pair, both users.
    """
    draws, given = Draws(seed, "pairwise", "pairings"), np.asarray(labels)
    rounds = whole(rounds, "rounds")
    sides = [np.flatnonzero(given < 0), np.flatnonzero(given > 0)]
    many = min(map(len, sides)) if kernel.labels == "public" else len(given) // 2
    if not many:
        raise UsageError("nobody has a partner", "problem")
    if kernel.labels != "public":
        orders = [draws.order(len(given))[: 2 * many].reshape(many, 2) for _ in range(rounds)]
        return np.stack(orders)
    drawn = [[side[draws.order(len(side))[:many]] for side in sides] for _ in range(rounds)]
    return np.array(drawn).transpose(0, 2, 1)


@dataclass(frozen=True, eq=False)
class PublicLaw:
    """What everybody knows about points beforehand: possible ones, and how likely they are."""

    points: Floats
    chances: Floats

    def __post_init__(self) -> None:
        chances = finite(self.chances, "chances")
        if np.shape(self.points) != (len(chances), 2) or not (chances >= 0).all():
            raise UsageError("a number and a label of each point, and its chance", "points")
        if abs(chances.sum() - 1) > 1e-9:
            raise UsageError("chances sum to 1", "chances")

    @classmethod
    def of(cls, public: Users) -> PublicLaw:
        """The law of points that are public: each point of these users alike."""
        points = points_of(public.table)[np.concatenate(public.rows)]
        return cls(points, np.full(len(points), 1 / len(points)))


@dataclass(frozen=True, slots=True)
class PairError:
    """How far a mean of noisy answers is off: the corrected Theorem 3.7, an equality.

    `every` is the variance of the mean over all pairs without noise, `one` that of a pair,
    `pairs` how many there are in a round. Points are independent draws.
    """

    every: float
    one: float
    pairs: int

    @classmethod
    def of(cls, asked: WholeKernel, law: PublicLaw, labels: npt.ArrayLike) -> PairError:
        """The error for users who draw their points from this law."""
        results, low, high = _between(asked, law)
        table, given = asked.values(results), np.asarray(labels)
        asked.kernel.divisor(given)
        if asked.kernel.labels != "public":
            many = len(given)
            each = [exact_variance(low, table, count) for count in (many, 2)]
            return cls(each[0], each[1], many // 2)
        below, above = int((given < 0).sum()), int((given > 0).sum())
        mean = low @ table @ high
        one = low @ table**2 @ high - mean**2
        of_low, of_high = low @ (table @ high) ** 2 - mean**2, (low @ table) ** 2 @ high - mean**2
        every = (one + (above - 1) * of_low + (below - 1) * of_high) / (above * below)
        return cls(float(every), float(one), min(above, below))

    def mean_square(self, rounds: int, noise: float = 0.0) -> float:
        """The expectation of the squared error; `noise` is the variance of that of an answer."""
        of_round = (self.one + noise) / self.pairs
        return self.every + (of_round - self.every) / whole(rounds, "rounds")


def answers_within(
    asked: WholeKernel, privacy: Privacy, rounds: int, *, laplace: bool = False
) -> PrivateAnswers:
    """The least noise with which so many answers about one user are within the privacy together.

    Randomised answers of kernels with two or three values, else (or with `laplace`) discrete
    Laplace noise, which is cut off and needs a delta.

    Raises:
        UsageError: no noise can give this privacy.
    """
    times = whole(rounds, "rounds")
    if not privacy.epsilon <= 100:
        raise UsageError("at most 100", "epsilon")
    low, high = asked.ends
    spans = high - low
    if not (asked.form.degree or laplace):
        each = shared_out(
            privacy, times, lambda epsilon: Charge.randomised_response(epsilon, spans + 1)
        )
        coins = min(20 + math.ceil(1.5 * each + max(0.0, -math.log2(each))), MOST_COINS)
        noise = randomised_answer(spans + 1, min(each, _MOST_EPSILON), coins=coins)
        return PrivateAnswers(asked, noise)
    if spans * times > privacy.epsilon * 2**32:
        raise UsageError("too many for this epsilon: take fewer", "bits")
    truncation = _truncation(privacy, times)
    each = shared_out(
        privacy,
        times,
        lambda epsilon: Charge.discrete_laplace(spans / epsilon, spans),
        lost=float(_factor(privacy) * times * truncation),
    )
    scale = Fraction(spans) / Fraction(min(each, _MOST_EPSILON))
    return PrivateAnswers(asked, laplace_noise(scale, truncation=truncation))


def shared_out(
    privacy: Privacy, times: int, charge: Callable[[float], Charge], lost: float = 0.0
) -> float:
    """The largest epsilon of each of several mechanisms that are within the privacy together.

    By adding up, or by composition of loss distributions where that allows for more; `lost` of
    delta is needed elsewhere.
    """
    low, high = privacy.epsilon / whole(times, "times"), privacy.epsilon
    if times == 1 or privacy.delta <= lost:
        return low
    for _ in range(25):
        middle = (low + high) / 2
        one = charge(middle)
        total = one.pure * times
        if one.has_loss:
            total = min(total, one.loss().repeated(times).epsilon(privacy.delta - lost))
        low, high = (middle, high) if total <= privacy.epsilon * (1 - 1e-9) else (low, middle)
    return low


def best_rounds(
    asked: WholeKernel,
    privacy: Privacy,
    labels: npt.ArrayLike,
    law: PublicLaw | None,
    *,
    laplace: bool = False,
) -> int:
    """How many answers of each user give the least mean square error, among `ROUNDS`.

    By the exact error for a public law of points; without one 1, which is right where least is
    known: see the specification.
    """
    if law is None:
        return 1
    error = PairError.of(asked, law, labels)
    results, low, high = _between(asked, law)
    best, found = 1, math.inf
    for rounds in ROUNDS:
        answers = answers_within(asked, privacy, rounds, laplace=laplace)
        noise = float(low @ answers.variance(results) @ high)
        reached = error.mean_square(rounds, noise)
        if reached < found:
            best, found = rounds, reached
        if reached > 2 * found:
            break
    return best


def _between(asked: WholeKernel, law: PublicLaw) -> tuple[Places, Floats, Floats]:
    """What circuits give for each two possible points, and chances: of low and high labels."""
    if not isinstance(law, PublicLaw):
        raise UsageError("a PublicLaw, such as PublicLaw.of(public_users), or None", "law")
    points, same = np.unique(asked.rounded(law.points), axis=0, return_inverse=True)
    if len(points) > _MOST_POINTS:
        raise UsageError(f"at most {_MOST_POINTS} points that differ: take fewer, or bits", "law")
    chances = np.bincount(same.ravel(), law.chances)
    sides = [np.full(len(points), True)] * 2
    if asked.kernel.labels == "public":
        sides = [points[:, 1] < 0, points[:, 1] > 0]
    low, high = (chances[side] for side in sides)
    if not (low.sum() and high.sum()):
        raise UsageError("points of both labels, 1 and -1", "law")
    one, two = (points[side] for side in sides)
    return asked.results(one[:, None], two[None]), low / low.sum(), high / high.sum()


def _truncation(privacy: Privacy, times: int) -> Fraction:
    """What may be cut off each draw: an eighth of delta in all, and never much."""
    share = Fraction(privacy.delta) / (8 * times * _factor(privacy))
    if share < _LEAST_TRUNCATION:
        raise UsageError("noise in a circuit is cut off: raise delta, or lower epsilon", "delta")
    return min(share, Fraction(1, 2**40))


def _factor(privacy: Privacy) -> int:
    """What the distance of a law to the ideal one is multiplied by in delta; from above."""
    found: int = 1 + 3 ** math.ceil(privacy.epsilon)
    return found
