"""Bounds the spectrum of a Laplacian, with certificates.

A Ritz value with a small residual shows that *some* eigenvalue is near it, not that none
is smaller. Small graphs get a Cholesky factorisation, which exists only if no eigenvalue
is smaller; large ones a random vector, which a smaller eigenvalue would betray except
with a stated probability. Specification: `specs/03-privacy.md`, section 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from gopa.graph.structure import Graph
from gopa.support.arrays import Floats
from wire.errors import UsageError
from wire.randomness import Rng, draw

if TYPE_CHECKING:
    from scipy import sparse


DENSE: Final = 1200
_DEGREE: Final = 240
"""Of the filter polynomial: the margin it leaves is about 1.5 percent of the spread."""

_ROUNDOFF: Final = 2.0**-53


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Bounds [low, high] of all Laplacian eigenvalues but the zero of the constant vector.

    It is wrong with probability at most `failure`, over the random vector alone. A
    disconnected graph has `low` = 0.
    """

    low: float
    high: float
    failure: float
    method: str


def certified_spectrum(graph: Graph, rng: Rng, *, failure: float = 1e-12) -> Spectrum:
    """Bounds that hold for this graph, tight to about two percent of the spread."""
    if not 0 < failure < 1:
        raise UsageError("a failure probability lies between 0 and 1", "failure")
    if graph.parties < 2 or not graph.is_connected():
        return Spectrum(0.0, degree_bound(graph), 0.0, "disconnected")
    if graph.parties <= DENSE:
        low = certify_gap_dense(graph)
        return Spectrum(low, degree_bound(graph), 0.0, "Cholesky")
    return _by_random_vector(graph, np.random.default_rng(list(draw(rng, 32))), failure)


def degree_bound(graph: Graph) -> float:
    """The largest eigenvalue is at most the largest sum of the degrees of two neighbours."""
    first, second = graph.edges()
    if not len(first):
        return 0.0
    return float((graph.degrees[first] + graph.degrees[second]).max())


@lru_cache(maxsize=16)
def certify_gap_dense(graph: Graph) -> float:
    """A lower bound on lambda_2 whose Cholesky factorisation was computed; 0 if none was.

    The last graphs are remembered: several claims about a round rest on one spectrum.
    """
    from scipy import linalg

    dense = graph.laplacian().toarray()
    estimate = float(linalg.eigvalsh(dense, subset_by_index=[1, 1])[0])
    return next((low for low in _slightly_below(estimate) if gap_at_least(graph, low)), 0.0)


def _slightly_below(estimate: float) -> tuple[float, ...]:
    return tuple(estimate * (1 - loss) for loss in (1e-9, 1e-6, 1e-3, 0.1))


def gap_at_least(graph: Graph, value: float) -> bool:
    """Whether lambda_2 >= `value` is proved: False means only that it was not.

    L - value I has one negative eigenvalue, that of the constant vector, exactly when
    L + c J / n - value I is positive definite, c large. A factorisation that succeeds in
    floating point belongs to a matrix at most n (n + 2) u max|a_ii| away (Higham,
    theorem 10.7); that much is subtracted beforehand.
    """
    from scipy import linalg

    if value <= 0:
        return True
    parties = graph.parties
    dense = graph.laplacian().toarray()
    dense += (2 * value + 1) / parties
    largest = float(dense.diagonal().max()) + value
    margin = 4 * parties * (parties + 2) * _ROUNDOFF * largest
    dense[np.diag_indices(parties)] -= value + margin
    try:
        linalg.cholesky(dense, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True


def _by_random_vector(graph: Graph, generator: np.random.Generator, failure: float) -> Spectrum:
    """Estimate the ends, then test that nothing lies beyond them, widening on failure.

    Up to five tests, each of which may miss an eigenvalue at either end.
    """
    laplacian = graph.laplacian()
    low, high = _estimated_ends(laplacian, generator)
    for widening in (0.0, 0.01, 0.03, 0.1, 0.3):
        spread = high - low
        found = _filtered(
            laplacian, low - widening * spread, high + widening * spread, generator, failure / 10
        )
        if found is not None:
            return Spectrum(max(found[0], 0.0), found[1], failure, "random vector")
    return Spectrum(0.0, degree_bound(graph), 0.0, "not certified")


def _estimated_ends(
    laplacian: sparse.csr_array, generator: np.random.Generator
) -> tuple[float, float]:
    """Ritz values of the spectrum without the constant vector: guesses, not bounds."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    parties = laplacian.shape[0]

    def apply(vector: Floats) -> Floats:
        centred = vector - vector.mean()
        image = laplacian @ centred
        return np.asarray(image - image.mean())

    operator = LinearOperator((parties, parties), matvec=apply, dtype=np.float64)
    start = generator.standard_normal(parties)
    options = {"k": 1, "tol": 1e-2, "v0": start, "return_eigenvectors": False, "maxiter": 400}
    high = float(eigsh(operator, which="LA", **options)[0])
    shift = high * 1.01

    def mirrored(vector: Floats) -> Floats:
        centred = vector - vector.mean()
        return np.asarray(shift * centred - apply(centred))

    flipped = LinearOperator((parties, parties), matvec=mirrored, dtype=np.float64)
    return shift - float(eigsh(flipped, which="LA", **options)[0]), high


def _filtered(
    laplacian: sparse.csr_array,
    low: float,
    high: float,
    generator: np.random.Generator,
    failure: float,
) -> tuple[float, float] | None:
    """Bounds from the Chebyshev polynomial that is small on [low, high] and large beyond.

    It keeps the length of a vector whose spectrum is inside and multiplies the part
    along any eigenvector outside [low - margin, high + margin] by at least `factor`; a
    standard normal coefficient is below bound / factor with probability `failure` at most,
    one for the smallest and one for the largest eigenvalue.
    """
    if high <= low:
        return None
    vector = generator.standard_normal(laplacian.shape[0])
    vector -= vector.mean()
    bound = 1.001 * float(np.linalg.norm(vector)) + 1e-6
    before, current = vector, _scaled(laplacian, vector, low, high)
    for _ in range(_DEGREE - 1):
        before, current = current, 2 * _scaled(laplacian, current, low, high) - before
        current -= current.mean()
    if not float(np.linalg.norm(current)) <= bound:
        return None
    factor = 1.01 * bound / failure
    margin = (high - low) / 2 * (math.cosh(math.acosh(factor) / _DEGREE) - 1)
    return low - margin, high + margin


def _scaled(laplacian: sparse.csr_array, vector: Floats, low: float, high: float) -> Floats:
    """[low, high] mapped onto [1, -1]."""
    return np.asarray(((high + low) * vector - 2 * (laplacian @ vector)) / (high - low))
