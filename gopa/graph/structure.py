"""Undirected graphs of parties in compressed rows, and what any one party holds together in them.

They have no loops and no repeated edges.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gopa.graph.choices import MOST_PARTIES, Indices, all_choices
from wire.brief import Brief
from wire.errors import UsageError

Positions: TypeAlias = npt.NDArray[np.int64]
Weights: TypeAlias = npt.NDArray[np.float64]
Edges: TypeAlias = Iterable[tuple[int, int]] | npt.NDArray[np.integer]
"""Pairs of parties: an array has a row for each."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Graph(Brief):
    """A graph: `targets[offsets[u]:offsets[u + 1]]` are u's neighbours, increasing.

    Build one with `from_edges`, `weighted` or a function that names a family; those check it.
    Weights belong to edges, in the order of `edges()`. Only what speaks of weights reads them:
    degrees, Laplacian, spectra, resistances and flows are those of the edges alone.
    """

    offsets: Positions
    targets: Indices
    weights: Weights | None = None

    def __post_init__(self) -> None:
        self.offsets.flags.writeable = False
        self.targets.flags.writeable = False
        if self.weights is not None:
            self.weights.flags.writeable = False

    @property
    def parties(self) -> int:
        """The number of vertices."""
        return len(self.offsets) - 1

    @property
    def edge_count(self) -> int:
        """The number of edges, each counted once."""
        return len(self.targets) // 2

    @property
    def degrees(self) -> Positions:
        """The number of neighbours of each party."""
        return np.diff(self.offsets)

    def neighbours(self, party: int) -> Indices:
        """The neighbours of one party in increasing order."""
        return self.targets[self.offsets[party] : self.offsets[party + 1]]

    def edges(self) -> tuple[Positions, Positions]:
        """Both ends of each edge, the smaller one first, in increasing order."""
        sources = np.repeat(np.arange(self.parties), self.degrees)
        upward = sources < self.targets
        return sources[upward], self.targets[upward].astype(np.int64)

    @property
    def edge_weights(self) -> Weights:
        """The weight of each edge in the order of `edges()`; 1 where none was given."""
        return np.ones(self.edge_count) if self.weights is None else self.weights

    @property
    def strengths(self) -> Weights:
        """The sum of the weights of each party's edges: its degree if weights are 1."""
        first, second = self.edges()
        ends = np.concatenate([first, second])
        return np.asarray(
            np.bincount(ends, np.tile(self.edge_weights, 2), self.parties), np.float64
        )

    def weight_matrix(self) -> sparse.csr_array:
        """The adjacency matrix with the weights as entries: exactly symmetric."""
        first, second = self.edges()
        shape = (self.parties, self.parties)
        upper = sparse.csr_array((self.edge_weights, (first, second)), shape=shape)
        return sparse.csr_array(upper + upper.T)

    def adjacency(self) -> sparse.csr_array:
        """The adjacency matrix with floating entries, for linear algebra."""
        shape = (self.parties, self.parties)
        # Offsets of 64 bits would make those of targets as long, too.
        small = len(self.targets) <= np.iinfo(np.int32).max
        offsets = self.offsets.astype(np.int32) if small else self.offsets
        return sparse.csr_array((np.ones(len(self.targets)), self.targets, offsets), shape)

    def laplacian(self) -> sparse.csr_array:
        """Degrees on the diagonal, -1 for each edge."""
        return sparse.csr_array(sparse.diags_array(self.degrees.astype(float)) - self.adjacency())

    def components(self) -> Positions:
        """The number of each party's connected component, from 0 in order of first parties."""
        from scipy.sparse import csgraph

        # Edges lead both ways, so strong components are the same. They are found in place,
        # where weak ones take a second matrix.
        _, labels = csgraph.connected_components(self.adjacency(), connection="strong")
        _, first, labels = np.unique(labels, return_index=True, return_inverse=True)
        number = np.empty(len(first), dtype=np.int64)
        number[np.argsort(first)] = np.arange(len(first))
        return np.asarray(number[labels], dtype=np.int64)

    def is_connected(self) -> bool:
        """Whether there is one component; a graph without parties has none."""
        return self.parties > 0 and not self.components().any()

    def is_bipartite(self) -> bool:
        """Whether two sides can be told apart so that every edge joins one with the other.

        Walks on two copies, changing the copy at every step: only from such components are
        both copies of a party never met.
        """
        from scipy.sparse import csgraph

        once = self.adjacency()
        twice = sparse.block_array([[None, once], [once, None]], format="csr")
        pieces, _ = csgraph.connected_components(once, directed=False)
        pieces_of_both, _ = csgraph.connected_components(twice, directed=False)
        return bool(pieces_of_both == 2 * pieces)

    def induced(self, keep: Sequence[int] | Positions) -> Graph:
        """The graph on the listed parties alone, numbered in the order of the list."""
        kept = _integers(keep, "keep")
        if len(kept) and not (kept.min() >= 0 and kept.max() < self.parties):
            raise UsageError("the parties to keep are numbers below the number of parties")
        if np.array_equal(kept, np.arange(self.parties)):
            return self
        new = np.full(self.parties, -1, dtype=np.int64)
        new[kept] = np.arange(len(kept))
        if len(np.unique(kept)) != len(kept):
            raise UsageError("a party is kept once")
        first, second = self.edges()
        inside = (new[first] >= 0) & (new[second] >= 0)
        return self._part(len(kept), new[first], new[second], inside)

    def between(self, inside: Iterable[int]) -> Graph:
        """The same parties with no edges but those between listed ones."""
        listed = np.zeros(self.parties, dtype=np.bool_)
        listed[list(inside)] = True
        if listed.all():
            return self
        first, second = self.edges()
        return self._part(self.parties, first, second, listed[first] & listed[second])

    def without(self, removed: Iterable[tuple[int, int]]) -> Graph:
        """The same parties without the listed edges; each must exist."""
        first, second = self.edges()
        codes = first * self.parties + second
        pairs = _pairs(removed).tolist()
        gone = {min(u, v) * self.parties + max(u, v) for u, v in pairs}
        keep = ~np.isin(codes, np.fromiter(gone, dtype=np.int64, count=len(gone)))
        if len(codes) - int(keep.sum()) != len(gone):
            raise UsageError("only edges of the graph can be removed")
        return self._part(self.parties, first, second, keep)

    def _part(
        self, parties: int, first: Positions, second: Positions, keep: npt.NDArray[np.bool_]
    ) -> Graph:
        """The edges to keep, under the names of their ends, with their weights."""
        weights = None if self.weights is None else self.weights[keep]
        return _from_pairs(parties, first[keep], second[keep], weights)


def k_out_graph(seeds: bytes | Sequence[bytes], parties: int, k: int) -> Graph:
    """Every party chooses k others; an edge stands where either end chose the other."""
    chosen = all_choices(seeds, parties, k).reshape(-1)
    choosers = np.repeat(np.arange(parties, dtype=np.int32), k)
    return _from_pairs(parties, choosers, chosen)


def from_edges(parties: int, edges: Edges) -> Graph:
    """Any simple graph; loops, repeated edges and unknown parties raise `UsageError`."""
    return _checked(parties, edges, None)


def weighted(parties: int, edges: Edges, weights: Sequence[float] | Weights) -> Graph:
    """Any simple graph with a positive finite weight for each edge, in the order of the edges."""
    listed = _numbers(weights, "weights")
    if listed.ndim != 1 or not (listed > 0).all():
        raise UsageError("the weights are a list of positive numbers", "weights")
    return _checked(parties, edges, listed)


def from_similarity(similarity: Weights, threshold: float = 0.0) -> Graph:
    """Joins parties that are more similar than the threshold; weights are similarities.

    The matrix is symmetric up to rounding; what stands above its diagonal counts.
    """
    matrix = _numbers(similarity, "similarity")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise UsageError("similarities are a square matrix, a row for each party", "similarity")
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0):
        raise UsageError("the similarity of two parties is one number: symmetric", "similarity")
    if not 0 <= threshold < np.inf:
        raise UsageError("a threshold is finite and not negative", "threshold")
    first, second = np.nonzero(np.triu(matrix > threshold, 1))
    return _from_pairs(len(matrix), first, second, matrix[first, second])


def require_connected(graph: Graph) -> Graph:
    """The same graph; `UsageError` if some parties cannot reach each other along its edges."""
    if not graph.is_connected():
        pieces = len(np.unique(graph.components()))
        raise UsageError(
            f"all parties have to reach each other, and the graph has {pieces} pieces: add edges, "
            "use another seed, or take one piece with `induced`",
            "graph",
        )
    return graph


def _checked(parties: int, edges: Edges, weights: Weights | None) -> Graph:
    pairs = _pairs(edges)
    if type(parties) is not int or not 1 <= parties <= MOST_PARTIES:
        raise UsageError(f"a graph has 1 to {MOST_PARTIES} parties", "parties")
    if len(pairs) and not (pairs.min() >= 0 and pairs.max() < parties):
        raise UsageError("an edge joins two of the parties", "edges")
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise UsageError("an edge joins two different parties", "edges")
    if weights is not None and len(weights) != len(pairs):
        raise UsageError(f"{len(pairs)} edges have as many weights", "weights")
    graph = _from_pairs(parties, pairs[:, 0], pairs[:, 1], weights)
    if graph.edge_count != len(pairs):
        raise UsageError("an edge is listed once", "edges")
    return graph


def complete(parties: int) -> Graph:
    """Everybody is everybody's neighbour."""
    if type(parties) is not int or parties < 1:
        raise UsageError("a graph has at least one party", "parties")
    first, second = np.triu_indices(parties, 1)
    return _from_pairs(parties, first, second)


def ring(parties: int) -> Graph:
    """A cycle; at least three parties."""
    if type(parties) is not int or parties < 3:
        raise UsageError("a ring has at least 3 parties", "parties")
    around = np.arange(parties, dtype=np.int64)
    return _from_pairs(parties, around, (around + 1) % parties)


def _numbers(values: Sequence[float] | Weights, field: str) -> Weights:
    """A fresh array of finite numbers."""
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("these are not numbers", field) from None
    if not np.isfinite(numbers).all():
        raise UsageError("numbers are finite", field)
    return numbers


def _pairs(edges: Edges) -> Positions:
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise UsageError("an edge is a pair of parties", "edges")
        return _integers(edges, "edges")
    listed = list(edges)
    if any(len(pair) != 2 for pair in listed):
        raise UsageError("an edge is a pair of parties", "edges")
    return _integers([end for pair in listed for end in pair], "edges").reshape(-1, 2)


def _integers(values: Sequence[int] | npt.NDArray[np.integer], field: str) -> Positions:
    """An array of these integers; anything else would be cut off silently."""
    if isinstance(values, np.ndarray):
        whole = values.dtype.kind in "iu"
    else:
        whole = all(isinstance(value, int | np.integer) for value in values)
        whole = whole and not any(isinstance(value, bool) for value in values)
    if not whole:
        raise UsageError("parties are numbered by integers", field)
    try:
        return np.asarray(values, dtype=np.int64)
    except OverflowError:
        raise UsageError("parties are numbered by integers below 2^63", field) from None


def _from_pairs(
    parties: int,
    first: Positions | Indices,
    second: Positions | Indices,
    weights: Weights | None = None,
) -> Graph:
    """Both directions of every pair, sorted, repetitions merged; weights follow their pairs."""
    if weights is not None:
        smaller, larger = np.minimum(first, second), np.maximum(first, second)
        weights = weights[np.lexsort((larger, smaller))]
    low = np.minimum(first, second).astype(np.int64)
    high = np.maximum(first, second)
    low *= parties
    low += high
    low.sort()
    codes = low[np.concatenate(([True], low[1:] != low[:-1]))] if len(low) else low
    del low, high
    first32 = (codes // parties).astype(np.int32)
    second32 = (codes % parties).astype(np.int32)
    del codes
    ones = np.ones(len(first32), dtype=np.bool_)
    upper = sparse.csr_array((ones, (first32, second32)), shape=(parties, parties))
    both = sparse.csr_array(upper + upper.T)
    both.sort_indices()
    return Graph(both.indptr.astype(np.int64), both.indices.astype(np.int32), weights)


def smallest_piece_without_one(graph: Graph) -> int:
    """The fewest parties that stay connected around some party when any one other is gone.

    Exact, in time proportional to the number of edges: depth-first search tells which
    subtrees hang on their parent alone. 0 when there are fewer than two parties.
    """
    if graph.parties < 2:
        return 0
    search = _Search(graph)
    pieces = [search.visit(root) for root in range(graph.parties) if not search.order[root]]
    return min(search.smallest, *(piece for piece in pieces if len(pieces) > 1), graph.parties)


class _Search:
    """Numbers in order of discovery from 1, and the lowest number each subtree reaches.

    Whatever is kept for a party is a machine word in an array: a search may be as deep as
    there are parties.
    """

    def __init__(self, graph: Graph) -> None:
        nothing = array("i", [0]) * graph.parties
        self.order, self._lowest = nothing[:], nothing[:]
        self._sizes, self._cut_off, self._parents = nothing[:], nothing[:], nothing[:]
        self._targets = array("i", graph.targets.astype(np.intc).tobytes())
        self._next, self._ends = array("q"), array("q")
        self._next.frombytes(graph.offsets[:-1].astype(np.int64).tobytes())
        self._ends.frombytes(graph.offsets[1:].astype(np.int64).tobytes())
        self._discovered = array("i")
        self.smallest = graph.parties

    def visit(self, root: int) -> int:
        """Search the component of `root`, note every piece that one party cuts off; its size."""
        first = len(self._discovered)
        self._discover(root, root)
        here, order, lowest = root, self.order, self._lowest
        while True:
            at = self._next[here]
            if at < self._ends[here]:
                self._next[here] = at + 1
                there = self._targets[at]
                if not order[there]:
                    self._discover(there, here)
                    here = there
                elif order[there] < lowest[here]:
                    lowest[here] = order[there]
            elif here == root:
                break
            else:
                self._return(self._parents[here], here)
                here = self._parents[here]
        for party in self._discovered[first:]:
            rest = self._sizes[root] - 1 - self._cut_off[party]
            if rest:
                self.smallest = min(self.smallest, rest)
        return self._sizes[root]

    def _discover(self, party: int, parent: int) -> None:
        self._discovered.append(party)
        self.order[party] = self._lowest[party] = len(self._discovered)
        self._parents[party], self._sizes[party] = parent, 1

    def _return(self, parent: int, child: int) -> None:
        """The child's subtree is done: it hangs on the parent alone or reaches above it."""
        self._sizes[parent] += self._sizes[child]
        if self._lowest[child] >= self.order[parent]:
            self._cut_off[parent] += self._sizes[child]
            self.smallest = min(self.smallest, self._sizes[child])
        self._lowest[parent] = min(self._lowest[parent], self._lowest[child])
