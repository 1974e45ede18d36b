"""The thesis's own model: Gaussian noise and masks on the real line.

A cross-check and an aid for planning, not a guarantee: on a grid these curves are not
upper bounds (`round_privacy` is). Specification: `specs/03-privacy.md`, section 3.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg

from gopa.accounting.gaussian import gaussian_mu
from gopa.graph.spectrum import solve
from gopa.graph.structure import Graph
from wire.errors import UsageError

_DENSE = 2500


def theta_from_gap(honest: int, noise_variance: float, gap: float, mask_variance: float) -> float:
    """An upper bound on the squared shift of the worst party, from lambda_2 >= `gap`."""
    spread = (1 - 1 / honest) / (noise_variance + gap * mask_variance)
    return 1 / (honest * noise_variance) + spread


def theta_from_spread(
    honest: int, noise_variance: float, spread: float, mask_variance: float
) -> float:
    """An upper bound on the squared shift of a party with (L^+)_uu <= `spread`."""
    return 1 / (honest * noise_variance) + spread / mask_variance


def theta(graph: Graph, party: int, noise_variance: float, mask_variance: float) -> float:
    """An upper bound on [(se^2 I + sD^2 L)^-1]_uu, and a tight one.

    An approximate solution and its residual make a shift of noise and masks that explains
    the party's change exactly, whatever the error of the solution.
    """
    laplacian = graph.laplacian()
    demand = np.zeros(graph.parties)
    demand[party] = 1.0
    matrix = laplacian * mask_variance
    matrix.setdiag(matrix.diagonal() + noise_variance)
    potential = solve(matrix, demand, tolerance=1e-10)
    through_masks = mask_variance * (laplacian @ potential)
    own = demand - through_masks
    energy = own @ own / noise_variance + mask_variance * (potential @ (laplacian @ potential))
    return float(energy) * (1 + 1e-9)


def worst_theta(graph: Graph, noise_variance: float, mask_variance: float) -> float:
    """The largest `theta` over all parties of all components; up to 2,500 parties."""
    if graph.parties > _DENSE:
        raise UsageError("too many parties for an exact maximum: use theta_from_gap")
    matrix = graph.laplacian().toarray() * mask_variance
    matrix[np.diag_indices(graph.parties)] += noise_variance
    return float(np.diagonal(linalg.inv(matrix)).max()) * (1 + 1e-9)


def sufficient_mask_deviation(
    honest: int, noise_variance: float, gap: float, epsilon: float, delta: float
) -> float:
    """The smallest mask deviation for which `theta_from_gap` meets the tight Gaussian curve."""
    allowed = gaussian_mu(epsilon, delta) ** 2 - 1 / (honest * noise_variance)
    if allowed <= 0:
        raise UsageError("the independent noise alone is too small: raise noise_variance")
    needed = (1 - 1 / honest) / allowed - noise_variance
    return math.sqrt(max(0.0, needed) / gap)
