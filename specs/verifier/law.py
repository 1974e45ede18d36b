"""Laws of noise and of masks as exact tables: 03, section 2, and 08, section 2."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from hashlib import sha256
from itertools import accumulate, pairwise
from math import gcd

from codec import Malformed, Record


def nearest(value: Decimal) -> int:
    """The nearest integer to a number that is known to within a billionth."""
    rounded = int(value.to_integral_value())
    if abs(abs(value - rounded) - Decimal("0.5")) < Decimal("1e-9"):
        raise ArithmeticError("too close to the middle between two integers: add digits")
    return rounded


@dataclass
class Law:
    """[V3]: masses of -radius .. radius; one weight for each bit where there are bits."""

    masses: list[int]
    weights: list[int]
    hash: bytes = b""

    @property
    def total(self) -> int:
        """T."""
        return sum(self.masses)

    @property
    def radius(self) -> int:
        """R."""
        return len(self.masses) // 2

    @property
    def cumulative(self) -> list[int]:
        """F_0 .. F_J."""
        return [0, *accumulate(self.masses)]


def noise_law(given: Record) -> Law:
    """[V3] to [V6]; Malformed for parameters that give no law."""
    if given.tag == "gaussian_table":
        law = Law(_gaussian_masses(given), [])
        encoded = b"\x01" + given.numerator.to_bytes(8) + given.denominator.to_bytes(8)
        encoded += bytes([given.bits]) + given.rows.to_bytes(2)
    else:
        law = _bits_law(given)
        runs = b"".join(run.weight.to_bytes(2) + run.count.to_bytes(2) for run in given.runs)
        encoded = b"\x02" + len(runs).to_bytes(2) + runs
    m = law.masses
    bent = any(m[i] ** 2 < m[i - 1] * m[i + 1] for i in range(1, len(m) - 1))
    if len(m) < 3 or min(m) < 1 or m != m[::-1] or bent or law.total & (law.total - 1):
        raise Malformed("a law of noise")
    width = law.total.bit_length() // 8 + 1
    rows = b"".join(bound.to_bytes(width) for bound in law.cumulative[1:])
    law.hash = sha256(b"gopa/v1/zkp/noise-table" + encoded + rows).digest()
    return law


def _gaussian_masses(given: Record) -> list[int]:
    """[V4]."""
    a, b = given.numerator, given.denominator
    fits = 0 < a < 2**63 and 0 < b < 2**63 and gcd(a, b) == 1
    if not fits or not Fraction(1, 16) <= Fraction(a, b) <= 2**20:
        raise Malformed("the square of a deviation between 1/4 and 1024")
    if not 2 <= given.bits <= 62 or not 3 <= given.rows <= 1023 or given.rows % 2 == 0:
        raise Malformed("2 to 62 bits, an odd number of 3 to 1023 rows")
    with localcontext(Context(prec=60)):
        w = [(Decimal(-i * i * b) / (2 * a)).exp() for i in range(given.rows // 2 + 1)]
        factor = 2**given.bits / (2 * sum(w) - 1)
        half = [nearest(each * factor) for each in w[1:]]
    return [*reversed(half), 2**given.bits - 2 * sum(half), *half]


def _bits_law(given: Record) -> Law:
    """[V5]."""
    runs = [(run.weight, run.count) for run in given.runs]
    total, count = sum(w * n for w, n in runs), sum(n for _, n in runs)
    increasing = all(one[0] < other[0] for one, other in pairwise(runs))
    if not increasing or min(min(run) for run in runs) < 1 or count > 1024:
        raise Malformed("weights that increase, of at most 1024 bits")
    if not 2 <= total <= 8192 or total % 2:
        raise Malformed("an even total weight of at most 8192")
    law = Law([1], [w for w, n in runs for _ in range(n)])
    for weight in law.weights:
        gap = [0] * weight
        law.masses = [x + y for x, y in zip(law.masses + gap, gap + law.masses, strict=True)]
    return law


@cache
def mask_table(deviation: int) -> list[int]:
    """08 [M6] and 01 [S6]: F_0 .. F_(2R+1); row i is the value i - R.

    1 - Phi(x) = 1/2 - phi(x) (x + x^3/3 + x^5/(3 5) + ..), term by term to 75 digits.
    """
    lower: list[int] = []
    with localcontext(Context(prec=110)):
        pi = _pi()
        while not lower or lower[-1]:
            x = (Decimal(len(lower)) + Decimal("0.5")) / deviation
            term, series, odd = x, x, 1
            while term > Decimal("1e-75") * series:
                odd += 2
                term *= x * x / odd
                series += term
            tail = Decimal("0.5") - (-x * x / 2).exp() / (2 * pi).sqrt() * series
            lower.append(nearest(tail * 2**128))
    lower = [bound for bound in reversed(lower) if bound]
    return [0, *lower, *(2**128 - bound for bound in reversed(lower)), 2**128]


def _pi() -> Decimal:
    """Machin's formula."""

    def arctangent(inverse: int) -> Decimal:
        power, total, odd = Decimal(1) / inverse, Decimal(0), 1
        while power > Decimal("1e-115"):
            total += power / odd if odd % 4 == 1 else -power / odd
            power, odd = power / (inverse * inverse), odd + 2
        return total

    return 16 * arctangent(5) - 4 * arctangent(239)
