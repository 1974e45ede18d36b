"""What terms are worth: 03, section 12, with the bounds of its sections 4 to 9."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, expm1, floor, ceil, fsum, inf, isqrt, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import Any

from codec import Record, require

T = 1e-3  # half of the band, [V35]
PHI = NormalDist().cdf
Masses = list[float]


def ways(total: int, part: int) -> float:
    """ln C(total, part)."""
    if not 0 <= part <= total:
        return -inf
    return lgamma(total + 1) - lgamma(part + 1) - lgamma(total - part + 1)


def log_sum(logs: list[float]) -> float:
    """The logarithm of a sum of exponentials."""
    top = max(logs, default=-inf)
    return top if top == -inf else top + log(fsum(exp(each - top) for each in logs))


def judged(t: Record, law: Record) -> str:
    """[V35]."""
    delta, gauss = float(t.delta), bool(t.mask == "gaussian")
    b = min(0.5, max(float(t.beta), 1e-300))
    less, more = (worth(t, law, each) for each in (b * (1 - T), b * (1 + T)))
    if max(less, more if gauss else 0) <= (1 - T) * delta:
        return "kept"
    return "broken" if min(more, less if gauss else 1) > (1 + T) * delta else "too close to say"


def worth(t: Record, law: Record, b: float) -> float:
    """[V36], [V37]: L(b)."""
    N, tau = t.survivors - t.corrupt, Fraction(t.threshold_numerator, t.threshold_denominator)
    square = N * sum(m * i * i for i, m in zip(range(-law.R, law.R + 1), law.m, strict=True))
    sparse = t.parties > t.k + 1
    if square > 2**26 * law.T or (sparse and t.k > (1000 if tau else 2000)):
        return 1.0
    if tau and t.survivors <= t.k + 1 and t.corrupt > tau * (t.survivors - 1):
        return 1.0
    E: float = 0
    if t.mask == "uniform":
        if not covered(t, b, lambda low, high: disconnected(t, low, high)):
            return 1.0
    else:
        E = energy(t, b)
    if tau and not covered(t, b, lambda low, high: opened(t, low, high, tau)):
        return 1.0
    if inf == E:
        return 1.0
    chance = float(t.beta) * sparse * (1 + bool(tau))
    spent = noise(t, law, N, square / law.T, E) + t.attempts * t.rounds * chance
    return min(1.0, float(spent))


# Graphs


def halvings(t: Record) -> int:
    """H."""
    return int(min(8, max(2, 1000 // t.k)))


def covered(t: Record, b: float, bound: Callable[[int, int], float]) -> bool:
    """Whether the bound is at most b for every number of parties."""
    waiting, left = [(max(t.survivors, t.k + 2), t.parties)], halvings(t)
    while waiting:
        low, high = waiting.pop()
        if low > high:
            return True  # every graph is complete
        if 2 * (high - low) < high - t.corrupt and bound(low, high) <= b:
            continue
        if low == high or not left:
            return False
        left, middle = left - 1, (low + high) // 2
        waiting += [(middle + 1, high), (low, middle)]
    return True


def lost(t: Record, high: int) -> int:
    """r at an interval's end."""
    return int(min(t.loss, high - t.survivors))


def degree(t: Record, low: int, high: int, most: int) -> float:
    """P(degree <= most), by [V24a]."""
    h, k, p = low - t.corrupt - 1, t.k, t.k / (high - 1)
    below, logs = -inf, []
    own = [
        ways(h, x) + ways(low - 1 - h, k - x) - ways(low - 1, k) for x in range(min(k, h, most) + 1)
    ]
    numbers = [x for x, each in enumerate(own) if each > -700]
    count = len(numbers) if len(numbers) <= 128 else 64
    size, more = divmod(len(numbers), count or 1)
    for i in range(count):
        at = i * size + min(i, more)
        run = numbers[at : at + size + (i < more)]
        trials = h - run[-1]
        hits = [
            ways(trials, y) + y * log(p) + (trials - y) * log1p(-p)
            for y in range(min(trials, most - run[0]) + 1)
        ]
        logs += [own[x] + log_sum(hits[: most - x + 1]) for x in run]
    if any(-inf < each <= -700 for each in own):
        below = log(k + 1) - 700
    return min(1.0, exp(log_sum([below, *logs])))


def tail(trials: float, share: float, chance: float) -> float:
    """Chernoff's bound, as a logarithm."""
    if share >= chance:
        return 0.0
    first = share * log(share / chance) if share > 0 else 0.0
    return -trials * (first + (1 - share) * log((1 - share) / (1 - chance)))


def avoiding(total: int, avoided: int, draws: int) -> float:
    """ln C(total - avoided, draws) / C(total, draws)."""
    if avoided > total - draws:
        return -inf
    return fsum(log1p(-avoided / (total - i)) for i in range(draws))


def disconnected(t: Record, low: int, high: int) -> float:
    """[V23] for an interval."""
    h, f, k, r, M = high - t.corrupt, low - t.corrupt, t.k, lost(t, high), high - 1
    p, most = 1 - (1 - k / M) ** 2, (high - t.corrupt) // 2
    logs = [log(h) + log(max(1e-300, degree(t, low, high, r)))]
    for a in range(2, min(most, 512) + 1):
        own = log_sum(
            [
                ways(f - a, x) + ways(low - 1 - f + a, k - x) - ways(low - 1, k)
                for x in range(min(r, k) + 1)
            ]
        )
        foreign = (
            tail(k * (f - a), r * a / (k * (f - a)), a / M) if r else (f - a) * avoiding(M, a, k)
        )
        first = ways(h, a) + a * min(0.0, own) + foreign
        second = ways(h, a) + tail(a * (f - a), r / (f - a), p)
        rest = max(a, h - (high - t.survivors) - a)
        third = ways(h, a) + ways(h - a, rest) + a * avoiding(M, rest, k) + rest * avoiding(M, a, k)
        logs.append(min(first, second, third))
    a = 513
    while a <= most:
        z = min(most, a + a // 64)
        pairs = min(a * (f - a), z * (f - z))
        logs.append(log(z - a + 1) + ways(h, z) + tail(pairs, r / (f - z), p))
        a = z + 1
    return min(1.0, exp(min(0.0, log_sum(logs))))


def binomial(trials: int, chance: float) -> list[float]:
    """Logarithms of all masses."""
    if chance >= 1:
        return [-inf] * trials + [0.0]
    return [
        ways(trials, x) + x * log(chance) + (trials - x) * log1p(-chance) for x in range(trials + 1)
    ]


def opened(t: Record, low: int, high: int, tau: Fraction) -> float:
    """[V25a] for an interval."""
    c, k, r, others = t.corrupt, t.k, lost(t, high), low - 1
    w, h = (1.0 if t.beacon == "drand" else 2.0**64), high - t.corrupt
    logs = []
    for x in range(max(0, k - (others - c)), min(k, c) + 1):
        chosen = ways(c, x) + ways(others - c, k - x) - ways(others, k)
        if chosen < -300:
            continue
        joined = binomial(low - c - 1 - (k - x), k / (high - 1))
        attack = binomial(c - x, k / others)
        for y, each in enumerate(joined):
            if each < -300:
                continue
            z = floor((tau * (k - r + y) - x) / (1 - tau)) + 1
            enough = log_sum(attack[max(z, 0) :])
            logs.append(chosen + each + min(0.0, log(w) + enough))
    return float(min(1.0, h * exp(min(0.0, log_sum(logs)))))


def growth(t: Record, low: int, high: int, size: int, b: float) -> int:
    """[V24]: so many honest neighbours outside of every set of this size."""
    h, f, k = high - t.corrupt, low - t.corrupt, t.k

    def fails(width: int) -> bool:
        if size == 1:
            return bool(h * degree(t, low, high, width) <= b / 2)
        rest = f - size - width
        found = ways(h, size) + ways(h - size, width)
        found += size * avoiding(low - 1, rest, k) + rest * avoiding(high - 1, size, k)
        return bool(found <= log(b / 32))

    bottom, top = -1, min(f, 2 * k) if size == 1 else f - size
    while top - bottom > 1:
        middle = (bottom + top) // 2
        bottom, top = (middle, top) if fails(middle) else (bottom, middle)
    return bottom + 1


def flow(t: Record, low: int, high: int, b: float) -> float:
    """[V16] along level sets: the energy for an interval."""
    m = t.steps if t.dimension == 1 else 1
    h, size, drop, steps = high - t.corrupt, 1, 0, 0
    while 2 * size <= h:
        fresh = growth(t, low, high, size, b) - min(lost(t, high) * size, high - t.survivors)
        best: Any = None
        for i in sorted({m // q for q in range(1, m + 2)}):
            grown = size + fresh - m // (i + 1)
            if grown > size:
                rate = (2 * i + 1) / log(min(grown, h // 2 + 1) / size)
                best = min(best or (inf,), (rate, 2 * i + 1, grown), key=lambda each: each[0])
                if 2 * grown > h:
                    break
        if best is None or steps == 16:
            return inf
        _, cost, size = best
        drop, steps = drop + cost, steps + 1
    return 2 * m * drop


def energy(t: Record, b: float) -> float:
    """E(b)."""
    m, N = (t.steps if t.dimension == 1 else 1), t.survivors - t.corrupt
    full: float = 0
    if t.survivors <= t.k + 1:
        spread = [divmod(m - i, N - 2) if N > 2 else (0, 0) for i in range(m + 1)]
        full = min(
            i * i + 2 * (q * q * (N - 2 - more) + (q + 1) ** 2 * more)
            for i, (q, more) in enumerate(spread)
            if N > 2 or i == m
        )
    low, high = max(t.survivors, t.k + 2), t.parties
    if low > high:
        return full
    few = min(high, max(low, t.survivors + t.loss))
    single = {high, (high + few) // 2, few}
    reached = max(flow(t, n, n, b) for n in single if n >= low)
    if reached == inf:
        return inf

    def over(low: int, high: int) -> float:
        return inf if 2 * (high - low) >= high - t.corrupt else flow(t, low, high, b)

    parts, goal = [(-over(low, high), low, high)], reached * 1.05
    for _ in range(halvings(t)):
        if -parts[0][0] <= goal:
            break
        _, first, last = parts.pop(0)
        middle = (first + last) // 2
        for start, stop in ((first, middle), (middle + 1, last)):
            value = over(start, stop)
            parts.append((-value, start, stop))
            goal = max(goal, value * 1.05) if start == stop else goal
        parts.sort()
    return max(full, -parts[0][0])


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


def noise(t: Record, law: Record, N: int, variance: float, E: float) -> float:
    """nu: [V38] to [V40]."""
    one = Law(-law.R, [m / law.T for m in law.m])
    P: Any = one.times(N, float(t.delta) * 1e-9 / N)
    require(P is not None)
    m, Q, eps = isqrt(t.squared_sensitivity), t.rounds * (t.charged + 1), float(t.epsilon)
    scale = t.mask_deviation or 1
    if t.dimension > 1:
        return _vectors(t, P, variance, sqrt(E * t.squared_sensitivity) / scale, Q, eps)
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
            if p > 1e-22
            else 1.0
        )
        grid[i] = grid.get(i, 0.0) + p * (1 - part)
        grid[i + 1] = grid.get(i + 1, 0.0) + p * part
    return grid


def _between(low: float, high: float) -> float:
    return PHI(high) - PHI(low) if low + high < 0 else PHI(-low) - PHI(-high)


def _vectors(t: Record, P: Law, variance: float, mu: float, Q: int, eps: float) -> float:
    """[V40]."""
    squared = t.squared_sensitivity
    R, p = min(t.steps, isqrt(squared)), P.masses
    if len(p) <= R:
        return 1.0
    w = Q * (squared / variance + mu * mu)
    a = max(1.5, ((w / 2 + eps) + sqrt((w / 2 + eps) ** 2 + 4 * w)) / (2 * w))
    logs = list(map(log, p))

    def moment(j: int) -> float:
        return log_sum([(a - 1) * (logs[k] - logs[k - j]) + logs[k] for k in range(R, len(p))])

    places = [1]
    while places[-1] < R:
        places.append(min(R, places[-1] + max(1, places[-1] // 20)))
    values = [moment(j) for j in places]
    rate = max(0.0, *(value / j**2 for j, value in zip(places, values, strict=True)))
    for (j, F), (l, G) in zip(
        zip(places, values, strict=True), list(zip(places, values, strict=True))[1:], strict=False
    ):
        slope = (G - F) / (l - j)
        start = F - slope * j
        if l - j > 1 and start < 0 < slope:
            at = min(max(-2 * start / slope, j), l)
            rate = max(rate, (start + slope * at) / at**2)
    D = Q * (squared * rate / (a - 1) + a * mu * mu / 2)
    outside = max(fsum(p[:R]), fsum(p[-R:])) + P.cut
    bound = exp((a - 1) * (D - eps) + (a - 1) * log1p(-1 / a) - log(a))
    return float(min(1.0, bound + Q * t.dimension * outside))
