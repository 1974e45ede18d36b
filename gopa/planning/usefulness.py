"""Whether noise drowns or blurs an answer, and how many parties or which epsilon would do.

The error of another target is estimated from that of the terms at hand. It falls with the honest
parties that are certain to remain, with those that take part, and with the shift that epsilon and
delta allow; a margin pays for what this leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context
from functools import lru_cache
from typing import Final

from gopa.accounting.gaussian import gaussian_delta, gaussian_mu, renyi_mu, zcdp_delta
from gopa.contract.terms import FEWEST_PARTIES, LARGEST_EPSILON, LEAST_DELTA, MOST_PARTIES, Terms
from gopa.planning.neighbours.liveness import fewest_survivors
from gopa.planning.target import CORRUPT, DROPOUT, colluding
from gopa.support.rounding import blur, known
from gopa.support.wording import counted

MOST_ERROR: Final = 0.25
"""An answer whose standard error is a larger part of the range is mostly noise."""

_MARGIN: Final = 1.2
"""Noise and grids do not come in every width, and the estimate does not follow them."""

_DROWNED: Final = "mostly noise"
_BLURRED: Final = "known only roughly"
NOISY_WORDS: Final = (_DROWNED, _BLURRED)
"""What warnings say of a number, in short."""

_LEAST_ERRORS: Final = 3
"""A size is known only roughly if it is fewer standard errors away from zero."""

_INTERVAL: Final = 1.96
"""So many standard errors to both sides hold 95 of 100 normal errors."""

_LARGEST_EPSILON: Final = 10.0
"""A larger epsilon promises so little that it is nothing to advise."""

DROPOUTS: Final = (0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
"""Chances to fail that are tried, from the largest on."""


@dataclass(frozen=True, slots=True)
class BlurredAnswer:
    """What the error of an answer depends on; `error` is the standard error in ranges.

    `retried` is by how many times more releases may be composed with more parties. `colluding` is
    how the number of corrupt parties was asked for, as a count or a part, and `dropout` what the
    plan assumes: None where the terms alone are known. `goal` is the error that would do.
    """

    parties: int
    corrupt: int
    survivors: int
    dimension: int
    epsilon: float
    delta: float
    recovers: bool
    error: float
    retried: float = 1.0
    colluding: float | None = None
    dropout: float | None = None
    goal: float = MOST_ERROR

    @classmethod
    def of(
        cls,
        terms: Terms,
        error: float,
        *,
        colluding: float | None = None,
        dropout: float | None = None,
    ) -> BlurredAnswer:
        """An answer under these terms; `error` is in the units of the terms' range."""
        # Without recovery a plan for more parties may have one more charged retry.
        several = terms.threshold is None and terms.mask == "uniform"
        return cls(
            parties=terms.parties,
            corrupt=terms.corrupt,
            survivors=terms.survivors,
            dimension=terms.dimension,
            epsilon=float(terms.promised_epsilon),
            delta=float(terms.delta),
            recovers=terms.threshold is not None,
            error=error / float(terms.high - terms.low),
            retried=(terms.charged + 2) / (terms.charged + 1) if several else 1.0,
            colluding=colluding,
            dropout=dropout,
        )

    @property
    def is_noise(self) -> bool:
        """Whether the error is more than a quarter of the range."""
        return self.error > MOST_ERROR

    @property
    def is_known(self) -> bool:
        """Whether these are terms that a plan could have, so that others can be compared."""
        return (
            FEWEST_PARTIES <= self.parties <= MOST_PARTIES
            and 0 < self.corrupt < self.survivors <= self.parties
            and self.dimension > 0
            and 0 < self.epsilon <= LARGEST_EPSILON
            and LEAST_DELTA <= self.delta < 1
            and math.isfinite(self.error)
        )


@dataclass(frozen=True, slots=True)
class WhatWouldDo:
    """The changes that bring the error down to the goal, each of them alone.

    None stands where no sensible change of that kind does.
    """

    parties: int | None
    epsilon: float | None
    dropout: float | None

    def __str__(self) -> str:
        return self.beside() or "more parties are needed"

    def beside(self, *others: str) -> str:
        """The changes behind others that would do as well; empty where there are none at all."""
        found = [
            None if self.parties is None else f"{self.parties:,} parties",
            None if self.epsilon is None else f"epsilon {self.epsilon:g}",
            None if self.dropout is None else f"a dropout of {self.dropout:g}",
        ]
        words = [*others, *(each for each in found if each is not None)]
        return ", or ".join([f"{words[0]} would do", *words[1:]]) if words else ""


def noise_warning(
    answer: BlurredAnswer, error: str, low: str, high: str, name: str = "this answer"
) -> str:
    """What whoever reads this answer should know; empty where noise does not drown it."""
    if not answer.is_noise:
        return ""
    return (
        f"with {answer.parties:,} parties {name} is {_DROWNED}: its standard error, {error},"
        f" is more than a quarter of the range from {low} to {high}; {what_would_do(answer)}"
    )


@dataclass(frozen=True, slots=True)
class NoisyNumber:
    """A number of an answer with its standard error, and the range of what was averaged.

    `alone` says that it is read by itself: a mean, and no bin or coordinate among others.
    """

    value: float
    error: float
    low: float
    high: float
    name: str = ""
    alone: bool = True

    @property
    def in_ranges(self) -> float:
        """The error as a part of the range."""
        return self.error / (self.high - self.low)

    @property
    def errors_from_zero(self) -> float:
        """How many standard errors the value is away from zero."""
        return abs(self.value) / self.error if self.error else math.inf

    @property
    def is_blurred(self) -> bool:
        """Whether the error of a size is more than a third of it.

        Where values have both signs zero is an answer like others.
        """
        sized = self.alone and not self.low < 0 < self.high
        return sized and self.errors_from_zero < _LEAST_ERRORS


def numbers_warning(terms: Terms, numbers: Sequence[NoisyNumber]) -> str:
    """What whoever reads these numbers should know of the noisiest one, and how many are like it.

    Empty where all of them say what they can be read for.
    """
    if terms.exact:
        return ""
    drowned = [each for each in numbers if each.in_ranges > MOST_ERROR]
    if drowned:
        worst = max(drowned, key=lambda each: each.in_ranges)
        ends = f"{worst.low:g}", f"{worst.high:g}"
        answer = BlurredAnswer.of(terms, worst.in_ranges * float(terms.high - terms.low))
        return noise_warning(answer, blur(worst.error), *ends, _named(worst, len(drowned) - 1))
    blurred = [each for each in numbers if each.is_blurred]
    if not blurred:
        return ""
    worst = min(blurred, key=lambda each: each.errors_from_zero)
    return _blurred_warning(terms, worst, _named(worst, len(blurred) - 1))


def _named(number: NoisyNumber, others: int) -> str:
    """What to call a number, of how many there are like it."""
    like = f", like {counted(others, 'other')}," if others else ""
    return (number.name or "this answer") + like


def _blurred_warning(terms: Terms, number: NoisyNumber, name: str) -> str:
    spread = _INTERVAL * number.error
    low, high = (known(number.value + move, number.error)[0] for move in (-spread, spread))
    answer = BlurredAnswer.of(terms, number.in_ranges * float(terms.high - terms.low))
    changes = what_would_do(replace(answer, goal=answer.error / 2))
    return (
        f"with {answer.parties:,} parties {name} is {_BLURRED}: its standard error, "
        f"{blur(number.error)}, is more than a third of it, so that in 95 of 100 cases it lies "
        f"between {low} and {high}; for half that error "
        f"{changes.beside('a range half as wide')}"
    )


def is_mostly_noise(terms: Terms, error: float) -> bool:
    """Whether noise drowns an answer with this standard error; never where nobody added any."""
    return not terms.exact and BlurredAnswer.of(terms, error).is_noise


def terms_warning(
    terms: Terms, error: float, *, colluding: float | None = None, dropout: float | None = None
) -> str:
    """What whoever plans with these terms should know; `error` is in the units of the values."""
    if terms.exact:
        return ""
    answer = BlurredAnswer.of(terms, error, colluding=colluding, dropout=dropout)
    return noise_warning(answer, blur(error), f"{terms.low:f}", f"{terms.high:f}")


def error_with_all(terms: Terms) -> float:
    """The standard error of the mean if everybody takes part, in the units of the values."""
    steps = math.sqrt(float(terms.noise.variance) + 0.25)
    return steps * float(terms.high - terms.low) / terms.steps / math.sqrt(terms.parties)


@lru_cache(maxsize=256)
def what_would_do(answer: BlurredAnswer) -> WhatWouldDo:
    """The smallest changes found, each rounded to two digits towards less noise."""
    if not answer.is_known:
        return WhatWouldDo(None, None, None)
    return WhatWouldDo(_parties(answer), _epsilon(answer), _dropout(answer))


def _parties(answer: BlurredAnswer) -> int | None:
    """More parties of the same kind: as many of them collude and fail."""
    dropout = _assumed_dropout(answer)

    def enough(parties: int) -> bool:
        corrupt = _colluding(answer, parties)
        error = _error(answer, parties, corrupt, dropout) * math.sqrt(answer.retried)
        return error * _MARGIN <= answer.goal

    if not enough(MOST_PARTIES):
        return None
    return min(MOST_PARTIES, int(_upwards(_first(enough, answer.parties, MOST_PARTIES))))


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest number above `low` for which it holds, as it does for `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _epsilon(answer: BlurredAnswer) -> float | None:
    """Less privacy: the shift may be as much larger as the error is too large."""
    mu_of, delta_of = (
        (gaussian_mu, gaussian_delta)
        if answer.dimension == 1
        else (renyi_mu, lambda epsilon, mu: zcdp_delta(epsilon, mu * mu / 2))
    )
    wanted = mu_of(answer.epsilon, answer.delta) * answer.error / answer.goal * _MARGIN
    if delta_of(_LARGEST_EPSILON, wanted) > answer.delta:
        return None
    low, high = answer.epsilon, _LARGEST_EPSILON
    while high - low > 1e-3 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if delta_of(middle, wanted) <= answer.delta else (middle, high)
    return min(_LARGEST_EPSILON, _upwards(high))


def _dropout(answer: BlurredAnswer) -> float | None:
    """Fewer that fail: more honest parties are certain to remain, and each adds less noise."""
    assumed = _assumed_dropout(answer)
    for dropout in DROPOUTS:
        if dropout < assumed:
            error = _error(answer, answer.parties, answer.corrupt, dropout)
            if error * _MARGIN <= answer.goal:
                return dropout
    return None


def _error(answer: BlurredAnswer, parties: int, corrupt: int, dropout: float) -> float:
    """The error of another target, in ranges; infinite where too few honest parties remain."""
    fewest = (parties + corrupt) // 2 + 1 if answer.recovers else 0
    honest = fewest_survivors(parties, dropout, fewest) - corrupt
    if honest < 2:
        return math.inf
    before = (answer.survivors - answer.corrupt) * answer.parties * (1 - _assumed_dropout(answer))
    return answer.error * math.sqrt(before / (honest * parties * (1 - dropout)))


def _colluding(answer: BlurredAnswer, parties: int) -> int:
    """How many would collude among so many parties."""
    asked = answer.colluding
    if asked is None:
        usual = colluding(CORRUPT, answer.parties) == answer.corrupt
        asked = CORRUPT if usual else answer.corrupt / answer.parties
    return asked if isinstance(asked, int) else colluding(asked, parties)


def _assumed_dropout(answer: BlurredAnswer) -> float:
    """What the plan assumes; of terms alone what their fewest survivors fit."""
    if answer.dropout is not None:
        return answer.dropout
    parties = answer.parties
    fewest = (parties + answer.corrupt) // 2 + 1 if answer.recovers else 0
    for dropout in (DROPOUT, *DROPOUTS):
        if fewest_survivors(parties, dropout, fewest) == answer.survivors:
            return dropout
    fitting = (d for d in DROPOUTS if fewest_survivors(parties, d, fewest) >= answer.survivors)
    return next(fitting, 0.0)


def _upwards(number: float) -> float:
    return float(Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(float(number)))
