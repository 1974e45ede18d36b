"""What terms are worth: 03, section 12, with the bounds of its sections 4, 5 and 9."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ceil, erfc, exp, expm1, floor, fsum, inf, isqrt, log, log1p, sqrt
from typing import Any

from codec import Record, require
from graphs import covered, disconnected, energy, left, log_sum, outvoted

T = 1e-3  # half of the band, [V35]
Masses = list[float]


def PHI(x: float) -> float:
    """The normal distribution, exact in its lower tail."""
    return erfc(-x / sqrt(2)) / 2


def judged(t: Record, law: Record) -> str:
    """[V35]."""
    delta, gauss = float(t.delta), bool(t.mask == "gaussian")
    b = granted(t)
    less, more = (worth(t, law, each) for each in (b * (1 - T), b * (1 + T)))
    if max(less, more if gauss else 0) <= (1 - T) * delta:
        return "kept"
    return "broken" if min(more, less if gauss else 1) > (1 + T) * delta else "too close to say"


def granted(t: Record) -> float:
    """[V35]: the chance of bad graphs that the terms grant, which is what they are charged."""
    return min(0.5, max(float(t.beta), 1e-300))


def worth(t: Record, law: Record, b: float) -> float:
    """[V36], [V37]: L(b)."""
    N, tau = t.survivors - t.corrupt, Fraction(t.threshold_numerator, t.threshold_denominator)
    square = N * sum(m * i * i for i, m in zip(range(-law.R, law.R + 1), law.m, strict=True))
    sparse = t.parties > t.k + 1
    if square > 2**26 * law.T or (sparse and t.k > (1000 if tau else 2000)):
        return 1.0
    if tau and t.survivors <= t.k + 1 and (t.corrupt > tau * (t.survivors - 1) or left(t) < 1):
        return 1.0
    E: float = 0
    if t.mask == "uniform":
        if not covered(t, b, lambda low, high: disconnected(t, low, high)):
            return 1.0
    else:
        E = energy(t, b)
    if tau and not covered(t, b, lambda low, high: outvoted(t, low, high, tau)):
        return 1.0
    if inf == E:
        return 1.0
    chance = granted(t) * sparse * (1 + bool(tau))
    spent = noise(t, law, N, square / law.T, E) + t.attempts * t.rounds * chance
    return min(1.0, float(spent))


# Noise


SCALE, SLOT = 180, 48  # bits behind the point; bytes for a product of two


def convolved(a: Masses, b: Masses) -> Masses:
    """The law of a sum: the product of two integers whose digits are the masses."""
    numbers = []
    for masses in (a, b):
        digits = (int(p * 2.0**SCALE).to_bytes(SLOT, "little") for p in masses)
        numbers.append(int.from_bytes(b"".join(digits), "little"))
    size = len(a) + len(b) - 1
    data = (numbers[0] * numbers[1]).to_bytes((size + 1) * SLOT, "little")
    digits = (data[at : at + SLOT] for at in range(0, size * SLOT, SLOT))
    return [int.from_bytes(each, "little") / 4.0**SCALE for each in digits]


class Law:
    """Masses from `first` on, and what was cut."""

    def __init__(self, first: int, masses: Masses, cut: float = 0.0) -> None:
        self.first, self.masses, self.cut = first, masses, cut

    def plus(self, other: Law, least: float) -> Law:
        masses, gone, low = convolved(self.masses, other.masses), 0.0, 0
        for side in (1, -1):
            masses, total, n = masses[::side], 0.0, 0
            while n < len(masses) and total + masses[n] <= least:
                total, n = total + masses[n], n + 1
            masses, gone = masses[n:][::side], gone + total
            low = n if side == 1 else low
        return Law(self.first + other.first + low, masses, self.cut + other.cut + gone)

    def times(self, count: int, least: float, most: float = inf) -> Law | None:
        found = self
        for bit in bin(count)[3:]:
            for other in (None, self) if bit == "1" else (None,):
                most -= len(found.masses) * len((other or found).masses)
                if most < 0:
                    return None
                found = found.plus(other or found, least)
        return found


def composed(t: Record) -> int:
    """[V24d]: releases of one logical round."""
    if not t.threshold_numerator:
        return int(t.charged + 1)
    confirmed = (t.charged + 1) * (t.parties - t.corrupt) // (t.survivors - t.corrupt)
    return int(min(t.attempts, confirmed))


def noise(t: Record, law: Record, N: int, variance: float, E: float) -> float:
    """nu: [V38] to [V40]."""
    one = Law(-law.R, [m / law.T for m in law.m])
    P: Any = one.times(N, float(t.delta) * 1e-9 / N)
    require(P is not None)
    m, Q, eps = isqrt(t.squared_sensitivity), t.rounds * composed(t), float(t.epsilon)
    scale = t.mask_deviation or 1
    if t.dimension > 1:
        orders = range(-3, 4) if 2 * N * law.R <= 2**14 else range(1)
        mu = sqrt(E * t.squared_sensitivity) / scale
        return _vectors(t, P, variance, mu, Q, eps, N, orders)
    mu = sqrt(E) / scale
    if Q == 1:
        pairs = zip(P.masses, ([0.0] * m + P.masses), strict=False)
        return float(
            P.cut + fsum(p * (curve(eps - log(p / q), mu) if q else 1) for p, q in pairs if p)
        )
    total = sqrt(Q * (m * m / variance + mu * mu))
    return 1.0 if total > 50 else _releases(P, m, mu, Q, eps, total / 600)


def curve(x: float, mu: float) -> float:
    """[V7]."""
    if not mu:
        return max(0.0, -expm1(x)) if x < 0 else 0.0
    return PHI(mu / 2 - x / mu) - exp(min(x, 700)) * PHI(-mu / 2 - x / mu)


def _releases(P: Law, m: int, mu: float, Q: int, eps: float, step: float) -> float:
    """[V39]."""
    grid: dict[int, float] = {}
    infinite = P.cut
    for p, q in zip(P.masses, [0.0] * m + P.masses, strict=False):
        if not q:
            infinite += p
            continue
        x = log(p / q)
        place = floor(x / step)
        part = min(1.0, expm1(-(x - place * step)) / expm1(-step))
        grid[place] = grid.get(place, 0.0) + p * (1 - part)
        grid[place + 1] = grid.get(place + 1, 0.0) + p * part
    losses, beyond = _as_law(grid), 0.0
    if len(losses.masses) > 2**17 + 1:
        return 1.0
    if mu:
        losses, beyond = losses.plus(_as_law(_gaussian(mu, step)), 1e-26), 2 * PHI(-10.99)
    infinite += beyond * (1 - infinite)
    composed = losses.times(Q, 1e-26, 2**34)
    if composed is None:
        return 1.0
    finite = fsum(
        p * -expm1(min(0.0, eps - (composed.first + i) * step))
        for i, p in enumerate(composed.masses)
    )
    return finite - expm1(Q * log1p(-infinite)) + composed.cut


def _as_law(grid: dict[int, float]) -> Law:
    first = min(grid)
    return Law(first, [grid.get(i, 0.0) for i in range(first, max(grid) + 1)])


def _gaussian(mu: float, step: float) -> dict[int, float]:
    first, last = floor((mu * mu / 2 - 11 * mu) / step), ceil((mu * mu / 2 + 11 * mu) / step)
    grid: dict[int, float] = {}
    for i in range(first, last):
        ends = [(j * step - mu * mu / 2) / mu for j in (i, i + 1)]
        p, q = (_between(ends[0] + s, ends[1] + s) for s in (0, mu))
        part = (
            min(1.0, max(0.0, -expm1(log(q / p) + i * step) / -expm1(-step)) + 1e-3)
            if p > 1e-22 and q
            else 1.0
        )
        grid[i] = grid.get(i, 0.0) + p * (1 - part)
        grid[i + 1] = grid.get(i + 1, 0.0) + p * part
    return grid


def _between(low: float, high: float) -> float:
    return PHI(high) - PHI(low) if low + high < 0 else PHI(-low) - PHI(-high)


def _vectors(
    t: Record, P: Law, variance: float, mu: float, Q: int, eps: float, N: int, orders: range
) -> float:
    """[V40]."""
    squared = t.squared_sensitivity
    R, p = min(t.steps, isqrt(squared)), P.masses
    if len(p) <= R:
        return 1.0
    w = Q * (squared / variance + mu * mu)
    best = max(1.5, ((w / 2 + eps) + sqrt((w / 2 + eps) ** 2 + 4 * w)) / (2 * w))
    logs, bounds = list(map(log, p)), []
    for power in orders:
        a = 1 + (best - 1) * 2.0**power
        D = Q * (squared * _rate(logs, R, a) / (a - 1) + a * mu * mu / 2)
        D += Q * t.dimension * (2 * a - 1) * (N + 32) * 2.0**-44 / (a - 1)
        bounds.append((a - 1) * (D - eps) + (a - 1) * log1p(-1 / a) - log(a))
    outside = max(fsum(p[:R]), fsum(p[-R:])) + P.cut
    return float(min(1.0, exp(min(0.0, *bounds)) + Q * t.dimension * outside))


def _rate(logs: list[float], R: int, a: float) -> float:
    """The largest F(j)/j^2, chords included."""

    def moment(j: int) -> float:
        return log_sum([(a - 1) * (logs[k] - logs[k - j]) + logs[k] for k in range(R, len(logs))])

    places = [1]
    while places[-1] < R:
        places.append(min(R, places[-1] + max(1, places[-1] // 20)))
    points = [(j, moment(j)) for j in places]
    rate = max(0.0, *(value / j**2 for j, value in points))
    for (j, F), (l, G) in pairwise(points):
        slope = (G - F) / (l - j)
        start = F - slope * j
        if l - j > 1 and start < 0 < slope:
            at = min(max(-2 * start / slope, j), l)
            rate = max(rate, (start + slope * at) / at**2)
    return rate
