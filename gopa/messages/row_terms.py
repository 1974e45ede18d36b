"""Checks the terms of a session that proves long vectors row by row.

Specification 14, rules L1, L5, M6, K2 and W3: a rule for each way in which a sum could overflow, a
round be ended at will, or privacy be promised that the noise does not give.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import isqrt
from typing import Final

from gopa.planning.equation_points import equation_points, losses_allowed
from gopa.planning.terms import Terms
from wire.errors import UsageError
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
_EXACT: Final = Context(prec=60)


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
    _require_origin(terms, weighted=weighted)
    if weighted:
        _require_weights(terms)
    else:
        _require_sensitivity(terms)


def largest_share(terms: Terms) -> int:
    """The most that one party adds to a coordinate of the sum (14-L5)."""
    return isqrt(terms.squared_norm) + min(terms.spike, isqrt(terms.noise_square))


def origin(terms: Terms) -> int:
    """The grid point of zero, k_0; raises `UsageError` where zero is none."""
    low, high = Fraction(terms.low), Fraction(terms.high)
    found = -low * terms.steps / (high - low)
    if found.denominator != 1 or not 0 <= found <= terms.steps:
        raise UsageError("zero is a point of the grid: choose other steps", "terms.steps")
    return int(found)


def of_single_counts(terms: Terms) -> bool:
    """Whether a party adds one count to one bin: two such vectors are closer than their lengths."""
    square = terms.steps**2
    return terms.squared_norm == square and terms.squared_sensitivity == 2 * square


def weight_rounding(terms: Terms) -> int:
    """What rounding may add to a length under a weight, times the scale: sigma of 14-W1."""
    half = _EXACT.divide(_EXACT.sqrt(Decimal(terms.dimension)), Decimal(2))
    root = _EXACT.sqrt(_EXACT.multiply(Decimal(32), _EXACT.ln(Decimal(2))))
    each = _EXACT.add(half, _EXACT.multiply(Decimal(2), root))
    added = _EXACT.multiply(Decimal(terms.weight_scale), each)
    return terms.weight_length + int(added.to_integral_value(ROUND_CEILING))


def _require_late(terms: Terms) -> None:
    """14-K1 and 14-K2: not ended by the corrupt parties alone, and with points enough."""
    if terms.late < terms.corrupt:  # the terms bound it from above
        raise UsageError("at least as many as are corrupt: else they end any round", "terms.late")
    losses = losses_allowed(terms.parties, terms.survivors, terms.late)
    try:
        equation_points(terms.parties, losses, RowShape(terms.dimension).bits)
    except UsageError as error:
        raise UsageError(error.message, "terms.late") from None


def _require_origin(terms: Terms, *, weighted: bool) -> None:
    found = origin(terms)
    boxed = not terms.bounds_length and not weighted
    if boxed and not of_single_counts(terms) and 2 * found != terms.steps:
        message = (
            "without a norm lengths are measured from the middle: a symmetric range, even steps"
        )
        raise UsageError(message, "terms.steps")


def _require_sensitivity(terms: Terms) -> None:
    # A larger bound would let parties round to more than the plan's noise hides.
    for field in ("weight_length", "weight_scale"):
        if getattr(terms, field):
            raise UsageError("0 without weights", f"terms.{field}")
    if of_single_counts(terms) and not origin(terms):
        return
    if 4 * terms.squared_norm > terms.squared_sensitivity:
        message = "at most a quarter of the squared sensitivity, but for single counts"
        raise UsageError(message, "terms.squared_norm")


def _require_weights(terms: Terms) -> None:
    """14-W3: the sensitivity covers two vectors of any weights, as rounded."""
    length, scale, steps = terms.weight_length, terms.weight_scale, terms.steps
    if not length or not scale:
        field = "weight_scale" if length else "weight_length"
        raise UsageError(
            "at least 1 where weighted vectors are proved row by row", f"terms.{field}"
        )
    if steps >= MOST_WEIGHT:
        raise UsageError("below 2^31 where weighted vectors are proved row by row", "terms.steps")
    sigma, squared = weight_rounding(terms), terms.squared_sensitivity * scale**2
    full = length * steps
    if max((2 * full + 2 * sigma) ** 2, (full + 2 * sigma) ** 2 + (scale * steps) ** 2) > squared:
        message = "covers two vectors as long as their weights allow, after rounding"
        raise UsageError(message, "terms.squared_sensitivity")
