"""Small noise laws for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gopa.accounting.convolution import UNIT_ROUNDOFF, Floats, Masses


def log_concave(generator: np.random.Generator, radius: int) -> Floats:
    """A random symmetric log-concave law on [-radius, radius]."""
    slopes = np.sort(generator.exponential(0.8, radius))
    half = np.exp(-np.cumsum(slopes))
    law = np.concatenate((half[::-1], [1.0], half))
    return np.asarray(law / law.sum())


def masses_of(law: Floats) -> Masses:
    """The law as the accountant takes it."""
    return Masses(-(len(law) // 2), law, 2 * UNIT_ROUNDOFF, 0.0)


def sum_of(law: Floats, parties: int) -> Masses:
    return masses_of(law).times(parties, cut=0.0)


def exact_sum(law: Sequence[int], parties: int) -> list[int]:
    """The convolution power in integers."""
    result = [1]
    for _ in range(parties):
        grown = [0] * (len(result) + len(law) - 1)
        for i, left in enumerate(result):
            for j, right in enumerate(law):
                grown[i + j] += left * right
        result = grown
    return result
