"""How large the epsilon of a mechanism is at least: two runs of it, told apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from gopa.adversary.privacy.bounds import TrialCounts, epsilon_below
from gopa.adversary.privacy.distinguishers import best_test, require_enough
from gopa.support.arrays import Floats
from wire.errors import UsageError

RunMany: TypeAlias = Callable[[np.random.Generator, int], Any]
"""Runs a mechanism so many times, independently; what comes out is handed to the scores."""

ScoreMany: TypeAlias = Callable[[Any], Any]
"""One number for each run in what a `RunMany` returned."""

_BOUNDS: Final = 2
"""Hits and alarms: so many bounds hold together."""

_AT_ONCE: Final = 100_000


@dataclass(frozen=True, slots=True)
class DistinguishResult:
    """A bound from below: with probability 1 - `risk` the true epsilon is not smaller.

    `score` is the place of the score that did best, `draws` how many runs of each kind were
    counted. A bound of 0 means that nothing was found, and is no proof of anything.
    """

    epsilon: float
    delta: float
    risk: float
    draws: int
    score: int
    counts: TrialCounts

    def __str__(self) -> str:
        sure = f"with confidence {1 - self.risk:g}, from {self.draws:,} runs of each kind"
        return f"epsilon is at least {self.epsilon:.3g} at delta {self.delta:g}, {sure}"


def distinguish(  # noqa: PLR0913 - a game has two sides, a referee and a length
    run_a: RunMany,
    run_b: RunMany,
    scores: ScoreMany | Sequence[ScoreMany],
    delta: float,
    draws: int,
    *,
    confidence: float = 0.999,
    seed: int = 0,
    at_once: int = _AT_ONCE,
) -> DistinguishResult:
    """A bound below epsilon, at `delta`, of a mechanism that ran on two neighbouring inputs.

    `draws` runs of each kind are scored. One half of them chooses a score, a threshold and a
    direction, the other half counts, and Clopper and Pearson bound both chances; so the bound
    holds whatever the scores are. It is tight where one of them orders the runs as the
    likelihood ratio does; a run that a score cannot read gets a middling number, never NaN.

    Runs must be independent and what the two sides know must be the same but for the input.

    >>> from gopa.adversary import distinguish
    >>> def noisy(answer):
    ...     return lambda rng, many: answer + rng.laplace(0, 1 / 2, many)
    >>> found = distinguish(noisy(0), noisy(1), lambda seen: seen, delta=0, draws=100_000)
    >>> 1.8 < found.epsilon <= 2
    True

    Raises:
        UsageError: delta or the confidence is no probability, there are too few draws, or a score
            does not give one number for each run.
    """
    risk = 1 - confidence
    if type(draws) is not int:
        raise UsageError("a number of runs", "draws")
    require_enough(draws, risk)
    if not 0 <= delta < 1:
        raise UsageError("at least 0 and below 1", "delta")
    if type(at_once) is not int or at_once < 1:
        raise UsageError("a number of runs, at least 1", "at_once")
    listed = [scores] if callable(scores) else list(scores)
    if not listed:
        raise UsageError("there is at least one score", "scores")
    if type(seed) is not int or seed < 0:
        raise UsageError("an integer, at least 0", "seed")
    first, second = np.random.SeedSequence(seed).spawn(2)
    still = _scored(run_a, listed, draws, np.random.default_rng(first), at_once)
    moved = _scored(run_b, listed, draws, np.random.default_rng(second), at_once)
    half = draws // 2
    share = risk / _BOUNDS

    def worth(hits: Floats, alarms: Floats, n: float) -> Floats:
        return epsilon_below(hits, alarms, n, delta, share)

    test = best_test(moved[:, :half], still[:, :half], draws - half, worth)
    counts = test.counts(moved[:, half:], still[:, half:])
    return DistinguishResult(
        epsilon=counts.epsilon(delta, share),
        delta=delta,
        risk=risk,
        draws=draws - half,
        score=test.score % len(listed),
        counts=counts,
    )


def _scored(
    run: RunMany, scores: Sequence[ScoreMany], draws: int, rng: np.random.Generator, at_once: int
) -> Floats:
    """A row for each score, and one for the opposite of each."""
    parts = []
    for start in range(0, draws, at_once):
        many = min(at_once, draws - start)
        seen = run(rng, many)
        found = [np.asarray(score(seen), dtype=np.float64) for score in scores]
        for place, each in enumerate(found):
            if each.shape != (many,):
                raise UsageError(f"one number for each of {many} runs", f"scores[{place}]")
            if np.isnan(each).any():
                raise UsageError("a score is never NaN", f"scores[{place}]")
        # Nobody said which side a large score speaks for, so the opposite is a score, too.
        parts.append(np.stack([*found, *(-each for each in found)]))
    return np.concatenate(parts, axis=1)
