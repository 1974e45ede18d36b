"""The delta of noise and masks: 03-V38 to 03-V40.

Short laws are summed exactly. Long ones are smooth: their masses come from the inverse Fourier
transform around the saddle point, and sums over them from every g-th term.
"""

from __future__ import annotations

from cmath import cosh as ccosh
from cmath import exp as cexp
from cmath import log as clog
from collections import Counter, defaultdict
from collections.abc import Callable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from itertools import pairwise
from math import ceil, cos, erfc, exp, expm1, floor, fsum, inf, isqrt, log, log1p, pi, sqrt

from codec import Record  # noqa: TC002

Masses = list[float]
SHORT = 5_000  # outcomes of a sum that is taken exactly
EDGED = 85_000  # of a sum of few draws, which ends where it is not yet negligible
WHOLE = 4_000_000  # products along a whole period of a discrete loss
NODES = 40  # of the polynomial for the logarithm of a long law


class Costly(Exception):
    """More work than this program does for one manifest."""


def PHI(x: float) -> float:
    """The normal distribution, exact in its lower tail."""
    return erfc(-x / sqrt(2)) / 2


# The law of a sum

DIGITS, SLOT = 56, 120  # of a mass, and of a sum of products of two
WIDE = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def convolved(a: Masses, b: Masses) -> Masses:
    """The law of a sum: the product of two decimals whose digits are the masses."""
    numbers = []
    for masses in (a, b):
        digits = (str(int(Decimal(p).scaleb(DIGITS))).zfill(SLOT) for p in masses)
        numbers.append(Decimal("".join(digits)))
    size = len(a) + len(b) - 1
    text = str(WIDE.multiply(*numbers)).zfill(size * SLOT)
    text = text[len(text) - size * SLOT :]
    return [
        float(Decimal(text[at : at + SLOT]).scaleb(-2 * DIGITS))
        for at in range(0, size * SLOT, SLOT)
    ]


def trimmed(masses: Masses, least: float) -> Masses:
    """A symmetric law without what has at most this mass at each end."""
    gone, n = 0.0, 0
    while gone + masses[n] <= least:
        gone, n = gone + masses[n], n + 1
    return masses[n : len(masses) - n]


def exact(one: Masses, N: int, least: float) -> Masses:
    """A sum by doubling."""
    found = one
    for bit in bin(N)[3:]:
        found = trimmed(convolved(found, found), least)
        if bit == "1":
            found = trimmed(convolved(found, one), least)
    return found


class Transform:
    """K(z) = ln E e^(zX) of one draw, for complex z."""

    def __init__(self, law: Record) -> None:
        weights = Counter(getattr(law, "weights", []))
        self.runs = [(w / 2, c) for w, c in weights.items()]
        self.half = [m / law.T for m in law.m[law.R :]]

    def __call__(self, z: complex) -> complex:
        if self.runs:
            total = 0j
            for w, c in self.runs:
                x = w * z  # ln cosh without overflow
                total += c * (x + clog((1 + cexp(-2 * x)) / 2))
            return total
        p = self.half
        return clog(p[0] + 2 * sum(p[i] * ccosh(i * z) for i in range(1, len(p))))


def log_mass(K: Transform, N: int, k: float, sigma: float) -> float:
    """ln P(k): a circle through the saddle point."""
    tilt, step = k / sigma**2, 1e-3 / sigma
    for _ in range(30):
        a, b, c = (K(complex(tilt + e * step)).real * N for e in (-1, 0, 1))
        slope, bend = (c - a) / (2 * step), (a - 2 * b + c) / step**2
        move = (k - slope) / bend
        tilt += move
        if abs(move) < 1e-6 * (abs(tilt) + 1 / sigma):
            break
    base, turn, total, t = K(complex(tilt)).real, 0.35 / sqrt(bend), 0.5, 0.0
    quiet = 0
    while quiet < 4:
        t += turn
        if t >= pi:
            break
        e = N * (K(complex(tilt, t)) - base) - 1j * k * t
        value = cexp(e).real
        total += value
        quiet = quiet + 1 if e.real < -42 else 0
    return float(N * base - tilt * k + log(total * turn / pi))


def smooth(law: Record, N: int, sigma: float, least: float) -> Masses:
    """A long sum: ln P is nearly a polynomial of k^2; cubics fill in between."""
    K, last = Transform(law), N * law.R
    low, high = 0.0, min(0.9 * last, 16 * sigma)

    def beyond(k: float) -> float:  # of the tail, from its first mass and their ratio
        first, second = log_mass(K, N, k, sigma), log_mass(K, N, k + 1, sigma)
        return first - log(-expm1(second - first))

    enough = log(least) - 12
    if beyond(high) > enough:
        raise Costly
    while high - low > sigma / 4:
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) > enough else (low, middle)
    top = high * high
    nodes = [cos(pi * (i + 0.5) / NODES) for i in range(NODES)]
    values = [log_mass(K, N, sqrt((x + 1) / 2 * top), sigma) for x in nodes]
    rows = [[cos(pi * j * (i + 0.5) / NODES) for i in range(NODES)] for j in range(NODES)]
    series = [2 / NODES * sum(map(float.__mul__, values, row)) for row in rows]

    def at(k: float) -> float:
        x, b, c = 2 * (2 * k * k / top - 1), 0.0, 0.0
        for s in reversed(series[1:]):
            b, c = s + x * b - c, b
        return float(series[0] / 2 + x / 2 * b - c)

    h, end = max(1, int(sigma / 24)), int(high)
    points = [at(abs(i) * h) for i in range(-1, end // h + 3)]
    logs = []
    for i in range(1, end // h + 2):
        p0, p1, p2, p3 = points[i - 1 : i + 3]
        c3, c2 = (p3 - p0) / 6 + (p1 - p2) / 2, (p0 + p2) / 2 - p1
        c1 = p2 - p1 - c2 - c3
        logs += [p1 + u * (c1 + u * (c2 + u * c3)) for u in (j / h for j in range(h))]
    half = [exp(each) for each in logs[: end + 1]]
    return trimmed([*half[:0:-1], *half], least)


def law_of_sum(law: Record, N: int, variance: float, least: float) -> Masses:
    """P."""
    sigma, one, most = sqrt(variance), [m / law.T for m in law.m], 2 * N * law.R + 1
    if min(most, 26 * sigma) <= SHORT or (N <= 16 and most <= EDGED):
        return exact(one, N, least)
    return smooth(law, N, sigma, least)


# One release of a number


def curve(x: float, mu: float) -> float:
    """03-V7."""
    if not mu:
        return max(0.0, -expm1(x)) if x < 0 else 0.0
    return PHI(mu / 2 - x / mu) - exp(min(x, 700)) * PHI(-mu / 2 - x / mu)


def single(p: Masses, cut: float, m: int, mu: float, eps: float, sigma: float) -> float:
    """03-V38."""
    lost, total = fsum(p[:m]) + cut, 0.0
    if not mu:
        for above, below in zip(p[m:], p, strict=False):
            part = above - exp(eps) * below  # falls, as the law is log-concave
            if part <= 0:
                break
            total += part
        return lost + total
    g = max(1, int(min(sigma, mu * sigma * sigma / m) / 50))
    pairs = zip(p[m::g], p[::g], strict=False)
    return lost + g * fsum(above * curve(eps - log(above / below), mu) for above, below in pairs)


# Releases


def releases(p: Masses, cut: float, m: int, mu: float, Q: int, eps: float, step: float) -> float:
    """03-V39, composed by an inverse Laplace transform of the loss instead of convolutions."""
    grid, infinite = defaultdict[int, float](float), fsum(p[:m]) + cut
    for above, below in zip(p[m:], p, strict=False):
        x = log(above / below) / step
        place = floor(x)
        part = expm1((place - x) * step) / expm1(-step)
        grid[place] += above * (1 - part)
        grid[place + 1] += above * part
    factors: list[dict[int, float]] = [grid]
    if mu:
        factors.append(_gaussian(mu, step))
        infinite += 2 * PHI(-10.99) * (1 - infinite)
    if not grid:
        return 1.0
    if any(max(each) - min(each) > 2**16 for each in factors):
        return 1.0
    certain = -expm1(Q * log1p(-min(infinite, 1 - 1e-16))) + 4e-26 * Q
    return min(1.0, certain + _exceeding([Tilted(each, step) for each in factors], Q, eps, step))


def _gaussian(mu: float, step: float) -> dict[int, float]:
    first, last = floor((mu * mu / 2 - 11 * mu) / step), ceil((mu * mu / 2 + 11 * mu) / step)
    grid = defaultdict[int, float](float)
    for i in range(first, last):
        ends = [(j * step - mu * mu / 2) / mu for j in (i, i + 1)]
        p, q = (_between(ends[0] + s, ends[1] + s) for s in (0, mu))
        part = 1.0
        if p > 1e-22 and q:
            part = min(1.0, max(0.0, -expm1(log(q / p) + i * step) / -expm1(-step)) + 1e-3)
        grid[i] += p * (1 - part)
        grid[i + 1] += p * part
    return grid


def _between(low: float, high: float) -> float:
    return PHI(high) - PHI(low) if low + high < 0 else PHI(-low) - PHI(-high)


class Tilted:
    """The losses of one release, each mass times e^(c loss), as positions on a grid."""

    def __init__(self, grid: dict[int, float], step: float) -> None:
        self.places = [i * step for i in sorted(grid)]
        self.masses = [grid[i] for i in sorted(grid)]

    def at(self, c: float) -> tuple[float, Masses, float, float]:
        """ln M(c), the law that is proportional to the tilted masses, its mean and variance."""
        top = max(self.places[0] * c, self.places[-1] * c)
        parts = [p * exp(c * x - top) for x, p in zip(self.places, self.masses, strict=True)]
        whole = fsum(parts)
        law = [p / whole for p in parts]
        mean = fsum(map(float.__mul__, law, self.places))
        square = fsum(p * (x - mean) ** 2 for x, p in zip(self.places, law, strict=True))
        return log(whole) + top, law, mean, square


def _exceeding(factors: list[Tilted], Q: int, eps: float, step: float) -> float:
    """E (1 - e^(eps - Z))_+ for Z the sum of Q losses: the integral of M(s)^Q times a kernel.

    M(s) = E e^(s loss) is periodic along a line; the kernel is the sum of e^(-s z)
    (1 - e^(eps - z)) over the grid points z above eps.
    """
    first = floor(eps / step) + 1
    gap = first * step - eps
    if Q * sum(each.places[-1] for each in factors) < first * step - step / 2:
        return 0.0
    c = _saddle(factors, Q, first * step)
    found = [each.at(c) for each in factors]
    spread = sqrt(Q * sum(square for _, _, _, square in found))
    terms = ceil(pi / step / min(0.35 / max(spread, step), c / 4))
    turn = pi / step / terms
    live = [
        [(x, p) for x, p in zip(each.places, law, strict=True) if p > 1e-19]
        for each, (_, law, _, _) in zip(factors, found, strict=True)
    ]
    turns = [[cexp(1j * turn * x) for x, _ in one] for one in live]
    now = [[p + 0j for _, p in one] for one in live]

    def kernel(s: complex) -> complex:  # but for e^(-s first step)
        return 1 / (1 - cexp(-s * step)) - exp(-gap) / (1 - cexp(-(s + 1) * step))

    total, quiet = kernel(complex(c)).real / 2, 0
    scale, size = abs(total) * 1e-9, sum(map(len, live))
    for i in range(1, terms + 1):
        now = [list(map(complex.__mul__, a, b)) for a, b in zip(now, turns, strict=True)]
        value = cexp(-1j * i * turn * first * step) * kernel(complex(c, i * turn))
        for each in now:
            value *= sum(each) ** Q
        total += value.real / (1 + (i == terms))
        quiet = quiet + 1 if abs(value) < scale else 0
        if quiet > 64 and terms * size > WHOLE:
            break
        if i * size > 4 * WHOLE:
            raise Costly
    power = Q * sum(each[0] for each in found) - c * first * step
    return exp(min(700.0, power)) * total * turn * step / pi


def _saddle(factors: list[Tilted], Q: int, target: float) -> float:
    """About where the integrand is least on the real line."""

    def push(s: float) -> float:
        return Q * sum(each.at(s)[2] for each in factors) - target - 1 / s - 1 / (s + 1)

    low, high = 0.0, 1.0
    while push(high) < 0 and high < 1e6:
        low, high = high, 2 * high
    while high - low > 0.02 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if push(middle) < 0 else (low, middle)
    return high


# Vectors


def largest(t: Record) -> int:
    """R of 03-V40 before M bounds it: m, or 14-U3."""
    m2, squared = t.steps**2, t.squared_sensitivity
    counts = (t.squared_norm, squared) == (m2, 2 * m2)
    if not t.squared_norm or counts or squared >= t.dimension * m2:
        return int(t.steps)
    return 2 * isqrt(t.squared_norm)


def vectors(
    p: Masses, cut: float, t: Record, variance: float, mu: float, Q: int, eps: float, N: int,
    orders: range,
) -> float:  # fmt: skip
    """03-V40."""
    squared = t.squared_sensitivity
    R = min(largest(t), isqrt(squared))
    if len(p) <= R:
        return 1.0
    w = Q * (squared / variance + mu * mu)
    best = max(1.5, ((w / 2 + eps) + sqrt((w / 2 + eps) ** 2 + 4 * w)) / (2 * w))
    logs, bounds = list(map(log, p)), []
    for power in orders:
        a = 1 + (best - 1) * 2.0**power
        D = Q * (squared * _rate(logs, R, a, sqrt(variance)) / (a - 1) + a * mu * mu / 2)
        D += Q * t.dimension * (2 * a - 1) * (N + 32) * 2.0**-44 / (a - 1)
        bounds.append((a - 1) * (D - eps) + (a - 1) * log1p(-1 / a) - log(a))
    outside = fsum(p[:R]) + cut
    return float(min(1.0, exp(min(0.0, *bounds)) + Q * t.dimension * outside))


def _rate(logs: Masses, R: int, a: float, sigma: float) -> float:
    """The largest F(j)/j^2, chords included."""
    places = [1]
    while places[-1] < R:
        places.append(min(R, places[-1] + max(1, places[-1] // 20)))
    points = [(j, _moment(logs, R, a, j, sigma)) for j in places]
    rate = max(0.0, *(value / j**2 for j, value in points))
    for (j, F), (l, G) in pairwise(points):
        slope = (G - F) / (l - j)
        start = F - slope * j
        if l - j > 1 and start < 0 < slope:
            at = min(max(-2 * start / slope, j), l)
            rate = max(rate, (start + slope * at) / at**2)
    return rate


def _moment(logs: Masses, R: int, a: float, j: int, sigma: float) -> float:
    """F(j). What falls from the lower end on may rise again in the middle: all is summed."""

    def term(k: int) -> float:
        return (a - 1) * (logs[k] - logs[k - j]) + logs[k]

    end = len(logs) - 1
    rise = term(min(R + 1, end)) - term(R)  # at the lower end
    far = end if rise >= 0 else min(end, R + int(60 / -rise) + 1)
    parts = [_summed(term, R, far, sigma / 16)]
    if far < end:
        parts.append(_summed(term, far + 1, end, sigma / 16))
    top = max(parts)
    return top + log(fsum(exp(each - top) for each in parts))


def _summed(term: Callable[[int], float], first: int, last: int, most: float) -> float:
    """ln of the sum: every g-th term, with Euler and Maclaurin's correction at the first."""
    rise = term(min(first + 1, last)) - term(first)
    g = max(1, int(min(most, 1 / (8 * abs(rise)) if rise < 0 else inf)))
    terms = [term(k) for k in range(first, last + 1, g)]
    top = max(terms)
    total = g * fsum(exp(each - top) for each in terms)
    total -= exp(terms[0] - top) * ((g - 1) / 2 - (g * g - 1) / 12 * rise)
    return top + log(total)
