"""The rules of 14 about a manifest with rows, once more, from the text."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from math import isqrt

from gopa.contract.manifest import Manifest, Mode, Trust

Q = 2**252 + 27742317777372353535851937790883648493


def fits(m: Manifest) -> bool:
    """[L1], [L5], [M6], [K2] and [W3]."""
    return _of_rows(m) and _holds_sums(m) and _few_points(m) and _hides(m)


def _of_rows(m: Manifest) -> bool:
    kind = (m.mode, m.trust, m.terms.mask) == (Mode.FULL, Trust.MALICIOUS, "uniform")
    return kind and 2 <= m.terms.dimension <= 2**20 and 16 <= m.word_width <= 64


def _holds_sums(m: Manifest) -> bool:
    t = m.terms
    share = isqrt(t.squared_norm) + min(t.spike, isqrt(t.noise_square))
    squares = 1 <= t.squared_norm < 2**62 and 1 <= t.noise_square < 2**62
    return squares and 1 <= t.spike < 2**31 and t.parties * share < 2 ** (m.word_width - 1)


def _hides(m: Manifest) -> bool:
    t, steps = m.terms, m.terms.steps
    low, high = Fraction(t.low), Fraction(t.high)
    origin = -low * steps / (high - low)
    boxed = t.squared_sensitivity == t.dimension * steps**2
    counts = (t.squared_norm, t.squared_sensitivity) == (steps**2, 2 * steps**2)
    if m.weighted or (boxed and not counts):
        origin = Fraction(steps, 2)
    if origin.denominator != 1 or not 0 <= origin <= steps:
        return False
    if m.weighted:
        return _weighted(m)
    ball = 4 * t.squared_norm <= t.squared_sensitivity
    return not t.weight_length and not t.weight_scale and (ball or (counts and origin == 0))


def _few_points(m: Manifest) -> bool:
    d = m.terms.dimension
    size = (d - 1).bit_length()
    columns = max(5, (size + 3) // 2)
    rows = max(-(-d // 2**columns), -(-360 // 2**columns))
    bits = (rows - 1).bit_length() + columns
    lost = m.terms.parties - m.terms.survivors
    if not min(m.terms.corrupt, lost) <= m.terms.late <= lost:
        return False
    ways = choices = 1
    for lost in range(m.terms.late):
        ways = ways * (m.terms.parties - lost) // (lost + 1)
        choices += ways
    return bool(2**128 * bits**64 * choices <= Q**64)


def _weighted(m: Manifest) -> bool:
    k, scale, steps = m.terms.weight_length, m.terms.weight_scale, m.terms.steps
    if not k or not scale or steps >= 2**31:
        return False
    with localcontext(prec=80):
        half, spread = Decimal(m.terms.dimension).sqrt() / 2, (32 * Decimal(2).ln()).sqrt()
        sigma = k + int((scale * (half + spread)).to_integral_value(ROUND_CEILING))
        length = ((Decimal(k * steps) / scale) ** 2 + steps**2).sqrt()
        longest = min(length**2 + half**2 + 2 * (length + half) * spread, (length + 2 * half) ** 2)
    if m.terms.squared_norm < int(longest):
        return False
    both = Fraction(2 * k * steps + 2 * sigma, scale) ** 2
    one = Fraction(k * steps + 2 * sigma, scale) ** 2 + steps**2
    return max(both, one) <= m.terms.squared_sensitivity
