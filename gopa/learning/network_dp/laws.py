"""Computes what walking hides: by how much noise a share is covered when it is seen, by chance.

Normal noise of deviation s on i steps covers a share that moves by D as one normal draw with
shift D / (s sqrt(i)) does. Over several visits 1/i adds up; the path is random and may be known.
Derivations: `specs/13-network-dp.md`, sections 2 to 4 and 6.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from gopa import UsageError
from gopa.accounting import Loss, Rdp, gaussian_sigma
from gopa.learning.checks import whole
from gopa.learning.clocks import Steps
from gopa.support.arrays import Floats

_POINTS: Final = 2**13
_LONGEST: Final = 2**21
_SLACK: Final = 1e-9
_TAIL: Final = 1e-15
_BINS: Final = 1.02
_ROUNDING: Final = 1e-12
"""More than sums of `_POINTS` products err by."""

_FEW: Final = 40


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The share 1/i of the noise of one step with which a visit is covered, by chance.

    Whatever is left of the chances belongs to the smallest share.
    """

    chances: Floats
    shares: Floats

    def __post_init__(self) -> None:
        if not ((self.shares > 0) & (self.shares <= 1)).all() or (self.chances < 0).any():
            raise UsageError("chances, and shares above 0 and at most 1", "shares")
        if abs(float(self.chances.sum()) - 1) > _SLACK:
            raise UsageError("chances sum to 1", "chances")

    @classmethod
    def after(cls, chances: Floats) -> Shares:
        """Seen after 1, 2, .. steps with these chances."""
        return cls(chances, 1 / np.arange(1.0, len(chances) + 1))

    def thinned(self) -> Shares:
        """Fewer cases, spread to both ends of bins: convex functions of the share only grow."""
        logs = -np.log(self.shares) / math.log(_BINS)
        low = np.floor(logs)
        # The share falls from top to end over a bin.
        top, end = _BINS**-low, _BINS ** -(low + 1)
        part = np.clip((self.shares - end) / (top - end), 0.0, 1.0)
        index = low.astype(np.int64)
        chances = np.zeros(int(index.max()) + 2)
        np.add.at(chances, index, self.chances * part)
        np.add.at(chances, index + 1, self.chances * (1 - part))
        return Shares(chances, _BINS ** -np.arange(len(chances), dtype=np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class WalkLaw:
    """What a coalition learns of a user: chances of the noise that covers its visits.

    The first visit has the shares `first`, the others `later`, and there are `cap` of them at most.
    Both are kept with few cases, for `rdp`; the law of their sum is on a grid.
    """

    first: Shares
    later: Shares
    cap: int
    _step: float
    _masses: Floats
    _lost: float

    @classmethod
    def of(cls, first: Shares, later: Shares, cap: int) -> WalkLaw:
        """The law of the sum of shares, on a grid, rounded up."""
        whole(cap, "cap")
        thin = first.thinned(), later.thinned()
        # Each visit is rounded up, by less than a step.
        step = min(float(cap), _reach(*thin, cap)) / (_POINTS - 1 - min(cap, _POINTS // 2))
        one = _gridded(first, step)
        if cap > 1:
            one = _sum(one, _power(_gridded(later, step), cap - 1))
        return cls(*thin, cap, step, *one)

    def delta(self, epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
        """An upper bound on the delta at `epsilon`, for noise `sigma` in every step."""
        if not (0 <= epsilon < math.inf and 0 < sigma < math.inf and 0 < sensitivity < math.inf):
            raise UsageError("noise above 0, and an epsilon that is not below it", "sigma")
        sums = np.arange(1.0, len(self._masses)) * (self._step * (1 + _ROUNDING))
        mu = np.sqrt(sums) * (sensitivity / sigma)
        first = log_ndtr(mu / 2 - epsilon / mu)
        second = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        gap = np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))
        # The error of both logarithms, relative to the larger mass.
        rounding = _ROUNDING * np.exp(first) * (1 + np.abs(first) + np.abs(second))
        found = float((self._masses[1:] * np.minimum(gap + rounding, 1.0)).sum())
        return min(1.0, found * (1 + _ROUNDING * self.cap) + self._lost)

    def epsilon(self, delta: float, sigma: float, sensitivity: float = 1.0) -> float:
        """An upper bound on the epsilon at `delta`; the better one of this law and `rdp`."""
        by_orders = self.rdp(sigma, sensitivity).epsilon(delta)

        def keeps(epsilon: float) -> bool:
            return self.delta(epsilon, sigma, sensitivity) <= delta

        if not keeps(by_orders):
            return by_orders
        return 0.0 if keeps(0.0) else least(keeps, 0.0, by_orders)

    def sigma(self, epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
        """The least noise in every step that keeps epsilon and delta, rounded up."""
        known = self.sigma_by_orders(epsilon, delta, sensitivity)

        def keeps(sigma: float) -> bool:
            return self.delta(epsilon, sigma, sensitivity) <= delta

        return least(keeps, known / 8, known) if keeps(known) else known

    def rdp(self, sigma: float, sensitivity: float = 1.0) -> Rdp:
        """The Renyi divergences, which need no grid: better for many visits."""
        noise = Rdp.gaussian(sigma, sensitivity)
        first = noise.over_horizon(self.first.chances, self.first.shares)
        if self.cap == 1:
            return first
        later = noise.over_horizon(self.later.chances, self.later.shares)
        return first.then(later.repeated(self.cap - 1))

    def sigma_by_orders(self, epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
        """The least noise by `rdp`, rounded up: the numbers of the thesis's own proof."""
        if not (0 < epsilon < math.inf and 0 < delta < 1):
            raise UsageError("an epsilon above 0, and a delta above 0 and below 1", "epsilon")
        local = math.sqrt(self.cap) * sensitivity * 10 * (1 + math.log(1 / delta)) / epsilon

        def keeps(sigma: float) -> bool:
            return self.rdp(sigma, sensitivity).epsilon(delta) <= epsilon

        return least(keeps, local * 1e-6, local + sensitivity)


def gaps(users: int, colluders: int = 1, steps: Steps | None = None) -> Shares:
    """A visit until the token comes to a colluder, or to the user itself again.

    By step i with chance p (1 - p)^(i - 1), p = (colluders + 1) / users. Steps that fall in
    length leave less noise behind: i is then the sum of squares relative to the first one's.
    """
    chances, _ = spacings(colluder_chance(users, colluders), colluders)
    if steps is None or not steps.power:
        return Shares.after(chances)
    squares = steps(np.arange(1, len(chances) + 1)) ** 2
    return Shares(chances, np.minimum(squares[0] / np.cumsum(squares), 1.0))


def sgd_law(users: int, cap: int, colluders: int = 1, steps: Steps | None = None) -> WalkLaw:
    """A token that walks on the complete graph with a model, by projected noisy gradient steps."""
    shares = gaps(users, colluders, steps)
    return WalkLaw.of(shares, shares, cap)


def sum_law(users: int, cap: int, colluders: int = 1) -> WalkLaw:
    """A token that walks on the complete graph with a sum: noise before a visit counts as well.

    That is so where a colluder had it last, and not the user.
    """
    first, later = spacings(colluder_chance(users, colluders), colluders)
    return WalkLaw.of(Shares.after(first), Shares.after(later), cap)


def ring_epsilon(  # noqa: PLR0913 - what a ring is
    delta: float,
    sigma: float,
    sensitivity: float,
    *,
    users: int,
    rounds: int,
    colluders: int = 1,
    distributed: bool = False,
) -> float:
    """What is learned of the numbers that a user adds on a ring; infinite if they may be bare."""
    colluder_chance(users, colluders)
    if colluders > 1 and not distributed:
        return math.inf
    noise = sigma / math.sqrt(users - 1) if colluders > 1 else sigma
    return Loss.gaussian(noise, sensitivity * math.sqrt(whole(rounds, "rounds"))).epsilon(delta)


def any_path_epsilon(  # noqa: PLR0913 - what limits a path
    delta: float,
    sigma: float,
    sensitivity: float,
    *,
    cap: int,
    edge_cap: int,
    colluders: int = 1,
) -> float:
    """What is learned on the worst path, where an edge is used before noise only is added.

    A share is seen with no more than its own noise at the end of such an edge, and at the end.
    """
    seen = whole(edge_cap, "edge_cap") * (whole(colluders, "colluders") + 1) + 1
    bare = min(whole(cap, "cap"), seen)
    shift = sensitivity * math.sqrt(bare + (cap - bare) / 2)
    return Loss.gaussian(sigma, shift).epsilon(delta)


def graph_law(
    transitions: Floats,
    cap: int,
    pairs: Sequence[tuple[int, Sequence[int]]] | None = None,
    *,
    published: bool = True,
) -> WalkLaw:
    """A token that walks on a graph with a model: the worst of pairs of a user and a coalition.

    By default of all pairs of users, and a little worse than any: for each number of steps the
    largest chance that the token is seen within them. If the last token is published, one visit is
    charged as if it were seen at once.
    """
    users, found = len(transitions), [0.0]
    if pairs is None:
        if users > _FEW:
            raise UsageError(f"at most {_FEW} users: all pairs are looked at", "graph")
        pairs = [(user, (other,)) for user, other in itertools.permutations(range(users), 2)]
    meet = np.zeros((len(pairs), users), dtype=bool)
    for row, (user, others) in enumerate(pairs):
        inside = all(0 <= each < users for each in (user, *others))
        if not others or user in others or not inside:
            raise UsageError("a user, and others than that", "pairs")
        meet[row, [user, *others]] = True
    at = transitions[[user for user, _ in pairs]]
    while len(found) < _LONGEST >> 8 and found[-1] < 1 - _TAIL:
        at = np.where(meet, 0.0, at)
        found.append(max(found[-1], float(1 - at.sum(axis=1).min())))
        at = at @ transitions
    # What is seen later than that counts as if it were seen then.
    shares = Shares.after(np.diff([*found[:-1], 1.0]))
    bare = Shares(np.ones(1), np.ones(1))
    return WalkLaw.of(bare if published else shares, shares, whole(cap, "cap") + published)


def colluder_chance(users: int, colluders: int) -> float:
    """The chance that a step leads to a colluder, or back to the user."""
    whole(users, "users", 2)
    return (whole(colluders, "colluders", 1, users - 1) + 1) / users


def spacings(p: float, colluders: int, most: int = _LONGEST) -> tuple[Floats, Floats]:
    """Chances of 0, 1, .. others in the gap behind a visit, and in what covers a later visit.

    A gap ends with chance `p` after each of them. The gap before the visit covers it as well if it
    began with a colluder, and not with the user. The rest belongs to the largest number.
    """
    count = np.arange(1.0 if p == 1 else min(most, math.ceil(60 / p)))
    single = p * np.exp(count * (0.0 if p == 1 else math.log1p(-p)))
    both = single * p * (count + 1)
    later = (single + colluders * both) / (colluders + 1)
    for chances in (single, later):
        chances[-1] = max(0.0, 1 - float(chances[:-1].sum()))
    return single, later


def _reach(first: Shares, later: Shares, cap: int) -> float:
    """What the sum of shares exceeds with a chance near `_TAIL` only; a bad guess costs delta."""

    def bound(tilt: float) -> float:
        one, two = (
            math.log(float((each.chances * np.exp(tilt * each.shares)).sum()))
            for each in (first, later)
        )
        return (one + (cap - 1) * two - math.log(_TAIL)) / tilt

    return min(bound(tilt) for tilt in np.geomspace(1e-3, 100, 60))


_Gridded: TypeAlias = tuple[Floats, float]
"""Masses on the grid, and how much lies behind it."""


def _gridded(shares: Shares, step: float) -> _Gridded:
    index = np.ceil(shares.shares / step * (1 - _ROUNDING)).astype(np.int64)
    masses = np.bincount(index, shares.chances).astype(np.float64)
    return masses[:_POINTS], float(masses[_POINTS:].sum())


def _sum(one: _Gridded, other: _Gridded) -> _Gridded:
    masses = np.convolve(one[0], other[0])
    return masses[:_POINTS], one[1] + other[1] + float(masses[_POINTS:].sum())


def _power(one: _Gridded, count: int) -> _Gridded:
    if count == 1:
        return one
    half = _power(one, count // 2)
    found = _sum(half, half)
    return _sum(found, one) if count % 2 else found


def least(keeps: Callable[[float], bool], low: float, high: float, close: float = 1e-6) -> float:
    """The least number that keeps what is asked for, nearly; `UsageError` unless `high` does."""
    if not keeps(high):
        raise UsageError("no noise that can be had is enough: ask for less", "privacy")
    while high - low > close * high and high >= 1e-9:
        middle = math.sqrt(low * high) if low > 0 else high / 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def local_sigma(epsilon: float, delta: float, times: int, sensitivity: float = 1.0) -> float:
    """The noise of a user whose every message is seen by everybody."""
    return gaussian_sigma(epsilon, delta, sensitivity * math.sqrt(times))


@lru_cache(maxsize=32)
def central_sigma(
    epsilon: float, delta: float, users: int, steps: int, sensitivity: float = 1.0
) -> float:
    """The noise of a trusted curator who takes one user at random in each step.

    By 16-A11; nobody else knows who was taken. At least a twentieth of
    `sensitivity`.
    """

    def excess(log_sigma: float) -> float:
        noise = Loss.gaussian(math.exp(log_sigma), sensitivity)
        loss = noise.sampled_without_replacement(1 / users).repeated(steps)
        return math.log(max(loss.epsilon(delta), 1e-9) / epsilon)

    found = low = math.log(sensitivity / 20)
    if excess(low) > 0:
        high = math.log(local_sigma(epsilon, delta, steps, sensitivity))
        found = float(brentq(excess, low, max(low, high), xtol=2e-4))
    while excess(found) > 0:
        found += 1e-4
    return math.exp(found)
