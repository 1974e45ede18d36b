"""What any one party holds together: the smallest piece left when it is taken out."""

from __future__ import annotations

from dataclasses import dataclass, field

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


@dataclass(slots=True)
class _Search:
    """Numbers in order of discovery from 1, and the lowest number each subtree reaches."""

    graph: Graph
    order: list[int] = field(init=False)
    lowest: list[int] = field(init=False)
    found: int = 0
    smallest: int = field(init=False)

    def __post_init__(self) -> None:
        self.order = [0] * self.graph.parties
        self.lowest = [0] * self.graph.parties
        self.smallest = self.graph.parties

    def visit(self, root: int) -> int:
        """Search the component of `root`, note every piece that one party cuts off; its size."""
        stack = [(root, iter(self._discover(root)))]
        sizes, cut_off = {root: 1}, {root: 0}
        while stack:
            here, around = stack[-1]
            for there in around:
                if not self.order[there]:
                    stack.append((there, iter(self._discover(there))))
                    sizes[there], cut_off[there] = 1, 0
                    break
                self.lowest[here] = min(self.lowest[here], self.order[there])
            else:
                stack.pop()
                if stack:
                    self._return(stack[-1][0], here, sizes, cut_off)
        rests = (sizes[root] - 1 - cut for cut in cut_off.values())
        self.smallest = min([self.smallest, *(rest for rest in rests if rest)])
        return sizes[root]

    def _discover(self, party: int) -> list[int]:
        self.found += 1
        self.order[party] = self.lowest[party] = self.found
        neighbours: list[int] = self.graph.neighbours(party).tolist()
        return neighbours

    def _return(
        self, parent: int, child: int, sizes: dict[int, int], cut_off: dict[int, int]
    ) -> None:
        """The child's subtree is done: it hangs on the parent alone or reaches above it."""
        sizes[parent] += sizes[child]
        if self.lowest[child] >= self.order[parent]:
            cut_off[parent] += sizes[child]
            self.smallest = min(self.smallest, sizes[child])
        self.lowest[parent] = min(self.lowest[parent], self.lowest[child])
