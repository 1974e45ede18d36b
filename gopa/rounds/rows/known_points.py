"""Keeps points that were decoded: rows are read with their message and for each proof about them.

How many parties fit depends on how long their vectors are: what is bounded is memory.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import Final

from commitments.group import Group, PointVec

MOST_POINTS: Final = 1 << 17
"""What is kept at once, some 30 MB: four vectors of 98 rows, for 330 parties."""

_ENTRY: Final = 4
"""An entry takes as much memory as so many points, besides its own."""


class KnownPoints:
    """Decoded vectors of points, of which those that were used last are kept."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        self._found: OrderedDict[tuple[Group, bytes, int], PointVec] = OrderedDict()
        self._turn = threading.Lock()
        if hasattr(os, "register_at_fork"):
            # A new process does not have the thread that may hold the lock: it would wait for ever.
            os.register_at_fork(after_in_child=self._begin_anew)

    def decoded(self, group: Group, data: bytes, count: int) -> PointVec:
        """So many points, none of them the identity; `MalformedMessage` for anything else."""
        key = (group, data, count)
        with self._turn:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        points = group.decode_points(data, count)
        with self._turn:
            if key not in self._found and _size(points) <= self._most:
                self._found[key] = points
                self._held += _size(points)
            while self._held > self._most:
                _, oldest = self._found.popitem(last=False)
                self._held -= _size(oldest)
        return points

    def clear(self) -> None:
        """Forget all of them."""
        with self._turn:
            self._found.clear()
            self._held = 0

    def _begin_anew(self) -> None:
        self._turn = threading.Lock()
        self.clear()


def _size(points: PointVec) -> int:
    return len(points) + _ENTRY
