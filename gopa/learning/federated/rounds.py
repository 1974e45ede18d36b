"""Takes the weighted mean of clipped updates in one verified sum; weights stay private.

A vector of a round is the update, shortened to a bound and multiplied by its weight, beside it
the weight, and beside that how many were not shortened. Only sums of these become known.
Specification: `specs/22-federated.md`, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import Aggregator, Result, UsageError
from gopa.learning.checks import number
from gopa.learning.clipping import clip, finite, length
from gopa.learning.federated.setting import require_room
from gopa.learning.privacy import Unit
from gopa.support.arrays import Floats

_SIDE: Final = 0.25
"""How far the coordinates of weight and clipping reach, against 1 of the update."""


@dataclass(frozen=True, slots=True)
class RoundShape:
    """What users send: an update of `width` numbers, and what stands beside it.

    Weights go up to `most`; with `weighted` off all weights count as `most`. `adaptive` asks, in
    the same sum, which part of the updates was not shortened. With unit "record" an update is the
    mean of vectors of single records, and its weight how many these are, which everybody may
    know of the neighbours that are not told apart.
    """

    width: int
    most: float = 1.0
    weighted: bool = True
    adaptive: bool = False
    unit: Unit = "user"

    def __post_init__(self) -> None:
        if not (self.width >= 1 and 0 < self.most < math.inf):
            raise UsageError("a width of at least 1, and a largest weight above 0", "shape")
        if self.unit == "record" and not self.weighted:
            # One record of few would move the mean by more than one of `most`.
            raise UsageError("means of records are weighted by how many they are", "weighted")

    @property
    def dimension(self) -> int:
        """How many numbers a vector of a round has: at least two, else it would have no length."""
        return max(2, self.width + self.weighted + self.adaptive)

    @property
    def half(self) -> float:
        """Half of the largest distance of two vectors that are not to be told apart."""
        beside = self.adaptive + (self.weighted and self.unit == "user")
        whole = math.sqrt(1 + beside * (_SIDE / 2) ** 2)
        return whole if self.unit == "user" else whole / self.most

    @property
    def vouched(self) -> bool:
        """Whether vectors may be longer than `half`."""
        return self.unit == "record"

    def vectors(
        self, updates: npt.ArrayLike, weights: npt.ArrayLike, bound: float, kept: npt.ArrayLike
    ) -> list[Floats]:
        """One vector for each user, of updates that are no longer than `bound`."""
        shares = np.asarray(weights, dtype=np.float64) / self.most if self.weighted else 1.0
        found = finite(updates, "updates")
        shares = np.broadcast_to(shares, len(found))
        if not ((shares >= 0) & (shares <= 1)).all():
            raise UsageError(f"weights are from 0 to the largest one, {self.most:g}", "weights")
        if not (length(found, 2) <= bound).all():
            raise UsageError("updates are no longer than the bound: shorten them", "updates")
        whole = np.asarray(kept, dtype=np.float64)
        if not ((whole >= 0) & (whole <= 1)).all():
            raise UsageError("a part from 0 to 1", "kept")
        parts = [found / bound * shares[:, None]]
        if self.weighted:
            parts.append(_SIDE * (shares - 0.5)[:, None])
        if self.adaptive:
            parts.append((_SIDE * shares * (whole - 0.5))[:, None])
        vectors = np.zeros((len(found), self.dimension))
        vectors[:, : self.width + self.weighted + self.adaptive] = np.concatenate(parts, axis=1)
        return list(vectors)

    def read(self, total: Floats, stderr: float, count: int, bound: float) -> RoundTotal:
        """What a sum of such vectors says."""
        place, weight, blur = self.width, self.most * count, 0.0
        if self.weighted:
            weight = self.most * (float(total[place]) / _SIDE + count / 2)
            blur = self.most * stderr / _SIDE
            place += 1
        kept = None
        if self.adaptive:
            there = min(max(weight, blur), self.most * count) / self.most
            kept = min(max(float(total[place]) / _SIDE / there + 0.5, 0.0), 1.0)
        scale = bound * self.most
        return RoundTotal(
            scale * total[: self.width], scale * stderr, weight, blur, self.most, count, kept
        )


_LEAST: Final = 1e-12
"""Nobody's weight at all gives no update, and no division by nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class RoundTotal:
    """The sum of weight times update and the sum of weights, each with its standard error.

    `kept` is the part of the updates that was not shortened, where that was asked for.
    `shortened` of them were; a simulation knows it, between processes every user of its own.
    """

    total: Floats
    stderr: float
    weight: float
    weight_stderr: float
    most: float
    count: int
    kept: float | None
    shortened: int = 0
    result: Result | None = None

    @property
    def mean(self) -> Floats:
        """The weighted mean: of a noisy sum of weights that is small, rather a too short one."""
        return np.asarray(self.total / self.divisor(*self.share))

    def divisor(self, part: float, stderr: float) -> float:
        """What the sum is divided by, if the mean weight is this part of the largest one."""
        return self.most * self.count * min(max(part, stderr, _LEAST), 1.0)

    @property
    def share(self) -> tuple[float, float]:
        """The mean weight as a part of the largest one, and its standard error."""
        whole = self.most * self.count
        return self.weight / whole, self.weight_stderr / whole


class Summing(Protocol):
    """Sums vectors in a verified round: any `gopa.Aggregator` does."""

    def sum(self, values: Sequence[Any]) -> Result:
        """The result of one round over these values."""


def mean_round(  # noqa: PLR0913 - what a round is about
    aggregator: Summing,
    shape: RoundShape,
    updates: npt.ArrayLike,
    weights: npt.ArrayLike = 1.0,
    *,
    bound: float,
    kept: npt.ArrayLike | None = None,
) -> RoundTotal:
    """The weighted mean of one update for each user here, in one round of any aggregator of `gopa`.

    Its plan is for `shape.dimension` numbers in the range from -1 to 1, with `shape.half` as the
    norm; `shape.vouched` is for the aggregator, too. Updates longer than `bound` are shortened to
    it, and counted. Where an update is the mean of vectors of records, which were shortened before,
    `kept` says of which part that was not needed.

    >>> import gopa
    >>> from gopa.learning.federated import RoundShape, mean_round
    >>> shape = RoundShape(2, most=10)
    >>> plan = gopa.plan(
    ...     n=3, epsilon=None, corrupt=1, dropout=0.0, dimension=3, range=(-1, 1), norm=shape.half
    ... )
    >>> with gopa.LocalAggregator(plan, mode="off") as aggregator:
    ...     found = mean_round(
    ...         aggregator, shape, [[1, 0], [0, 0], [0, 9]], [10, 0, 5], bound=3
    ...     )
    >>> found.mean.round(3).tolist(), found.shortened
    ([0.667, 1.0], 1)
    """
    # Where nothing is vouched for the aggregator itself holds vectors to the norm.
    if shape.vouched and isinstance(aggregator, Aggregator):
        require_room(aggregator, shape.dimension, shape.half)
    given = finite(updates, "updates")
    weighed = np.broadcast_to(np.asarray(weights, dtype=np.float64), len(given))
    whole = length(given, 2) <= bound if kept is None else np.asarray(kept)
    result = aggregator.sum(shape.vectors(clip(given, 2, bound), weighed, bound, whole))
    found = shape.read(
        np.asarray(result.sum), float(np.max(result.sum_stderr)), result.count, bound
    )
    shortened = round(float(((1 - whole) * (1 if kept is None else weighed)).sum()))
    return replace(found, shortened=shortened, result=result)


@dataclass(frozen=True, slots=True)
class AdaptiveClip:
    """A quantile of the lengths of updates, followed by the steps of Andrew et al. (2021).

    How many updates were not shortened is asked in the same sum and with the same noise, so it is
    charged with it. After a round in which a part b was not, the bound is multiplied by
    exp(-rate (b - quantile)).
    """

    bound: float = 1.0
    quantile: float = 0.5
    rate: float = 0.2

    def __post_init__(self) -> None:
        require_bound(self.bound)
        if not (0 < self.quantile < 1 and 0 < self.rate < math.inf):
            raise UsageError("a quantile between 0 and 1, and a rate above 0", "clip")

    def after(self, bound: float, kept: float) -> float:
        """The bound of the next round."""
        return bound * math.exp(-self.rate * (kept - self.quantile))


Clipping: TypeAlias = float | AdaptiveClip | None
"""A number is the bound of all rounds; None, without noise, shortens nothing."""


def require_bound(bound: float, beside: str = "") -> float:
    """Refuses what is no length to shorten updates to; the error says what there is `beside`."""
    if not 0 < number(bound, "clip") < math.inf:
        raise UsageError(f"a finite length above 0{beside}", "clip")
    return bound
