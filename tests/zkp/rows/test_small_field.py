"""Cheating provers by force: every strategy of a sumcheck over a field of a few elements.

A model of its own after 14-E3 and 14-T4, with values where a proof has
commitments: a prover who cannot open a commitment in two ways is held to the values, and here
nothing else is left to it. What is found is the best chance of any prover, not of some.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TypeAlias

import numpy as np
import pytest

Values: TypeAlias = tuple[int, ...]
"""A function on bits, most significant bit first."""


def extended(values: Values, point: tuple[int, ...], q: int) -> int:
    """The multilinear extension, from its definition."""
    for z in point:
        half = len(values) // 2
        pairs = zip(values[:half], values[half:], strict=True)
        values = tuple(((1 - z) * low + z * high) % q for low, high in pairs)
    return values[0]


@cache
def polynomials(q: int, degree: int, claim: int) -> tuple[Values, ...]:
    """What a prover may send: g(0) + g(1) is what the round before hides, whatever g says."""
    found = []
    for others in product(range(q), repeat=degree):
        constant, *higher = others
        linear = (claim - 2 * constant - sum(higher)) % q
        coefficients = (constant, linear, *higher)
        found.append(tuple(evaluated(coefficients, x, q) for x in range(q)))
    return tuple(found)


def evaluated(coefficients: Values, x: int, q: int) -> int:
    return sum(c * pow(x, k, q) for k, c in enumerate(coefficients)) % q


class Game:
    """The sum of f over all bits, where f is a polynomial of extensions of fixed vectors."""

    def __init__(self, q: int, degree: int, bits: int, vectors: tuple[Values, ...]) -> None:
        self.q, self.degree, self.bits, self.vectors = q, degree, bits, vectors
        self._best: dict[tuple[tuple[int, ...], int], Fraction] = {}

    def f(self, point: tuple[int, ...]) -> int:
        """The first extension to the power of the degree, plus the product of the others."""
        first, *others = (extended(each, point, self.q) for each in self.vectors)
        return int((first**self.degree + int(np.prod(others))) % self.q)

    def summed(self, fixed: tuple[int, ...]) -> int:
        """The truth about what is left of the sum."""
        rest = product((0, 1), repeat=self.bits - len(fixed))
        return sum(self.f((*fixed, *each)) for each in rest) % self.q

    def best(self, claim: int, fixed: tuple[int, ...] = ()) -> Fraction:
        """The best chance of any prover, over challenges that are not zero (14-E2)."""
        if len(fixed) == self.bits:
            return Fraction(claim == self.f(fixed))
        if claim == self.summed(fixed):
            return Fraction(1)
        if (fixed, claim) not in self._best:
            sent = polynomials(self.q, self.degree, claim)
            self._best[fixed, claim] = max(self._chance(fixed, values) for values in sent)
        return self._best[fixed, claim]

    def _chance(self, fixed: tuple[int, ...], values: Values) -> Fraction:
        points = range(1, self.q)
        return sum((self.best(values[p], (*fixed, p)) for p in points), Fraction(0)) / (self.q - 1)


def games() -> Iterator[Game]:
    """Mask proofs have degree 2; the degree of input proofs is 3 here, where theirs is 8."""
    draws = np.random.default_rng(1)
    for q, degree, bits in ((5, 2, 1), (7, 2, 1), (7, 3, 1), (11, 2, 1), (7, 2, 2)):
        vectors = draws.integers(0, q, (2, 1 << bits)).tolist()
        yield Game(q, degree, bits, tuple(tuple(each) for each in vectors))


@pytest.mark.parametrize("game", list(games()), ids=lambda g: f"q={g.q} D={g.degree} v={g.bits}")
def test_no_prover_of_a_false_sum_does_better_than_the_bound(game: Game) -> None:
    """14-T4: D v/(q - 1); an honest prover of the true sum is always accepted."""
    truth = game.summed(())
    assert game.best(truth) == 1
    assert any(game._chance((), each) == 1 for each in polynomials(game.q, game.degree, truth))
    chances = [game.best(claim) for claim in range(game.q) if claim != truth]
    bound = Fraction(game.degree * game.bits, game.q - 1)
    assert 0 < max(chances) <= bound
    assert max(chances) >= Fraction(1, game.q - 1)  # the search finds what there is


@pytest.mark.parametrize("q", [11, 13])
def test_weights_let_few_false_statements_through(q: int) -> None:
    """14-T5: a sum of differences with weights w and powers of gamma, for every false statement."""
    powers = np.array([[pow(g, k, q) for k in (1, 2)] for g in range(1, q)])
    weights = np.arange(1, q)
    worst = Fraction(0)
    for differences in product(range(q), repeat=3):
        if not any(differences):
            continue
        tests = powers @ np.array(differences[1:])
        total = (weights[:, None] * differences[0] + tests[None, :]) % q
        worst = max(worst, Fraction(int((total == 0).sum()), total.size))
    assert Fraction(1, q - 1) <= worst <= Fraction(2, q - 1)


def test_early_weights_let_nearly_everything_through() -> None:
    """Where gamma is known before the tests are posted, some that are small fit (14-E2)."""
    q, small = 61, np.array(list(product(range(-3, 4), repeat=3)))
    early, late = [], []
    for gamma in range(1, q):
        totals = small @ np.array([pow(gamma, k, q) for k in (1, 2, 3)]) % q
        early.append(len(set(totals.tolist())) / q)
        late.append(totals == 7)
    assert np.mean(early) > 0.9
    assert np.mean(late, axis=0).max() <= 3 / (q - 1)


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 1)])
def test_no_large_entry_passes_a_product_test_more_than_three_times_in_four(
    shape: tuple[int, int],
) -> None:
    """14-T1, for all matrices over 61 elements with an entry of size 4b or more, and every pad."""
    q, b = 61, 3
    rows, columns = shape
    size = np.minimum(np.arange(q), q - np.arange(q))
    matrices = np.array(list(product(range(q), repeat=rows * columns))).reshape(-1, rows, columns)
    large = matrices[(size[matrices] >= 4 * b).any(axis=(1, 2))]
    small = matrices[(size[matrices] < b).all(axis=(1, 2))]
    chosen = [
        (np.array(alpha), np.array(beta))
        for alpha in product((0, 1), repeat=rows)
        for beta in product((0, 1), repeat=columns)
    ]

    def best(found: np.ndarray) -> np.ndarray:
        """For each matrix the chance with the pad that suits it best."""
        sums = np.stack([np.einsum("i,nij,j->n", a, found, c) % q for a, c in chosen])
        passed = [(size[(sums + pad) % q] < b).mean(axis=0) for pad in range(q)]
        return np.asarray(np.max(passed, axis=0))

    assert best(large).max() == 0.75
    assert best(small).max() == 1
