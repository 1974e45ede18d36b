"""Builds mixing matrices: how agents average what they hear from their neighbours.

Which of them keep the average is said and checked. They read the edges of a graph, not
its weights; `fitted_mixing` reads data and chooses the edges.
Specification: `specs/17-graphs-and-clocks.md`, section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gopa.graph.spectrum import DENSE
from gopa.graph.structure import Graph, Positions, from_edges
from gopa.support.arrays import Floats
from gopa.support.draws import Draws
from wire.errors import UsageError

_RESTARTS: Final = 100
"""Of Lanczos' method before the ends of the spectrum are looked at one by one."""

_SYMMETRIC: Final = 1e-12
_EXACT: Final = 1e-9
"""Proportions add up to 1 within this."""


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
        """1 less the second largest singular value, a modulus of an eigenvalue if W is symmetric.

        One step brings agents closer to their limit by this factor at least, in the norm
        weighted by `limit`; 0 if the graph has pieces. A number of linear algebra, without
        certificate.
        """
        from scipy.sparse import csgraph

        pieces, _ = csgraph.connected_components(self.matrix, connection="strong")
        if pieces > 1:
            return 0.0
        if len(self.limit) == 1:
            return 1.0
        root = np.sqrt(self.limit)
        scaled = sparse.diags_array(root) @ self.matrix @ sparse.diags_array(1 / root)
        top = root / np.linalg.norm(root)
        if abs(scaled - scaled.T).max() <= _SYMMETRIC:
            second = _second_modulus(sparse.csr_array((scaled + scaled.T) / 2), top)
        else:
            second = math.sqrt(_second_modulus(sparse.csr_array(scaled.T @ scaled), top))
        return min(max(1.0 - second, 0.0), 1.0)

    def graph(self) -> Graph:
        """The graph that joins two agents if one of them hears the other."""
        heard = sparse.triu(self.matrix + self.matrix.T, 1)
        return from_edges(len(self.limit), np.column_stack(heard.nonzero()))

    def messages(self) -> int:
        """How many agents' values others hear in one step, all together."""
        return int(self.matrix.count_nonzero() - np.count_nonzero(self.matrix.diagonal()))


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


def fitted_mixing(proportions: npt.ArrayLike, degree: int, *, weight: float = 0.1) -> MixingMatrix:
    """Doubly stochastic and directed: an agent's neighbourhood looks like the whole.

    `proportions` has a row for each agent, its shares of labels. Nobody hears more than `degree`
    others, and nobody is heard by more. `heterogeneity` comes down to 1 / (1 + degree) of that
    of agents alone, or less. `weight` says how much it counts that weights are even, beside
    labels. Equal proportions give equal matrices. It takes time n^3 for each neighbour.

    Raises:
        UsageError: proportions are none, or so few neighbours leave agents in pieces.
    """
    shares = _shares(proportions)
    parties = len(shares)
    if type(degree) is not int or not 1 <= degree < parties:
        raise UsageError(f"a whole number from 1 to {parties - 1}", "degree")
    dense, limit = _fitted(shares, degree, _positive(weight)), np.full(parties, 1 / parties)
    found = MixingMatrix("fitted", sparse.csr_array(dense), limit, doubly_stochastic=True)
    if not found.graph().is_connected():
        raise UsageError(
            "agents fall into pieces that do not hear each other: ask for more", "degree"
        )
    return found


def _fitted(shares: Floats, degree: int, weight: float) -> Floats:
    """The matrix after so many steps of Frank and Wolfe's method, each the best on its way."""
    parties, apart = len(shares), _centred(shares)
    here, draws = np.arange(parties), Draws(0, "fitted-mixing")
    mixed, dense = apart.copy(), np.eye(parties)
    alone = now = _unlike(mixed, dense, weight)
    for _ in range(degree):
        cost = weight * dense
        for label in range(shares.shape[1]):
            cost += mixed[:, label, None] * apart[:, label]
        heard = _assigned(cost, draws)
        labels = math.fsum((mixed * apart[heard]).ravel().tolist())
        across = (labels + weight * (math.fsum(dense[here, heard]) - 1)) / parties
        if not now > across:
            break
        share = (now - across) / (now + alone - 2 * across)
        mixed = (1 - share) * mixed + share * apart[heard]
        dense *= 1 - share
        dense[here, heard] += share
        now = _unlike(mixed, dense, weight)
    return dense


def heterogeneity(
    mixing: MixingMatrix, proportions: npt.ArrayLike, *, weight: float = 0.0
) -> float:
    """How far neighbourhoods are from the whole, in mean squares: |W P - mean P|^2 / n.

    And `weight` times |W - 1/n|^2 / n, where agents count the more evenly the less it is.
    """
    shares = _shares(proportions)
    if mixing.matrix.shape[0] != len(shares):
        raise UsageError(f"a row for each of {mixing.matrix.shape[0]} agents", "proportions")
    apart = np.asarray(mixing.matrix @ _centred(shares))
    squares = math.fsum((mixing.matrix.data**2).tolist())
    return (math.fsum((apart**2).ravel().tolist()) + weight * (squares - 1)) / len(shares)


def _shares(proportions: npt.ArrayLike) -> Floats:
    try:
        shares = np.asarray(proportions, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("a table of numbers", "proportions") from None
    if shares.ndim != 2 or len(shares) < 2 or not shares.shape[1]:
        raise UsageError(
            "a row for each agent, at least two, and a column for each label", "proportions"
        )
    if not ((shares >= 0).all() and (np.abs(shares.sum(axis=1) - 1) <= _EXACT).all()):
        raise UsageError(
            "rows sum to 1, without negative numbers: divide counts by their sums", "proportions"
        )
    return shares


def _positive(weight: object) -> float:
    # At 0 agents of equal proportions have no reason to hear anybody.
    if not (isinstance(weight, Real) and 0 < float(weight) < math.inf):
        raise UsageError("a number above 0, and finite", "weight")
    return float(weight)


def _centred(shares: Floats) -> Floats:
    """Proportions less their means; sums are rounded once, so they are the same everywhere."""
    means = [math.fsum(column) / len(shares) for column in shares.T.tolist()]
    return np.asarray(shares - np.array(means))


def _unlike(mixed: Floats, dense: Floats, weight: float) -> float:
    """The objective of fitting at a matrix, from its entries and the proportions that it mixed."""
    labels = math.fsum((mixed**2).ravel().tolist())
    return (labels + weight * (math.fsum((dense[dense > 0] ** 2).tolist()) - 1)) / len(dense)


def _assigned(cost: Floats, draws: Draws) -> Positions:
    """Whom each agent hears, everybody heard by one, at the least cost; ties fall at random.

    Solvers break ties in order, which would join the same few agents again and again.
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = draws.order(len(cost)), draws.order(len(cost))
    _, places = linear_sum_assignment(cost[np.ix_(rows, columns)])
    heard = np.empty(len(cost), dtype=np.int64)
    heard[rows] = columns[places]
    return heard


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
