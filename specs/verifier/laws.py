"""Laws of noise and of masks as exact tables: 03, section 2, and 08, section 2."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from hashlib import sha256
from itertools import accumulate, pairwise
from math import gcd

from codec import Record, require

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"
             "8628034825342117067982148086513282306647")  # fmt: skip


def nearest(value: Decimal) -> int:
    """The nearest integer to a number that is known to within a billionth."""
    rounded = int(value.to_integral_value())
    if abs(abs(value - rounded) - Decimal("0.5")) < Decimal("1e-9"):
        raise ArithmeticError("too close to the middle between two integers: add digits")
    return rounded


def noise_law(given: Record) -> Record:
    """03-V3 to 03-V6: masses m of -R .. R, F, T, and a weight for each bit where there are bits."""
    weights: list[int] = []
    if given.tag == "none":
        digest = sha256(b"gopa/v1/zkp/noise-table" + given.raw + b"\1").digest()
        return Record(m=[1], F=[0, 1], T=1, R=0, weights=weights, hash=digest)
    if given.tag == "gaussian_table":
        m = _gaussian_masses(given)
    else:
        weights, m = _weights(given), [1]
        for weight in weights:
            m = [x + y for x, y in zip(m + weight * [0], weight * [0] + m, strict=True)]
    F = [0, *accumulate(m)]
    require(len(m) >= 3 and min(m) >= 1 and m == m[::-1] and F[-1].bit_count() == 1)
    require(all(m[i] ** 2 >= m[i - 1] * m[i + 1] for i in range(1, len(m) - 1)))
    rows = b"".join(bound.to_bytes(F[-1].bit_length() // 8 + 1) for bound in F[1:])
    digest = sha256(b"gopa/v1/zkp/noise-table" + given.raw + rows).digest()
    return Record(m=m, F=F, T=F[-1], R=len(m) // 2, weights=weights, hash=digest)


def _gaussian_masses(given: Record) -> list[int]:
    """03-V4."""
    a, b = given.square_numerator, given.square_denominator
    require(0 < a < 2**63 and 0 < b < 2**63 and gcd(a, b) == 1)
    require(Fraction(1, 16) <= Fraction(a, b) <= 2**20)
    require(2 <= given.bits <= 62 and 3 <= given.rows <= 1023 and given.rows % 2)
    with localcontext(Context(prec=60)):
        w = [(Decimal(-i * i * b) / (2 * a)).exp() for i in range(given.rows // 2 + 1)]
        factor = 2**given.bits / (2 * sum(w) - 1)
        half = [nearest(each * factor) for each in w[1:]]
    return [*reversed(half), 2**given.bits - 2 * sum(half), *half]


def _weights(given: Record) -> list[int]:
    """03-V5."""
    runs = given.runs
    require(all(one.weight < other.weight for one, other in pairwise(runs)))
    require(all(run.weight and run.count for run in runs) and sum(r.count for r in runs) <= 1024)
    total = sum(run.weight * run.count for run in runs)
    require(2 <= total <= 8192 and total % 2 == 0)
    return [run.weight for run in runs for _ in range(run.count)]


@cache
def mask_table(deviation: int) -> list[int]:
    """08-M6 and 01-S5: F_0 .. F_(2R+1); row i is the value i - R.

    1 - Phi(x) = 1/2 - phi(x) (x + x^3/3 + x^5/(3 5) + ..), term by term to 75 digits.
    """
    lower: list[int] = []
    with localcontext(Context(prec=110)):
        while not lower or lower[-1]:
            x = (Decimal(len(lower)) + Decimal("0.5")) / deviation
            term, series, odd = x, x, 1
            while term > Decimal("1e-75") * series:
                odd += 2
                term *= x * x / odd
                series += term
            tail = Decimal("0.5") - (-x * x / 2).exp() / (2 * PI).sqrt() * series
            lower.append(nearest(tail * 2**128))
    lower = [bound for bound in reversed(lower) if bound]
    return [0, *lower, *(2**128 - bound for bound in reversed(lower)), 2**128]
