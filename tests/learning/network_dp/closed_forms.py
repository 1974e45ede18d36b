"""Closed forms of the thesis for tokens that walk, corrected, with which laws are compared.

They hold where their conditions do, and are far from tight. `specs/13-network-dp.md`, section 7.
"""

from __future__ import annotations

import math

from gopa import UsageError
from gopa.learning.clocks import Steps, root


def advanced(epsilon: float, delta: float, times: int, extra: float) -> tuple[float, float]:
    """Theorem 4.3: so many visits, each (epsilon, delta)-private, on a ring."""
    found = math.sqrt(2 * times * math.log(1 / extra)) * epsilon
    return found + times * epsilon * math.expm1(epsilon), times * delta + extra


def shuffled_rounds(
    beta: float, values: int, users: int, *, delta: float, rounds: int, extra: float
) -> tuple[float, float]:
    """Theorem 4.4, corrected: reports that are uniform with chance beta, on a ring.

    What is printed has the exponent inverted: epsilon0 is epsilon / (12 sqrt(ln(1/delta)/n)).
    """
    local = math.log1p(values * (1 - beta) / beta)
    if not (local < 0.5 and users > 1000 and 0 < delta < 0.01):
        raise UsageError("needs epsilon0 < 1/2, more than 1000 users and delta < 1/100", "beta")
    return advanced(12 * local * math.sqrt(math.log(1 / delta) / users), delta, rounds, extra)


def visits(users: int, steps: int, extra: float) -> float:
    """Theorems 4.5 and 4.6: with a chance of 1 - `extra` a user has the token less often."""
    return steps / users + math.sqrt(3 * steps / users * math.log(1 / extra))


def walk_order(epsilon: float, users: int, steps: int, extra: float) -> float:
    """Theorem 4.5: the order of epsilon for sums on the complete graph, its constant left out."""
    seen = visits(users, steps, extra) * math.log(1 / extra)
    return math.sqrt(seen) * epsilon / math.cbrt(users)


def walk_descent(
    epsilon: float, delta: float, users: int, steps: int, extra: float
) -> tuple[float, float]:
    """Theorem 4.6: gradient steps on the complete graph, each (epsilon, delta)-private alone.

    With fewer than about n^2 / ln n steps it says less than nothing: more than `epsilon`.
    """
    if not (0 < epsilon < 1 and 0 < delta < 0.5):
        raise UsageError("needs epsilon below 1 and delta below 1/2", "epsilon")
    q = max(2 * visits(users, steps, extra) * math.log(users) / users, 2 * math.log(1 / delta))
    found = math.sqrt(2 * q * math.log(1 / delta)) * epsilon / math.sqrt(math.log(1.25 / delta))
    return found, delta + extra


def descent_steps(diameter: float, slope: float, sigma: float, dimension: int) -> Steps:
    """Proposition 4.1: steps D / (G sqrt(t)) on a set of this diameter."""
    return root(diameter / math.hypot(slope, sigma * math.sqrt(dimension)))


def descent_error(diameter: float, slope: float, sigma: float, dimension: int, steps: int) -> float:
    """Proposition 4.1: the objective of the last token exceeds the least one by less, on average.

    For gradients that are no longer than `slope` and are never left out.
    """
    reach = 2 * diameter * math.hypot(slope, sigma * math.sqrt(dimension))
    return reach * (2 + math.log(steps)) / math.sqrt(steps)
