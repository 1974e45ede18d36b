"""What terms say about long vectors: 14-M7 with 14-Y1, 14-U2."""

from __future__ import annotations

from cmath import exp as cexp
from cmath import log as clog
from math import exp, fsum, inf, log, log2, pi, sqrt

from codec import Record  # noqa: TC002
from noise import Costly

Law = list[tuple[float, float]]
_FEW = 300  # values of a law that are summed up for every term
_MOST = 20_000_000  # products: enough for 4,000 terms of the longest law


def charged(t: Record, law: Record) -> float:
    """14-U2."""
    if not t.squared_norm:
        return 0.0
    size = max(5, ((t.dimension - 1).bit_length() + 3) // 2)
    N = -(-t.dimension >> size) << size
    D = 360 * (sqrt(N * t.squared_norm) + sqrt(N * t.noise_square) + N * t.parties) / 2**112
    D += 2**-64 if law.R else 0
    rounds = int(t.parties * t.attempts * t.rounds)
    return (1 + exp(float(t.epsilon) if law.R else 0)) * rounds * float(D)


def margin(t: Record, law: Record) -> float:
    """14-M7: the least part of a logarithm by which a limit is kept; below 0 one is broken."""
    if not t.squared_norm:
        return inf
    if not law.R:
        return inf if t.noise_square == t.spike == 1 else -inf
    total = float(law.T)
    masses = [law.m[law.R] / total] + [2 * each / total for each in law.m[law.R + 1 :]]
    S, K = t.noise_square, t.spike

    def bits(power: int, threshold: int) -> float:
        values = [(float(i**power), p) for i, p in enumerate(masses)]
        found = beyond(threshold, t.dimension, values)
        return -log2(found) if found else inf

    redrawn = 2 ** -bits(2, S + 1) + 2 ** -bits(8, K**8 + 1)
    rare = -log2(redrawn) if redrawn else inf
    idle = max(bits(2, S), bits(8, (K - 1) ** 8 + 1))
    return min((rare - 64) / 64, (80 - idle) / 80)


def beyond(threshold: int, d: int, law: Law) -> float:
    """14-Y1: the bound of P(sum of d values >= threshold)."""
    top = max(value for value, _ in law)
    law, at = [(value / top, p) for value, p in law], threshold / top
    if at > d * (1 + 1e-12):
        return 0.0
    if at <= d * fsum(value * p for value, p in law):
        return 1.0
    least = 1.0
    for part in (500, 50):  # the second where the first would need more terms
        found, rest = _smoothed(at, d, law, top, at / part)
        least = min(least, found + rest)
        if _enough(found, rest):
            break
    return least


def _enough(found: float, rest: float) -> bool:
    return rest < found / 100 or found + rest < 2.0**-100


def _smoothed(at: float, d: int, law: Law, top: float, W: float) -> tuple[float, float]:
    """The chance with the threshold smoothed over W, and what the terms left out come to."""
    tilt = min(_saddle(at / d, law), 64 / W)
    step, scale = tilt / 9, fsum(p * exp(tilt * (value - 1)) for value, p in law)
    weights = [p * exp(tilt * (value - 1)) / scale for value, p in law]
    height = exp(min(700.0, d * (log(scale) + tilt) - tilt * at))
    turns, phases = [cexp(1j * step * value) for value, _ in law], [complex(w) for w in weights]
    found, small = 0.0, 0
    for n in range(64_000):
        if n in {4000, 16_000} and _enough(found, left(tilt, W, step * n, height)):
            return found, left(tilt, W, step * n, height)
        if n * len(law) > _MOST:
            raise Costly
        if small > 20 and len(law) > _FEW and step * 4000 < top * pi:
            return found, left(tilt, W, step * 4000, height)
        z, moment = complex(tilt, step * n), sum(phases)
        smooth = ((cexp(z * W / 8) - 1) / (z * W / 8)) ** 8
        log_moment = d * clog(moment) if moment else complex(-inf)
        part = (
            (cexp(log_moment - 1j * z.imag * at) * smooth / z).real
            if log_moment.real > -700
            else 0.0
        )
        found += height * step / (2 * pi) * part * (2 if n else 1)
        small = small + 1 if log_moment.real < -60 else 0
        phases = [p * turn for p, turn in zip(phases, turns, strict=True)]
    return found, left(tilt, W, step * 64_000, height)


def left(tilt: float, W: float, y: float, height: float) -> float:
    """What the terms from y on come to at most."""
    return height * (8 * (exp(tilt * W / 8) + 1) / (W * y)) ** 8 / (8 * pi)


def _saddle(mean: float, law: Law) -> float:
    """Where the law, tilted, has this mean."""
    low, high = 0.0, 1e9
    for _ in range(120):
        middle = (low + high) / 2 if high < 1 or low else high / 8
        weights = [p * exp(middle * (value - 1)) for value, p in law]
        tilted = fsum(w * value for w, (value, _) in zip(weights, law, strict=True)) / fsum(weights)
        low, high = (middle, high) if tilted < mean else (low, middle)
    return high
