"""Random graphs and losses: 03, sections 5 and 8, as section 12 evaluates them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import ceil, exp, fsum, inf, lgamma, log, log1p, sqrt
from operator import mul

from codec import Record  # noqa: TC002

RARE = -120  # 03-V37: of recovery, no rarer event is looked into
MANY = 500_000  # 03-V37: so many cases are taken one by one


def ways(total: int, part: int) -> float:
    """ln C(total, part)."""
    if not 0 <= part <= total:
        return -inf
    return lgamma(total + 1) - lgamma(part + 1) - lgamma(total - part + 1)


def log_sum(logs: list[float]) -> float:
    """The logarithm of a sum of exponentials."""
    top = max(logs, default=-inf)
    return top if top == -inf else top + log(fsum(exp(each - top) for each in logs))


def left(t: Record) -> int:
    """03-V24c: neighbours that a recovered party of a complete graph has a mask with."""
    return int(t.survivors - t.corrupt - min(t.loss, min(t.parties, t.k + 1) - t.survivors))


def halvings(t: Record) -> int:
    """H."""
    return int(min(8, max(2, 1000 // t.k)))


def covered(t: Record, b: float, bound: Callable[[int, int], float]) -> bool:
    """Whether the bound is at most b for every number of parties."""
    waiting, more = [(max(t.survivors, t.k + 2), t.parties)], halvings(t)
    while waiting:
        low, high = waiting.pop()
        if low > high:
            return True  # every graph is complete
        if 2 * (high - low) < high - t.corrupt and bound(low, high) <= b:
            continue
        if low == high or not more:
            return False
        more, middle = more - 1, (low + high) // 2
        waiting += [(middle + 1, high), (low, middle)]
    return True


def lost(t: Record, high: int) -> int:
    """r at an interval's end."""
    return int(min(t.loss, high - t.survivors))


def opened(t: Record, high: int) -> int:
    """03-V24c: what a recovered party may have opened itself."""
    return lost(t, high) if t.threshold_numerator else 0


def hits(trials: int, p: float, low: int, high: int) -> list[float]:
    """Logarithms of P(at most low, .., at most high hits), from the likeliest number or low on."""
    start, odds, found = min(low, int((trials + 1) * p)), p / (1 - p), list[float]()
    base = ways(trials, start) + start * log(p) + (trials - start) * log1p(-p)
    term = whole = 1.0
    for y in range(start, 0, -1):
        term *= y / ((trials - y + 1) * odds)
        whole += term
        if term < 1e-18 * whole:
            break
    term = 1.0
    for y in range(start, high + 1):
        if y > start:
            term *= (trials - y + 1) / y * odds
            whole += term
            if term < 1e-18 * whole:
                return found + [base + log(whole)] * (high + 1 - max(y, low))
        if y >= low:
            found.append(base + log(whole))
    return found


@lru_cache(maxsize=64)
def choices(marked: int, others: int, k: int) -> list[float]:
    """Logarithms of the probabilities of 0, 1, .. marked ones among k choices."""
    every = ways(others, k)
    return [ways(marked, x) + ways(others - marked, k - x) - every for x in range(k + 1)]


def degree(t: Record, low: int, high: int, most: int) -> float:
    """P(degree <= most), by 03-V24a."""
    return few(low - t.corrupt - 1, low - 1, t.k, t.k / (high - 1), most)


@lru_cache(maxsize=4096)
def few(h: int, others: int, k: int, p: float, most: int) -> float:
    """P(at most so many neighbours among h) of k choices and of who chooses with chance p."""
    below, logs = -inf, []
    own = choices(h, others, k)[: min(h, most) + 1]
    numbers = [x for x, each in enumerate(own) if each > -700]
    count = len(numbers) if len(numbers) <= 128 else 64
    size, more = divmod(len(numbers), count or 1)
    for i in range(count):
        at = i * size + min(i, more)
        run = numbers[at : at + size + (i < more)]
        found = hits(h - run[-1], p, most - run[-1], most - run[0])
        logs += [own[x] + found[run[-1] - x] for x in run]
    if any(-inf < each <= -700 for each in own):
        below = log(k + 1) - 700
    return min(1.0, exp(log_sum([below, *logs])))


def tail(trials: float, share: float, chance: float) -> float:
    """Chernoff's bound, as a logarithm."""
    if share >= chance:
        return 0.0
    first = share * log(share / chance) if share > 0 else 0.0
    return -trials * (first + (1 - share) * log((1 - share) / (1 - chance)))


def avoiding(total: int, avoided: int, draws: int, sizes: int = 1) -> float:
    """ln C(total - avoided, draws) / C(total, draws), for one of so many sizes."""
    if avoided > total - draws:
        return -inf
    if sizes * draws > MANY:
        return draws * log1p(-min(avoided / (total - (draws - 1) / 2), 1 - 1e-16))
    return fsum(log1p(-avoided / (total - i)) for i in range(draws))


def disconnected(t: Record, low: int, high: int) -> float:
    """03-V23 for an interval."""
    h, f, k, r, M = high - t.corrupt, low - t.corrupt, t.k, lost(t, high), high - 1
    p, most = 1 - (1 - k / M) ** 2, (high - t.corrupt) // 2
    logs = [log(h) + log(max(1e-300, degree(t, low, high, r + opened(t, high))))]
    sizes, found = range(2, min(most, 512) + 1), {}
    for a in sizes:
        second = ways(h, a) + tail(a * (f - a), r / (f - a), p)
        rest = max(a, h - (high - t.survivors) - a)
        third = ways(h, a) + ways(h - a, rest) + a * avoiding(M, rest, k, len(sizes))
        found[a] = min(second, third + rest * avoiding(M, a, k, len(sizes)))
    open_ = [a for a in sizes if found[a] > -700]
    for a in open_:
        marked, outside = f - a, k * (f - a)
        if len(open_) * (min(r, k) + 1) > MANY:
            own = tail(k, r / k, min(marked / (low - 1), 0.999))
        else:
            terms = [ways(marked, x) + ways(low - 1 - marked, k - x) for x in range(min(r, k) + 1)]
            own = log_sum(terms) - ways(low - 1, k)
        foreign = tail(outside, r * a / outside, a / M)
        if not r:
            foreign = marked * avoiding(M, a, k, len(open_))
        found[a] = min(found[a], ways(h, a) + a * min(0.0, own) + foreign)
    logs += [max(-700.0, each) for each in found.values()]
    a = 513
    while a <= most:
        z = min(most, a + a // 64)
        pairs = min(a * (f - a), z * (f - z))
        logs.append(log(z - a + 1) + ways(h, z) + tail(pairs, r / (f - z), p))
        a = z + 1
    return min(1.0, exp(min(0.0, log_sum(logs))))


def binomial(trials: int, chance: float) -> list[float]:
    """All masses but the rare ones above the mean, from the likeliest on."""
    if chance >= 1:
        return [0.0] * trials + [1.0]
    most = min(trials, ceil(trials * chance - RARE / 3 + sqrt(1600 + 240 * trials * chance)))
    peak, odds = min(most, int((trials + 1) * chance)), chance / (1 - chance)
    top = exp(ways(trials, peak) + peak * log(chance) + (trials - peak) * log1p(-chance))
    down = accumulate([y / (trials - y + 1) / odds for y in range(peak, 0, -1)], mul, initial=top)
    up = [(trials - y) / (y + 1) * odds for y in range(peak, most)]
    return [*reversed(list(down)), *list(accumulate(up, mul, initial=top))[1:]]


def outvoted(t: Record, low: int, high: int, tau: Fraction) -> float:
    """03-V25a for an interval."""
    w, r = (1 if t.beacon == "drand" else 2**64), lost(t, high)
    return float(min(1.0, (high - t.corrupt) * open_(t.corrupt, t.k, r, low, high, tau, w)))


@lru_cache(maxsize=64)
def open_(c: int, k: int, r: int, low: int, high: int, tau: Fraction, w: int) -> float:
    """The same for one honest party, at most 1."""
    others, rare = low - 1, exp(RARE)
    part, whole, total = tau.numerator, tau.denominator, (k + 1) * rare
    for x, chosen in enumerate(choices(c, others, k)[: c + 1]):
        if chosen <= RARE:
            continue
        attack = binomial(c - x, k / others)
        enough = [min(1.0, w * each) for each in accumulate(reversed(attack), initial=rare)]
        most, start = len(attack), part * (k - r) - whole * x
        joined = binomial(low - c - 1 - (k - x), k / (high - 1))
        found = [
            enough[max(0, most - max(0, (start + part * y) // (whole - part) + 1))]
            for y in range(len(joined))
        ]
        total += exp(chosen) * min(1.0, sum(map(mul, joined, found)) + rare * found[-1])
    return min(1.0, total)


def growth(t: Record, low: int, high: int, size: int, b: float) -> int:
    """03-V24: so many honest neighbours outside of every set of this size."""
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


def levels(m: int) -> list[int]:
    """All small numbers, then doubled ones, then m."""
    return [*range(min(m, 16) + 1), *(2**e for e in range(5, 41) if 2**e < m), *[m] * (m > 16)]


def flow(t: Record, low: int, high: int, b: float) -> float:
    """03-V16 along level sets: the energy for an interval."""
    m = t.steps if t.dimension == 1 else 1
    h, size, drop, steps = high - t.corrupt, 1, 0, 0
    while 2 * size <= h:
        fresh = growth(t, low, high, size, b) - min(lost(t, high) * size, high - t.survivors)
        start, best = size, None
        if size == 1 and opened(t, high):  # 03-V24c: who is recovered stays outside
            start, fresh = 0, fresh - opened(t, high)
        for i in levels(m):
            grown = start + fresh - m // (i + 1)
            if grown > size:
                rate = (2 * i + 1) / log(min(grown, h // 2 + 1) / size)
                if best is None or rate < best[0] * (1 - 1e-9):
                    best = rate, 2 * i + 1, grown
                if 2 * grown > h:
                    break
        if best is None or steps == 16:
            return inf
        _, cost, size = best
        drop, steps = drop + cost, steps + 1
    return 2 * m * drop


def detours(m: int, others: int) -> int:
    """The least energy of m units, i of them straight and the rest over the others (03-V36)."""

    def with_straight(i: int) -> int:
        q, more = divmod(m - i, others)
        return i * i + 2 * (q * q * (others - more) + (q + 1) ** 2 * more)

    if others < 1:
        return m * m
    low, high = 0, m  # convex in i: the first i from which on it does not fall
    while low < high:
        middle = (low + high) // 2
        if with_straight(middle + 1) >= with_straight(middle):
            high = middle
        else:
            low = middle + 1
    return with_straight(low)


def energy(t: Record, b: float) -> float:
    """E(b)."""
    m, N = (t.steps if t.dimension == 1 else 1), t.survivors - t.corrupt
    full: float = 0
    if t.survivors <= t.k + 1:
        full = detours(m, N - 2)
        if t.threshold_numerator:  # 03-V24c
            q, more = divmod(m, left(t))
            full = max(full, 2 * (q * q * (left(t) - more) + (q + 1) ** 2 * more))
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
