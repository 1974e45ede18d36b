"""Computes what colluders see of a token, on paths one by one and on many random ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, reduce

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr
from scipy.stats import binom

from gopa.learning.clocks import Replayed
from gopa.learning.network_dp import Visits, Walk, carry
from gopa.learning.network_dp.counting import numbers
from gopa.learning.network_dp.responses import uniform_chance

Floats = npt.NDArray[np.float64]

VICTIM = 0
"""User 0 is hidden; the colluders are users 1, 2, .."""


def gaussian_deltas(epsilon: float, mu: Floats) -> Floats:
    """The exact deltas of normal numbers that move by `mu` deviations."""
    ratio = np.maximum(mu, 1e-9)
    first, second = log_ndtr(ratio / 2 - epsilon / ratio), log_ndtr(-ratio / 2 - epsilon / ratio)
    return np.asarray(np.exp(first) - np.exp(epsilon + second))


def gaussian_delta(epsilon: float, mu: float) -> float:
    """The same for one number."""
    return float(gaussian_deltas(epsilon, np.array([mu]))[0])


def paths(users: int, steps: int) -> Iterator[tuple[int, ...]]:
    """All paths, each as likely as any other."""
    return itertools.product(range(users), repeat=steps)


def summed(path: tuple[int, ...], cap: int, colluders: int) -> float:
    """The squared shift that a sum shows on this path: number squared by noise, piece by piece.

    Pieces end where a colluder has the token, and where it is published.
    """
    found, visits, noise, seen = 0.0, 0, 0, 0
    for user in (*path, 1):
        if 1 <= user <= colluders:
            found += visits**2 / noise if visits else 0.0
            visits = noise = 0
            continue
        noise += 1
        if user == VICTIM and seen < cap:
            visits, seen = visits + 1, seen + 1
    return found


def cut(path: tuple[int, ...], cap: int, colluders: int) -> float:
    """The same where the token is shown whenever it comes back to the victim, too."""
    marks = [place for place, user in enumerate(path) if user <= colluders]
    own = [place for place in marks if path[place] == VICTIM][:cap]
    after = [min([mark for mark in marks if mark > place] + [len(path)]) for place in own]
    return sum(1 / (end - place) for place, end in zip(own, after, strict=True))


def contracted(path: tuple[int, ...], slopes: Floats, cap: int) -> float:
    """The squared shift where each user multiplies the token by its slope before it adds."""
    found, shift, noise, seen = 0.0, 0.0, 0.0, 0
    for user in (*path, 1):
        if user == 1:
            found += shift**2 / noise if shift else 0.0
            shift = noise = 0.0
            continue
        counts = user == VICTIM and seen < cap
        seen += counts
        shift, noise = slopes[user] * shift + counts, slopes[user] ** 2 * noise + 1
    return found


def of_all_paths(
    shift: Callable[[tuple[int, ...], int, int], float],
    users: int,
    steps: int,
    cap: int,
    colluders: int,
) -> Floats:
    """The squared shifts of all paths."""
    return np.array([shift(path, cap, colluders) for path in paths(users, steps)])


@dataclass(frozen=True)
class Attack:
    """Runs the token on one of two inputs, and scores what colluders and the public see.

    All others have 0, and the victim 0 or 1: with noise that is the worst pair, and the score
    is the exact odds.
    """

    users: int
    steps: int
    cap: int
    colluders: int
    sigma: float

    def runs(self, value: float) -> Callable[[np.random.Generator, int], Floats]:
        """Many runs with this number of the victim, one score each."""

        def run(rng: np.random.Generator, many: int) -> Floats:
            visits = self._visits(rng, many)
            noise = self.sigma * rng.standard_normal((self.steps, many))
            values = np.zeros((self.users, 1))
            values[VICTIM] = value
            tokens = [np.zeros(many)]
            carry(
                visits,
                numbers(values, noise),
                np.zeros((many, 1)),
                seen=lambda _, token: tokens.append(token[:, 0]),
            )
            moved = np.diff(np.array(tokens), axis=0).T
            total, noisy, mine = (
                self._pieces(visits, each) for each in (moved, 1.0, visits.active)
            )
            odds = (mine * total - mine**2 / 2) / (np.maximum(noisy, 1) * self.sigma**2)
            return np.asarray(odds.sum(axis=1))

        return run

    def shifts(self, rng: np.random.Generator, many: int) -> Floats:
        """What random paths show, as `summed` does for one path."""
        visits = self._visits(rng, many)
        noisy, mine = self._pieces(visits, 1.0), self._pieces(visits, visits.active)
        return np.asarray((mine**2 / np.maximum(noisy, 1)).sum(axis=1))

    def _visits(self, rng: np.random.Generator, many: int) -> Visits:
        users = rng.integers(0, self.users, (many, self.steps))
        walk = Walk(Replayed(self.users, users[:, :, None]), self.cap)
        return walk.visits(0, steps=self.steps, runs=many)

    def _pieces(self, visits: Visits, what: npt.ArrayLike) -> Floats:
        """Sums between two sights of the token, in a row for each run.

        Flags count for the victim only, and numbers for all but colluders.
        """
        sight = (visits.users >= 1) & (visits.users <= self.colluders)
        piece = np.cumsum(sight, axis=1) + (self.steps + 1) * np.arange(len(sight))[:, None]
        held = ~sight
        values = np.broadcast_to(np.asarray(what), held.shape)
        if values.dtype == bool:
            held, values = held & (visits.users == VICTIM), values.astype(np.float64)
        size = (self.steps + 1) * len(sight)
        sums = np.bincount(piece[held], values[held], size).astype(np.float64)
        return sums.reshape(len(sight), -1)


@dataclass(frozen=True)
class ReportAttack(Attack):
    """The same for a token of reports of two values, all others holding 0: the exact odds.

    `sigma` is the local epsilon. Pieces are seen as their length, how many reports are the
    victim's, how many it made up, and how many ones there are.
    """

    def runs(self, value: float) -> Callable[[np.random.Generator, int], Floats]:
        """Many runs with this value of the victim, one score each."""
        beta = uniform_chance(self.sigma, 2)

        def run(rng: np.random.Generator, many: int) -> Floats:
            visits = self._visits(rng, many)
            held, own = np.where(visits.users == VICTIM, value, 0), visits.users == VICTIM
            # Others report in all of their visits, which hides less than uniform reports.
            even = (rng.random(held.shape) < beta) | (own & ~visits.active)
            reports = np.where(even, rng.integers(0, 2, held.shape), held)
            told = (1.0, own & visits.active, own & ~visits.active, reports)
            pieces = [self._pieces(visits, each).astype(np.int64) for each in told]
            seen = pieces[1] > 0
            kinds, which = np.unique([each[seen] for each in pieces], axis=1, return_inverse=True)
            odds = np.array([self._odds(beta, *kind) for kind in kinds.T.tolist()])
            scores = np.zeros(seen.shape)
            scores[seen] = odds[which.ravel()]
            return np.asarray(scores.sum(axis=1))

        return run

    @staticmethod
    @cache
    def _odds(beta: float, size: int, mine: int, random: int, ones: int) -> float:
        """ln of the odds of the victim's 1 against its 0, from the number of ones of a piece."""
        flips = [(size - mine - random, beta / 2), (random, 0.5)]
        laws = [
            reduce(
                np.convolve,
                [binom.pmf(np.arange(n + 1), n, p) for n, p in [*flips, (mine, chance)]],
            )
            for chance in (1 - beta / 2, beta / 2)
        ]
        return float(np.log(laws[0][ones]) - np.log(laws[1][ones]))
