"""Noise for a target, and the composition of mechanisms of which only epsilon is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from gopa.accounting import (
    Loss,
    composed_epsilon,
    gaussian_sigma,
    optimal_delta,
    optimal_epsilon,
)
from wire.errors import UsageError


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (8.0, 1e-3)])
def test_noise_is_enough_and_hardly_more(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon, delta, 3.0)
    assert Loss.gaussian(sigma, 3.0).delta(epsilon) <= delta * 1.001
    assert Loss.gaussian(sigma * 0.999, 3.0).delta(epsilon) > delta


def test_the_classical_noise_on_request() -> None:
    assert gaussian_sigma(1.0, 1e-5, classical=True) == pytest.approx(4.8448, abs=1e-4)
    assert gaussian_sigma(1.0, 1e-5) == pytest.approx(3.7306, abs=1e-4)
    with pytest.raises(UsageError):
        gaussian_sigma(30.0, 1e-5, classical=True)


def published(epsilon: float, count: int, cut: int, delta: float) -> tuple[float, float]:
    """Theorem 3.3 of Kairouz et al., word by word."""
    total = (
        sum(
            math.comb(count, lies)
            * (math.exp((count - lies) * epsilon) - math.exp((count - 2 * cut + lies) * epsilon))
            for lies in range(cut)
        )
        / (1 + math.exp(epsilon)) ** count
    )
    return (count - 2 * cut) * epsilon, 1 - (1 - delta) ** count * (1 - total)


@pytest.mark.parametrize("delta", [0.0, 1e-4])
@pytest.mark.parametrize(("epsilon", "count"), [(0.3, 6), (1.0, 11), (0.05, 60)])
def test_the_published_composition(epsilon: float, count: int, delta: float) -> None:
    for cut in range(count // 2 + 1):
        total, exact = published(epsilon, count, cut, delta)
        assert optimal_delta(epsilon, count, total, delta) == pytest.approx(exact, abs=1e-12)
        if exact > 1e-9 + count * delta:
            assert optimal_epsilon(epsilon, count, exact, delta) == pytest.approx(total, abs=1e-6)


def test_a_bound_for_different_mechanisms() -> None:
    epsilons = [0.1] * 50 + [0.3] * 10
    loss = (
        Loss.randomised_response(0.1).repeated(50).then(Loss.randomised_response(0.3).repeated(10))
    )
    for delta in (1e-3, 1e-6):
        assert loss.epsilon(delta) <= composed_epsilon(epsilons, delta) < sum(epsilons)
        assert optimal_epsilon(0.1, 50, delta) <= composed_epsilon([0.1] * 50, delta)
    assert composed_epsilon(epsilons, 0.0) == pytest.approx(8.0)
    assert composed_epsilon([2.0], 1e-6) == pytest.approx(2.0)
    assert optimal_epsilon(0.5, 3, 0.0) == pytest.approx(1.5)
    assert optimal_epsilon(0.01, 2, 0.5) == 0


NAN, INF = math.nan, math.inf
REFUSED: dict[str, Callable[[], object]] = {
    f"{field} {value}": (lambda make=make, value=value: make(value))  # type: ignore[misc]
    for field, make, values in [
        ("epsilon", lambda v: gaussian_sigma(v, 1e-6), (0, -1.0, NAN, INF, 101.0)),
        ("delta", lambda v: gaussian_sigma(1.0, v), (0, -1.0, 1.0, NAN)),
        ("sensitivity", lambda v: gaussian_sigma(1.0, 1e-6, v), (0, -1.0, NAN, INF)),
        ("epsilon", lambda v: optimal_delta(v, 2, 1.0), (0, -1.0, NAN, INF)),
        ("count", lambda v: optimal_delta(1.0, v, 1.0), (0, 1.5, True, 10**7)),
        ("total", lambda v: optimal_delta(1.0, 2, v), (-1.0, NAN, INF)),
        ("delta", lambda v: optimal_delta(1.0, 2, 1.0, v), (-0.1, 1.0, NAN)),
        ("total_delta", lambda v: optimal_epsilon(1.0, 2, v, 1e-3), (0.0, 1e-3, 1.0, NAN)),
        ("epsilons", lambda v: composed_epsilon(v, 1e-6), ([], [0.0], [NAN], [1.0, -1.0])),
        ("delta", lambda v: composed_epsilon([1.0], v), (1.0, -1.0, NAN)),
    ]
    for value in values
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused(name: str) -> None:
    assert gaussian_sigma(1.0, 1e-6) > 0
    assert composed_epsilon([1.0], optimal_delta(1.0, 2, 1.0, 0.1)) > 0
    with pytest.raises(UsageError) as caught:
        REFUSED[name]()
    assert caught.value.field == name.split(maxsplit=1)[0]
