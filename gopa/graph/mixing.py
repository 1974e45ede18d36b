"""Builds mixing matrices: how agents average what they hear from their neighbours.

Which of them keep the average is said and checked. They read the edges of a graph, not
its weights. Specification: `specs/17-graphs-and-clocks.md`, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse

from gopa.graph.spectrum import DENSE
from gopa.graph.structure import Graph
from gopa.support.arrays import Floats
from gopa.support.draws import Draws
from wire.errors import UsageError

_RESTARTS: Final = 100
"""Of Lanczos' method before the ends of the spectrum are looked at one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class MixingMatrix:
    """A mixing matrix W: rows sum to 1, entries are those of edges and the diagonal.

    Repeated, W leads all agents to the average with the weights `limit`, which sum to 1:
    the plain average exactly if `doubly_stochastic`.
    """

    name: str
    matrix: sparse.csr_array
    limit: Floats
    doubly_stochastic: bool

    def spectral_gap(self) -> float:
        """1 less the second largest modulus of an eigenvalue; 0 if the graph has pieces.

        One step brings agents closer to their limit by this factor at least, in the norm
        weighted by `limit`. A number of linear algebra, without certificate.
        """
        from scipy.sparse import csgraph

        pieces, _ = csgraph.connected_components(self.matrix, connection="strong")
        if pieces > 1:
            return 0.0
        if len(self.limit) == 1:
            return 1.0
        return min(max(1.0 - _second_modulus(*self._symmetric()), 0.0), 1.0)

    def _symmetric(self) -> tuple[sparse.csr_array, Floats]:
        """The similar matrix sqrt(limit) W / sqrt(limit), and its eigenvector of eigenvalue 1."""
        root = np.sqrt(self.limit)
        scaled = sparse.diags_array(root) @ self.matrix @ sparse.diags_array(1 / root)
        return sparse.csr_array((scaled + scaled.T) / 2), root / np.linalg.norm(root)


def metropolis(graph: Graph) -> MixingMatrix:
    """Doubly stochastic: an edge weighs 1 / (1 + the larger degree of its two ends)."""
    first, second = graph.edges()
    degrees = graph.degrees
    return _balanced("metropolis", graph, 1 / (1 + np.maximum(degrees[first], degrees[second])))


def fixed(graph: Graph, epsilon: float | None = None) -> MixingMatrix:
    """Doubly stochastic: every edge weighs epsilon, by default 1 / (1 + the largest degree).

    `UsageError` unless epsilon times the largest degree is below 1: an agent keeps a part
    of its own.
    """
    largest = int(graph.degrees.max())
    chosen = 1 / (1 + largest) if epsilon is None else float(epsilon)
    if not (chosen > 0 and chosen * largest < 1):
        raise UsageError(
            f"epsilon lies above 0 and below 1 / {largest}, the largest degree", "epsilon"
        )
    return _balanced("fixed", graph, np.full(graph.edge_count, chosen))


def equal_neighbour(graph: Graph) -> MixingMatrix:
    """Row-stochastic: an agent weighs itself and its neighbours alike, 1 / (1 + its degree).

    Doubly stochastic only if all degrees are equal; otherwise the average that it leads to
    weighs an agent by 1 + its degree.
    """
    among = 1.0 + graph.degrees
    own = sparse.eye_array(graph.parties, format="csr")
    matrix = sparse.csr_array(sparse.diags_array(1 / among) @ (graph.adjacency() + own))
    regular = bool((graph.degrees == graph.degrees[0]).all())
    return MixingMatrix("equal neighbour", matrix, among / among.sum(), regular)


def require_doubly_stochastic(mixing: MixingMatrix) -> MixingMatrix:
    """The same; `UsageError` if repeated mixing would not lead to the plain average."""
    if not mixing.doubly_stochastic:
        raise UsageError(
            f"the matrix '{mixing.name}' does not keep averages on this graph: "
            "use metropolis or fixed",
            "mixing",
        )
    return mixing


def _balanced(name: str, graph: Graph, weights: Floats) -> MixingMatrix:
    """Symmetric: what an agent does not give to its edges it keeps."""
    parties = graph.parties
    first, second = graph.edges()
    shape = (parties, parties)
    upper = sparse.csr_array((weights, (first, second)), shape=shape)
    both = upper + upper.T
    kept = sparse.diags_array(1 - both.sum(axis=1))
    return MixingMatrix(name, sparse.csr_array(both + kept), np.full(parties, 1 / parties), True)


def _second_modulus(symmetric: sparse.csr_array, top: Floats) -> float:
    """The largest modulus of an eigenvalue whose eigenvector stands upright on `top`."""
    from scipy import linalg
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    if len(top) <= DENSE:
        rest = symmetric.toarray() - np.outer(top, top)
        ends = linalg.eigvalsh(rest)
        return float(max(-ends[0], ends[-1]))

    def rest_of(vector: Floats) -> Floats:
        upright = vector - top * (top @ vector)
        image = symmetric @ upright
        return np.asarray(image - top * (top @ image))

    start = Draws(0, "spectral-gap").words(len(top)) / 2.0**64 - 0.5
    options = {"v0": start, "return_eigenvectors": False, "tol": 1e-12}
    operator = LinearOperator(symmetric.shape, matvec=rest_of, dtype=np.float64)
    try:
        found = eigsh(operator, k=1, which="LM", maxiter=_RESTARTS, **options)
    except ArpackNoConvergence:
        # Eigenvalues crowd at 1 on graphs without short cuts: those have sparse factors.
        above = float(np.min(eigsh(symmetric, k=2, sigma=1 + 1e-9, **options)))
        # Gershgorin: rows of W sum to 1, so no eigenvalue is below 2 min W_uu - 1.
        if 1 - 2 * float(symmetric.diagonal().min()) <= above:
            return above
        below = float(eigsh(symmetric, k=1, sigma=-1 - 1e-9, **options)[0])
        return max(above, -below)
    return float(abs(found[0]))
