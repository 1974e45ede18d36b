"""Sums of the commitments of edges for each party, from points that come in parts."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from commitments.group import Group, PointVec

Ends: TypeAlias = npt.NDArray[np.int32]
Signs: TypeAlias = npt.NDArray[np.int8]


class SignedSums:
    """For each party the sum of sgn C over its edges; the other end takes C away ([P1])."""

    def __init__(self, group: Group, parties: int) -> None:
        self._group = group
        self._sums = group.points([group.identity]).gather([0] * parties)

    def add(self, points: PointVec, low: Ends, high: Ends, signs: Signs) -> None:
        """Some edges by their ends; the lower one adds the point with the sign."""
        self._take(points, low, signs)
        self._take(points, high, -signs)

    def all(self) -> PointVec:
        """One sum for each party."""
        return self._sums

    def _take(self, points: PointVec, ends: Ends, signs: Signs) -> None:
        if not len(ends):
            return
        order = np.argsort(ends, kind="stable")
        parties, lengths = np.unique(ends[order], return_counts=True)
        factors = self._group.scalars(signs[order].tolist())
        parts = points.gather(order.tolist()).vartime_segment_msm(factors, lengths.tolist())
        # A party without an edge here takes what lies behind the parts: nothing.
        first, last = int(parties[0]), int(parties[-1]) + 1
        places = np.full(last - first, len(parties))
        places[parties - first] = np.arange(len(parties))
        nothing = self._group.points([self._group.identity])
        more = self._sums[first:last] + parts.concat(nothing).gather(places.tolist())
        self._sums = self._sums[:first].concat(more).concat(self._sums[last:])
