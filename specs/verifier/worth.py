"""What terms are worth: 03, section 12, with the bounds of its sections 4, 5 and 9."""

from __future__ import annotations

from fractions import Fraction

from math import inf, isqrt, sqrt

from codec import Record  # noqa: TC002
from graphs import covered, disconnected, energy, left, outvoted
import rows
from noise import Costly, law_of_sum, releases, single, vectors

T = 1e-3  # half of the band, 03-V35


def judged(t: Record, law: Record) -> str:
    """03-V35, or that this program does not find out."""
    try:
        return _judged(t, law)
    except Costly:
        return "too costly to say"


def _judged(t: Record, law: Record) -> str:
    delta, gauss = float(t.delta), bool(t.mask == "gaussian")
    b = granted(t)
    known: dict[float, float] = {}
    margin = rows.margin(t, law)
    if margin < -T:
        return "broken"
    less, more = (worth(t, law, each, known) for each in (b * (1 - T), b * (1 + T)))
    if max(less, more if gauss else 0) <= (1 - T) * delta:
        return "kept" if margin >= T else "too close to say"
    return "broken" if min(more, less if gauss else 1) > (1 + T) * delta else "too close to say"


def granted(t: Record) -> float:
    """03-V35: the chance of bad graphs that the terms grant, which is what they are charged."""
    return min(0.5, max(float(t.beta), 1e-300))


def worth(t: Record, law: Record, b: float, known: dict[float, float] | None = None) -> float:
    """03-V36, 03-V37: L(b), with what noise and masks are known to lose for an energy."""
    known = {} if known is None else known
    N, tau = t.survivors - t.corrupt, Fraction(t.threshold_numerator, t.threshold_denominator)
    square = N * sum(m * i * i for i, m in zip(range(-law.R, law.R + 1), law.m, strict=True))
    sparse, exact = t.parties > t.k + 1, law.R == 0
    wild = sparse and (t.k > (1000 if tau else 2000) or t.loss >= 2 * t.k)
    if square > 2**26 * law.T or wild:
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
    if E not in known:
        known[E] = 0.0 if exact else noise(t, law, N, square / law.T, E)
    chance = granted(t) * sparse * (1 + bool(tau))
    return min(1.0, float(known[E] + rows.charged(t, law) + tries(t) * chance))


def tries(t: Record) -> int:
    """03-V32: A Q a, the graphs of which each may be a bad one."""
    if t.beacon == "drand":
        a = (t.parties - t.corrupt) // (t.survivors - t.corrupt)
    else:
        a = t.parties - t.survivors + 1
    return int(t.attempts * t.rounds * a)


def composed(t: Record) -> int:
    """03-V24d: releases of one logical round."""
    if not t.threshold_numerator:
        return int(t.charged + 1)
    confirmed = (t.charged + 1) * (t.parties - t.corrupt) // (t.survivors - t.corrupt)
    return int(min(t.attempts, confirmed))


def noise(t: Record, law: Record, N: int, variance: float, E: float) -> float:
    """nu: 03-V38 to 03-V40."""
    delta, eps, Q = float(t.delta), float(t.epsilon), t.rounds * composed(t)
    m, scale = isqrt(t.squared_sensitivity), t.mask_deviation or 1
    P, cut = law_of_sum(law, N, variance, delta * 1e-9 / N), 2e-9 * delta
    if t.dimension > 1:
        orders = range(-3, 4) if 2 * N * law.R <= 2**14 else range(1)
        mu = sqrt(E * t.squared_sensitivity) / scale
        return vectors(P, cut, t, variance, mu, Q, eps, N, orders)
    mu = sqrt(E) / scale
    if Q == 1:
        return single(P, cut, m, mu, eps, sqrt(variance))
    total = sqrt(Q * (m * m / variance + mu * mu))
    return 1.0 if total > 50 else releases(P, cut, m, mu, Q, eps, total / 600)
