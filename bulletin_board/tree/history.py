"""Computes roots that a log had when it was shorter, from the hashes of its leaves."""

from __future__ import annotations

from collections.abc import Sequence

from bulletin_board.tree.tiles import RightEdge


class PastRoots:
    """The root of the first leaves, for any number of them; cheap where numbers grow.

    `leaves` may grow meanwhile. Each of them is hashed into the tree once, unless an earlier root
    is asked for behind a later one.
    """

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self._leaves = leaves
        self._edge = RightEdge()
        self._root = self._edge.root()

    def at(self, size: int) -> bytes | None:
        """The root of `size` leaves; None if there are fewer."""
        if not 0 <= size <= len(self._leaves):
            return None
        if size == self._edge.size:
            return self._root
        if size < self._edge.size:
            self._edge = RightEdge()
        self._edge.extend(self._leaves[at] for at in range(self._edge.size, size))
        self._root = self._edge.root()
        return self._root
