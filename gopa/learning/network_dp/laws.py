"""Computes what walking hides: by how much noise a share is covered when it is seen, by chance.

Normal noise of deviation s on i steps covers a share that moves by D as one normal draw with
shift D / (s sqrt(i)) does. Over several visits 1/i adds up; the path is random and may be known.
Derivations: `specs/13-network-dp.md`, sections 2 to 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from gopa import UsageError
from gopa.accounting import Loss, Rdp
from gopa.learning.steps import Steps

Floats: TypeAlias = npt.NDArray[np.float64]

_POINTS: Final = 2**13
_LONGEST: Final = 2**21
_SLACK: Final = 1e-9
_TAIL: Final = 1e-15
_BINS: Final = 1.02
_FEW: Final = 40


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Gives the share 1/i of the noise of one step with which a visit is covered, by chance.

    Whatever is left of the chances belongs to the smallest share.
    """

    chances: Floats
    shares: Floats

    def __post_init__(self) -> None:
        if not ((self.shares > 0) & (self.shares <= 1)).all() or (self.chances < 0).any():
            raise UsageError("chances, and shares above 0 and at most 1", "shares")
        if abs(float(self.chances.sum()) - 1) > _SLACK:
            raise UsageError("chances sum to 1", "chances")

    def mixed(self, weight: float, other: Shares) -> Shares:
        """This one with chance `weight`, else the other one."""
        chances = np.concatenate([weight * self.chances, (1 - weight) * other.chances])
        return Shares(chances, np.concatenate([self.shares, other.shares]))

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
    """Says what a coalition learns of a user: chances of the noise that covers its visits.

    The first visit has the shares `first`, the others `later`, and there are `cap` of them at most.
    Both are kept with few cases, for `rdp`; the law of their sum is on a grid.
    """

    first: Shares
    later: Shares
    cap: int
    _sums: Floats
    _masses: Floats
    _lost: float

    @classmethod
    def of(cls, first: Shares, later: Shares, cap: int) -> WalkLaw:
        """The law of the sum of shares, on a grid, rounded up."""
        most = min(float(cap), _reach(first, later, cap))
        # Each visit is rounded up, by less than a step.
        step = most / (_POINTS - 1 - min(cap, _POINTS // 2))
        one, lost = _gridded(first, step)
        if cap > 1:
            masses, more = _power(_gridded(later, step), cap - 1)
            one, lost = _truncated(np.convolve(one, masses), lost + more)
        thin = first.thinned(), later.thinned()
        return cls(*thin, cap, np.asarray(np.arange(len(one)) * step), one, lost)

    def delta(self, epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
        """An upper bound on the delta at `epsilon`, for noise `sigma` in every step."""
        mu = np.sqrt(self._sums[1:]) * (sensitivity / sigma)
        first = log_ndtr(mu / 2 - epsilon / mu)
        second = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        gap = np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))
        # The error of both logarithms, relative to the larger mass.
        rounding = 1e-12 * np.exp(first) * (1 + np.abs(first) + np.abs(second))
        found = float((self._masses[1:] * np.minimum(gap + rounding, 1.0)).sum())
        return min(1.0, found * (1 + 1e-12) + self._lost)

    def epsilon(self, delta: float, sigma: float, sensitivity: float = 1.0) -> float:
        """An upper bound on the epsilon at `delta`; the better one of this law and `rdp`."""
        by_orders = self.rdp(sigma, sensitivity).epsilon(delta)
        if self.delta(by_orders, sigma, sensitivity) >= delta:
            return by_orders
        if self.delta(0.0, sigma, sensitivity) <= delta:
            return 0.0
        return _least(lambda x: self.delta(x, sigma, sensitivity) <= delta, 0.0, by_orders)

    def sigma(self, epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
        """The least noise in every step that keeps epsilon and delta, rounded up."""
        known = self.sigma_by_orders(epsilon, delta, sensitivity)

        def keeps(sigma: float) -> bool:
            return self.delta(epsilon, sigma, sensitivity) <= delta

        return _least(keeps, known / 8, known) if keeps(known) else known

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
        local = math.sqrt(self.cap) * sensitivity * 10 * (1 + math.log(1 / delta)) / epsilon

        def keeps(sigma: float) -> bool:
            return self.rdp(sigma, sensitivity).epsilon(delta) <= epsilon

        return _least(keeps, local * 1e-6, local + sensitivity)


def gaps(users: int, colluders: int = 1, steps: Steps | None = None) -> Shares:
    """A visit until the token comes to a colluder, or to the user itself again.

    By step i with chance p (1 - p)^(i - 1), p = (colluders + 1) / users. Steps that fall in
    length leave less noise behind: i is then the sum of squares relative to the first one's.
    """
    p = colluder_chance(users, colluders)
    longest = min(_LONGEST, math.ceil(40 / p))
    if p == 1:
        return Shares(np.ones(1), np.ones(1))
    count = np.arange(1, longest + 1, dtype=np.float64)
    chances = p * np.exp((count - 1) * math.log1p(-p))
    chances[-1] = math.exp((longest - 1) * math.log1p(-p))
    if steps is None:
        return Shares(chances, 1 / count)
    squares = steps(count) ** 2
    return Shares(chances, np.minimum(squares[0] / np.cumsum(squares), 1.0))


def double_gaps(users: int, colluders: int = 1) -> Shares:
    """A visit between two colluders: in a sum the noise before it counts as well."""
    p = colluder_chance(users, colluders)
    longest = min(_LONGEST, math.ceil(50 / p))
    if p == 1:
        return Shares(np.ones(1), np.ones(1))
    count = np.arange(1, longest + 1, dtype=np.float64)
    chances = count * p * p * np.exp((count - 1) * math.log1p(-p))
    chances[-1] = max(0.0, 1 - float(chances[:-1].sum()))
    return Shares(chances, 1 / count)


def sgd_law(users: int, cap: int, colluders: int = 1, steps: Steps | None = None) -> WalkLaw:
    """A token that walks on the complete graph with a model, by projected noisy gradient steps."""
    shares = gaps(users, colluders, steps)
    return WalkLaw.of(shares, shares, cap)


def sum_law(users: int, cap: int, colluders: int = 1) -> WalkLaw:
    """A token that walks on the complete graph with a sum."""
    single = gaps(users, colluders)
    later = single.mixed(1 / (colluders + 1), double_gaps(users, colluders))
    return WalkLaw.of(single, later, cap)


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
    if colluders > 1 and not distributed:
        return math.inf
    noise = sigma / math.sqrt(users - 1) if colluders > 1 else sigma
    return Loss.gaussian(noise, sensitivity * math.sqrt(rounds)).epsilon(delta)


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
    bare = min(cap, edge_cap * (colluders + 1) + 1)
    shift = sensitivity * math.sqrt(bare + (cap - bare) / 2)
    return Loss.gaussian(sigma, shift).epsilon(delta)


def pair_law(
    transitions: Floats, user: int, coalition: tuple[int, ...], cap: int, *, published: bool = True
) -> WalkLaw:
    """A token that walks on a graph with a model: what these colluders learn of this user.

    If the last token is published, one visit is charged as if it were seen at once.
    """
    if not coalition or user in coalition:
        raise UsageError("others than the user", "coalition")
    meet = np.zeros((1, len(transitions)), dtype=bool)
    meet[0, [user, *coalition]] = True
    return _walked(_met_within(transitions, np.array([user]), meet), cap, published=published)


def any_pair_law(transitions: Floats, cap: int, *, published: bool = True) -> WalkLaw:
    """The same for the worst of all pairs of users, a little worse than that."""
    users = len(transitions)
    if users > _FEW:
        raise UsageError(f"at most {_FEW} users: all pairs are looked at", "graph")
    first, second = np.nonzero(~np.eye(users, dtype=bool))
    meet = np.zeros((len(first), users), dtype=bool)
    meet[np.arange(len(first)), first] = meet[np.arange(len(first)), second] = True
    return _walked(_met_within(transitions, first, meet), cap, published=published)


def _met_within(
    transitions: Floats, starts: npt.NDArray[np.int64], meet: npt.NDArray[np.bool_]
) -> Floats:
    """The chance that a token from `starts` is at one of `meet` within 1, 2, .. steps; the largest.

    Nobody who gets it later learns more, so the largest chances are worse than any pair.
    """
    found: list[float] = []
    at = transitions[starts]
    while len(found) < _LONGEST >> 8 and (not found or found[-1] < 1 - _TAIL):
        at = np.where(meet, 0.0, at)
        found.append(float(1 - at.sum(axis=1).min()))
        at = at @ transitions
    return np.array(found)


def _walked(within: Floats, cap: int, *, published: bool) -> WalkLaw:
    within = np.maximum.accumulate(np.clip(within, 0.0, 1.0))
    within[-1] = 1.0
    shares = Shares(np.diff(within, prepend=0.0), 1 / np.arange(1.0, len(within) + 1))
    bare = Shares(np.ones(1), np.ones(1))
    return WalkLaw.of(bare if published else shares, shares, cap + published)


def colluder_chance(users: int, colluders: int) -> float:
    """The chance that a step leads to a colluder, or back to the user."""
    if type(users) is not int or users < 2:
        raise UsageError("at least two users", "users")
    if type(colluders) is not int or not 1 <= colluders < users:
        raise UsageError("at least 1, and fewer than there are users", "colluders")
    return (colluders + 1) / users


def _reach(first: Shares, later: Shares, cap: int) -> float:
    """What the sum of shares exceeds with a chance near `_TAIL` only; a bad guess costs delta."""
    one, two = first.thinned(), later.thinned()

    def bound(tilt: float) -> float:
        logs = math.log(float((one.chances * np.exp(tilt * one.shares)).sum()))
        logs += (cap - 1) * math.log(float((two.chances * np.exp(tilt * two.shares)).sum()))
        return (logs - math.log(_TAIL)) / tilt

    return min(bound(tilt) for tilt in np.geomspace(1e-3, 100, 60))


def _gridded(shares: Shares, step: float) -> tuple[Floats, float]:
    index = np.ceil(shares.shares / step * (1 - 1e-12)).astype(np.int64)
    return _truncated(np.bincount(index, shares.chances).astype(np.float64), 0.0)


def _truncated(masses: Floats, lost: float) -> tuple[Floats, float]:
    return masses[:_POINTS], lost + float(masses[_POINTS:].sum())


def _power(one: tuple[Floats, float], count: int) -> tuple[Floats, float]:
    if count == 1:
        return one
    half, lost = _power(one, count // 2)
    found = _truncated(np.convolve(half, half), 2 * lost)
    if count % 2:
        found = _truncated(np.convolve(found[0], one[0]), found[1] + one[1])
    return found


def _least(keeps: Callable[[float], bool], low: float, high: float) -> float:
    """The least number that keeps what is asked for; `high` does."""
    if not keeps(high):
        raise UsageError("no noise that floats hold is enough: ask for less", "privacy")
    while high - low > 1e-6 * high:
        middle = math.sqrt(low * high) if low > 0 else high / 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
        if high < 1e-9:
            break
    return high
