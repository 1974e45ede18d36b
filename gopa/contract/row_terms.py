"""Checks the terms of a session that proves long vectors row by row.

Rules 14-L1, 14-L5, 14-M6, 14-K2 and 14-W3: a rule for each way in which a sum could overflow, a
round be ended at will, or privacy be promised that the noise does not give.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Final

from gopa.contract.lengths import WeightedLength
from gopa.contract.terms import Terms
from wire.errors import UsageError
from zkp.rows.bounds import LengthBounds, WeightBound
from zkp.rows.shape import RowShape

WORD_WIDTHS: Final = range(16, 65)
MOST_WEIGHT: Final = 2**31
ROW_FIELDS: Final = (
    "squared_norm",
    "noise_square",
    "spike",
    "late",
    "weight_length",
    "weight_scale",
)


def require_no_rows(terms: Terms) -> None:
    """Raise `UsageError` for terms that mean nothing where numbers are committed one by one."""
    for field in ROW_FIELDS:
        if getattr(terms, field):
            raise UsageError("0 without the path of rows", f"terms.{field}")


def require_rows(terms: Terms, *, weighted: bool, word_width: int) -> None:
    """Raise `UsageError` with the field that does not fit the others."""
    if terms.dimension < 2:  # the terms bound it from above
        raise UsageError("vectors of rows have at least two coordinates", "terms.dimension")
    if terms.mask != "uniform":
        raise UsageError("masks of words are uniform", "terms.mask")
    if word_width not in WORD_WIDTHS:
        raise UsageError("words of 16 to 64 bits", "word_width")
    for field in ("squared_norm", "noise_square", "spike"):
        if not getattr(terms, field):
            raise UsageError("at least 1 where vectors are proved row by row", f"terms.{field}")
    if terms.parties * largest_share(terms) >= 2 ** (word_width - 1):
        raise UsageError("words that hold the sum: widen them", "word_width")
    _require_late(terms)
    if weighted:
        _require_weights(terms)
    else:
        _require_sensitivity(terms)
    origin(terms)


def largest_share(terms: Terms) -> int:
    """The most that one party adds to a coordinate of the sum (14-L5)."""
    return isqrt(terms.squared_norm) + min(terms.spike, isqrt(terms.noise_square))


def origin(terms: Terms) -> int:
    """The grid point from which lengths are measured, k_0.

    It is the middle of a box, and of a range whose vectors have weights, and else zero.

    Raises:
        UsageError: it is no point of the grid.
    """
    boxed = not terms.bounds_length and not of_single_counts(terms)
    if boxed or terms.weight_length:
        if terms.steps % 2:
            message = "without a norm, and with weights, lengths are from the middle: even"
            raise UsageError(message, "terms.steps")
        return terms.steps // 2
    low, high = Fraction(terms.low), Fraction(terms.high)
    found = -low * terms.steps / (high - low)
    if found.denominator != 1 or not 0 <= found <= terms.steps:
        raise UsageError("zero is a point of the grid: choose other steps", "terms.steps")
    return int(found)


def middle(terms: Terms) -> Fraction:
    """The middle of the range, from which weighted vectors are measured: the value of `origin`."""
    return (Fraction(terms.low) + Fraction(terms.high)) / 2


def sums_of_positions(terms: Terms, sums: Iterable[int], count: int) -> list[int]:
    """The sums of so many parties as those of grid points: rows begin at `origin`, not at 0.

    A weight, which is the last number, begins at 0.
    """
    found = list(sums)
    if not terms.squared_norm:
        return found
    weighted = bool(terms.weight_length)
    moved = count * origin(terms)
    return [each + moved for each in found[: len(found) - weighted]] + found[-1:] * weighted


def of_single_counts(terms: Terms) -> bool:
    """Whether a party adds one count to one bin: two such vectors are closer than their lengths."""
    square = terms.steps**2
    return terms.squared_norm == square and terms.squared_sensitivity == 2 * square


def weighted_length(terms: Terms) -> WeightedLength:
    """How long a vector may be for its weight."""
    return WeightedLength(terms.weight_length, terms.weight_scale, terms.steps, terms.dimension)


def _require_late(terms: Terms) -> None:
    """14-K1 and 14-K2: not ended by the corrupt parties alone, and with points enough.

    Where fewer may go missing at all, all of them may go missing late.
    """
    if terms.late < min(terms.corrupt, terms.parties - terms.survivors):
        raise UsageError("at least as many as are corrupt: else they end any round", "terms.late")
    losses = losses_allowed(terms.parties, terms.survivors, terms.late)
    try:
        equation_points(terms.parties, losses, RowShape(terms.dimension).bits)
    except UsageError as error:
        raise UsageError(error.message, "terms.late") from None


def _require_sensitivity(terms: Terms) -> None:
    # A larger bound would let parties round to more than the plan's noise hides.
    for field in ("weight_length", "weight_scale"):
        if getattr(terms, field):
            message = "0 without weights: give them, or plan without weighted=True"
            raise UsageError(message, f"terms.{field}")
    if of_single_counts(terms) and not origin(terms):
        return
    if 4 * terms.squared_norm > terms.squared_sensitivity:
        message = "at most a quarter of the squared sensitivity, but for single counts"
        raise UsageError(message, "terms.squared_norm")


def _require_weights(terms: Terms) -> None:
    """14-W1 and 14-W3: bounds cover vectors of any weights, as rounded, and two of them."""
    if not terms.weight_length or not terms.weight_scale:
        field = "weight_scale" if terms.weight_length else "weight_length"
        message = "at least 1 where weighted vectors are proved row by row: plan with weighted=True"
        raise UsageError(message, f"terms.{field}")
    if terms.steps >= MOST_WEIGHT:
        raise UsageError("below 2^31 where weighted vectors are proved row by row", "terms.steps")
    allowed = weighted_length(terms)
    # A party rounds until the bound is kept: below this one it would never come to an end.
    if allowed.squared_norm > terms.squared_norm:
        message = "room for the longest vector beside the largest weight, as rounded"
        raise UsageError(message, "terms.squared_norm")
    if allowed.squared_sensitivity > terms.squared_sensitivity:
        message = "covers two vectors as long as their weights allow, after rounding"
        raise UsageError(message, "terms.squared_sensitivity")


MOST_POINTS: Final = 64
_ORDER: Final = 2**252 + 27742317777372353535851937790883648493
_CHANCE_BITS: Final = 128


def losses_allowed(listed: int, survivors: int, late: int) -> int:
    """How many of so many listed parties may go missing behind publish before the round ends."""
    return min(listed - survivors, late)


@lru_cache(maxsize=256)
def equation_points(listed: int, losses: int, bits: int) -> int:
    """The least t with q^t >= 2^128 v^t times the number of choices of at most `losses` parties.

    `bits` are those of an index, v. Exact, as everybody has to find the same number.

    Raises:
        UsageError: more than 64 points would be needed.
    """
    most = _ORDER**MOST_POINTS // (bits**MOST_POINTS << _CHANCE_BITS)
    choices = ways = 1
    for chosen in range(1, min(losses, listed) + 1):
        ways = ways * (listed - chosen + 1) // chosen
        choices += ways
        if choices > most:
            message = (
                f"more than {MOST_POINTS} points would be needed: plan with fewer corrupt parties"
            )
            raise UsageError(message, "late")
    points, left, right = 1, _ORDER, choices * bits << _CHANCE_BITS
    while left < right:
        points, left, right = points + 1, left * _ORDER, right * bits
    return points


def length_bounds(terms: Terms) -> LengthBounds:
    """What the lengths of a party's vector and noise are proved to be within."""
    return LengthBounds(terms.squared_norm, terms.noise_square, terms.spike)


def weight_bound(terms: Terms) -> WeightBound:
    """What is proved, besides, of a vector with a weight."""
    slack = weighted_length(terms).rounding
    return WeightBound(terms.steps, terms.weight_length, terms.weight_scale, slack)
