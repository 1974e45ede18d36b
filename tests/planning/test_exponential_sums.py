"""Sums by a fast Fourier transform are those that adding up gives, wherever they begin."""

from __future__ import annotations

import numpy as np
import pytest

from gopa.planning.row_noise import exponential_sums


def added_up(weights: np.ndarray, angles: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    turns = np.multiply.outer(numbers.astype(np.longdouble), angles.astype(np.longdouble))
    parts = np.mod(turns, 2 * np.arccos(np.longdouble(-1)))
    return np.asarray((weights * np.exp(1j * parts.astype(np.float64))).sum(axis=1))


@pytest.mark.parametrize("exponent", [1, 2, 8])
@pytest.mark.parametrize(("first", "last"), [(0, 4000), (4000, 4007), (16_000, 64_000)])
def test_they_are_what_adding_up_gives(exponent: int, first: int, last: int) -> None:
    source = np.random.default_rng(exponent)
    weights, angles = source.random(500), 7.0 * source.random(500) ** exponent
    weights /= weights.sum()
    found = exponential_sums(weights, angles, first, last)
    assert len(found) == last - first
    numbers = np.unique(np.linspace(first, last - 1, 40).round().astype(np.int64))
    expected = added_up(weights, angles, numbers)
    # A double has 2^-53 of k times the angle.
    room = 2.0**-48 + 2.0**-53 * 7 * last
    assert np.abs(found[numbers - first] - expected).max() < room
    # And none of them is one of its neighbours.
    assert np.abs(found[numbers - first][1:] - expected[:-1]).max() > 1000 * room


def test_one_value_turns_around() -> None:
    found = exponential_sums(np.ones(1), np.array([np.pi / 2]), 0, 8)
    assert np.allclose(found, [1, 1j, -1, -1j, 1, 1j, -1, -1j], rtol=0, atol=1e-14)
