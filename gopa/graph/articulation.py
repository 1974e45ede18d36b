"""Finds what any one party holds together: the smallest piece left when it is taken out."""

from __future__ import annotations

from array import array

import numpy as np

from gopa.graph.structure import Graph


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
